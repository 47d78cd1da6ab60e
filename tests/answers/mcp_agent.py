"""A server of the official Python SDK with a tool for each kind of answer, over streamable HTTP: `python mcp_agent.py PORT`."""

import json
import sys

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("answers", version="1.0.0")
FOUND = {"thought": "hm", "status": "success", "data": {"city": "Bonn"}, "message": "Found."}


class Weather(BaseModel):
    rain: bool
    mm: int


class City(BaseModel):
    city: str


@server.tool()
def plain(q: str) -> str:
    return f"You said: {q}"


@server.tool()
def lines(q: str) -> str:
    return "# Plan\n\n- one\n- two"


@server.tool()
def number(q: str) -> int:
    return 3


@server.tool()
def names(q: str) -> list[str]:
    return ["Ada", "Bob"]


@server.tool()
def weather(q: str) -> Weather:
    return Weather(rain=True, mm=4)


@server.tool(structured_output=False)
def bare(q: str) -> dict:
    return {"status": "success", "rain": True}


@server.tool()
def sacp(q: str) -> str:
    return json.dumps(FOUND)


@server.tool(structured_output=False)
def sacp_data(q: str) -> dict:
    return FOUND


@server.tool()
def sacp_question(q: str) -> str:
    return json.dumps({**FOUND, "status": "clarification_needed", "data": {}, "message": "Which city?"})


@server.tool()
def failure(q: str) -> str:
    raise ValueError("no such station")


@server.tool()
async def steps(q: str, context: Context) -> str:
    await context.report_progress(1, 2, "half")
    return "All done."


@server.tool()
async def question(q: str, context: Context) -> str:
    answer = await context.elicit(message="Which city?", schema=City)
    return f"Dry in {answer.data.city}."


server.run("streamable-http", port=int(sys.argv[1]))
