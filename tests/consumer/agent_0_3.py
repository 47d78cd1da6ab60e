# An agent of A2A 0.3, made with the last SDK of that generation, over JSON-RPC and HTTP+JSON. It prints its port and
# ends when standard input does.
import asyncio, os, socket, sys, threading
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, DataPart, Part, TextPart
from a2a.utils import get_message_text, new_agent_parts_message, new_agent_text_message, new_task

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()  # so that whoever reads the port can connect
port = listener.getsockname()[1]
cancelled = []
text = lambda s: Part(root=TextPart(text=s))
data = lambda d: Part(root=DataPart(data=d))

class Weather(AgentExecutor):
    async def execute(self, context, queue):
        message = context.message
        said = get_message_text(message)
        context_id = context.context_id
        if "rain" in said:
            return await queue.enqueue_event(new_agent_text_message("Yes, take an umbrella.", context_id))
        if "echo" in said:
            return await queue.enqueue_event(new_agent_parts_message([data(message.model_dump(by_alias=True, exclude_none=True, mode="json"))], context_id))
        if "cancelled" in said:
            return await queue.enqueue_event(new_agent_text_message(str(len(cancelled)), context_id))
        if "typed" in said:
            return await queue.enqueue_event(new_agent_parts_message([data({"rain": True, "text": "It rains."})], context_id))
        task = context.current_task
        updater = TaskUpdater(queue, context.task_id, context_id)
        if task is None:
            await queue.enqueue_event(new_task(message))
        else:
            return await updater.complete(updater.new_agent_message([text("It is dry in " + said + ".")]))
        if "which" in said:
            return await updater.requires_input(updater.new_agent_message([text("Which city?")]), final=True)
        await updater.start_work(updater.new_agent_message([text("Asking the stations")]))
        if "slow" in said:
            await asyncio.sleep(300)
        if "fail" in said:
            return await updater.failed(updater.new_agent_message([text("No station answers")]))
        await updater.add_artifact([text("Monday: ")], artifact_id="report", name="report")
        await updater.add_artifact([text("sun")], artifact_id="report", append=True, last_chunk=True)
        await updater.complete(updater.new_agent_message([text("Here is the report.")]))

    async def cancel(self, context, queue):
        cancelled.append(context.task_id)
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()

card = AgentCard(name="Weather", description="Tells the weather forecast", version="1", default_input_modes=["text/plain"],
    default_output_modes=["text/plain"], capabilities=AgentCapabilities(streaming=True), url=f"http://127.0.0.1:{port}/rpc",
    preferred_transport="JSONRPC", protocol_version="0.3.0",
    additional_interfaces=[AgentInterface(url=f"http://127.0.0.1:{port}/rest", transport="HTTP+JSON")],
    skills=[AgentSkill(id="forecast", name="Weather forecast", description="Forecasts the weather", tags=["weather"])])
handler = DefaultRequestHandler(agent_executor=Weather(), task_store=InMemoryTaskStore())
app = A2AStarletteApplication(agent_card=card, http_handler=handler).build(rpc_url="/rpc")
app.mount("/rest", A2ARESTFastAPIApplication(agent_card=card, http_handler=handler).build())
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print(port, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
