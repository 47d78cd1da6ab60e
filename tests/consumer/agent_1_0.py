# An agent of A2A 1.0, made with the SDK of the protocol's project. It also speaks 0.3 by the SDK's own
# compatibility, over JSON-RPC and HTTP+JSON. It prints its port and ends when standard input does.
import asyncio, json, os, socket, sys, threading
import uvicorn
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from a2a.helpers import get_message_text, new_data_message, new_message, new_task, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as t

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()  # so that whoever reads the port can connect
port = listener.getsockname()[1]
cancelled = []
text = lambda s: t.Part(text=s)

class Weather(AgentExecutor):
    async def execute(self, context, queue):
        message = context.message
        said = get_message_text(message)
        if "rain" in said:
            return await queue.enqueue_event(new_text_message("Yes, take an umbrella.", context_id=context.context_id))
        if "echo" in said:
            return await queue.enqueue_event(new_data_message(MessageToDict(message), context_id=context.context_id))
        if "cancelled" in said:
            return await queue.enqueue_event(new_text_message(str(len(cancelled)), context_id=context.context_id))
        if "typed" in said:
            return await queue.enqueue_event(new_data_message({"rain": True, "text": "It rains."}, context_id=context.context_id))
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        if context.current_task is None:
            await queue.enqueue_event(new_task(context.task_id, context.context_id, t.TaskState.TASK_STATE_SUBMITTED))
        else:
            return await updater.complete(updater.new_agent_message([text("It is dry in " + said + ".")]))
        if "which" in said:
            return await updater.requires_input(updater.new_agent_message([text("Which city?")]))
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

card = t.AgentCard(name="Weather", description="Tells the weather forecast", version="1", default_input_modes=["text/plain"],
    default_output_modes=["text/plain"], skills=[t.AgentSkill(id="forecast", name="Weather forecast", description="Forecasts the weather", tags=["weather"])])
card.capabilities.streaming = True
card.supported_interfaces.add(url=f"http://127.0.0.1:{port}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
card.supported_interfaces.add(url=f"http://127.0.0.1:{port}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0")
handler = DefaultRequestHandler(agent_executor=Weather(), task_store=InMemoryTaskStore(), agent_card=card)
routes = create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True) + create_agent_card_routes(card)
routes += create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print(port, flush=True)
uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error")).run(sockets=[listener])
