"""A server of the official Python SDK, over stdio or, with a port, over streamable HTTP or Server-Sent Events (`sse`)."""

import asyncio
import base64
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

server = MCPServer("timetable", version="2.1.0")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


class Stop(BaseModel):
    """What pydantic writes as a reference."""

    name: str
    platform: int | float | None = None


@server.tool()
def number(x: int | float) -> str:
    """A union."""
    return str(x)


@server.tool()
def stop(at: Stop) -> str:
    """A model."""
    return f"{at.name} {at.platform}"


@server.tool()
def find(to: str) -> dict[str, str]:
    """A train."""
    return {"to": to, "train": "ICE 123"}


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no such station")


@server.tool()
def large(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool()
async def steps(count: int, context: Context) -> str:
    """Says how far it is."""
    for step in range(count):
        await context.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool()
async def forever(marker: str) -> str:
    """Never ends; the file appears once it is cancelled."""
    open(marker + ".begun", "w").close()
    try:
        await asyncio.sleep(3600)
    finally:
        open(marker, "w").close()
    return "never"


@server.tool()
def headers(name: str, context: Context) -> str:
    """A header of the request."""
    return (context.headers or {}).get(name.lower(), "")


if "tools" in sys.argv:
    tools = asyncio.run(server.list_tools())
    print("[" + ",".join(tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools) + "]")
elif "sse" in sys.argv:
    server.run("sse", port=int(sys.argv[1]))
elif len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]), json_response="json" in sys.argv)
else:
    server.run("stdio")
