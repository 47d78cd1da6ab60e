"""A server of the official Python SDK whose tools ask their user, over stdio, streamable HTTP or Server-Sent Events (`sse`).

`resolved…` ask in the protocol of 2026, where a result asks; the others by requests of the server, which need a session.
"""

import sys
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import ElicitRequestURLParams
from pydantic import BaseModel

server = MCPServer("questions", version="1.0.0")
runs = 0
is_open = False


class City(BaseModel):
    city: str


class Days(BaseModel):
    days: int


class Order(BaseModel):
    size: Literal["small", "large"]
    count: int = 1


async def which_city():
    return Elicit(message="Which city?", schema=City)


async def how_many_days():
    return Elicit(message="How many days?", schema=Days)


async def next_question(city: Annotated[City, Resolve(which_city)]):
    return Elicit(message=f"How many days in {city.city}?", schema=Days)


@server.tool()
async def resolved(city: Annotated[City, Resolve(which_city)], q: str) -> str:
    """Asks once."""
    return f"{q}: dry in {city.city}."


@server.tool()
async def resolved_both(city: Annotated[City, Resolve(which_city)], days: Annotated[Days, Resolve(how_many_days)]) -> str:
    """Asks two questions at once."""
    return f"{days.days} days in {city.city}."


@server.tool()
async def resolved_twice(days: Annotated[Days, Resolve(next_question)], city: Annotated[City, Resolve(which_city)]) -> str:
    """Asks, and asks again."""
    return f"{days.days} days in {city.city}."


@server.tool()
async def ask(context: Context, q: str) -> str:
    """Asks once, after progress."""
    global runs
    runs += 1
    await context.report_progress(1, 2, "thinking")
    answer = await context.elicit(message="Which city?", schema=City)
    return f"{q}: dry in {answer.data.city}." if answer.action == "accept" else f"Nowhere: {answer.action}."


@server.tool()
async def twice(context: Context) -> str:
    """Asks, and asks again."""
    global runs
    runs += 1
    city = await context.elicit(message="Which city?", schema=City)
    days = await context.elicit(message=f"How many days in {city.data.city}?", schema=Days)
    return f"{days.data.days} days in {city.data.city}."


@server.tool()
async def order(context: Context) -> str:
    """Asks for several values."""
    answer = await context.elicit(message="Which size?", schema=Order)
    return f"{answer.data.count} {answer.data.size}"


@server.tool()
async def endless(context: Context) -> str:
    """Never has enough."""
    while True:
        await context.elicit(message="Which city?", schema=City)


@server.tool()
async def large(context: Context) -> str:
    """A question that is too large to be passed on."""
    return str(await context.elicit(message="?" * 100_000, schema=City))


@server.tool()
async def sign_in(context: Context) -> str:
    """Wants a URL to be opened."""
    answer = await context.elicit_url(message="Sign in.", url="https://a.example/in", elicitation_id="1")
    return f"Signed in: {answer.action}."


@server.tool()
def gated() -> str:
    """Is refused until a URL was opened."""
    global is_open
    if is_open:
        return "Open."
    is_open = True
    params = ElicitRequestURLParams(message="Pay.", url="https://a.example/pay", elicitation_id="2")
    raise UrlElicitationRequiredError([params])


@server.tool()
async def sample(context: Context) -> str:
    """Wants a model."""
    return str(await context.session.create_message(messages=[], max_tokens=1))


@server.tool()
def count() -> int:
    """How often tools that ask were run."""
    return runs


if "sse" in sys.argv:
    server.run("sse", port=int(sys.argv[1]))
elif len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
