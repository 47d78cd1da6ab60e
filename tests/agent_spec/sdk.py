"""Configurations built with the SDK of the language, and whether what comes back is equal to them.

`build` prints one a line: {"capability": what it is found by, "document": ...};
`linear` prints a flow of the SDK's builder;
`compare` reads {"sent": ..., "exported": ...} a line and prints what differs.
"""
import json
import sys

from pyagentspec.agent import Agent
from pyagentspec.a2aagent import A2AAgent, A2AConnectionConfig
from pyagentspec.flows.edges import ControlFlowEdge, DataFlowEdge
from pyagentspec.flows.flow import Flow
from pyagentspec.flows.flowbuilder import FlowBuilder
from pyagentspec.flows.nodes import (
    AgentNode, ApiNode, BranchingNode, EndNode, FlowNode, LlmNode, MapNode, StartNode, ToolNode,
)
from pyagentspec.llms import OllamaConfig, OpenAiConfig, VllmConfig
from pyagentspec.managerworkers import ManagerWorkers
from pyagentspec.mcp import MCPTool, MCPToolBox, SSETransport, StreamableHTTPTransport
from pyagentspec.property import FloatProperty, IntegerProperty, ListProperty, StringProperty
from pyagentspec.serialization import AgentSpecDeserializer, AgentSpecSerializer
from pyagentspec.specialized_agent import AgentSpecializationParameters, SpecializedAgent
from pyagentspec.swarm import Swarm
from pyagentspec.tools import ClientTool, RemoteTool, ServerTool

CITY = StringProperty(title="city")


def llm(n=0):
    return [
        VllmConfig(name="llama", model_id="llama-3.3", url="http://llm.example"),
        OpenAiConfig(name="gpt", model_id="gpt-4o"),
        OllamaConfig(name="local", model_id="qwen", url="http://llm.example"),
    ][n % 3]


def tool(name, **more):
    return ServerTool(name=name, description=f"Does {name}.", inputs=[CITY], outputs=[StringProperty(title="result")], **more)


def remote(name, method="GET", **more):
    return RemoteTool(
        name=name, description=f"Calls {name}.", url="https://api.example/{{city}}", http_method=method,
        inputs=[CITY] + more.pop("further", []), outputs=[StringProperty(title="result")], **more)


def agent(name, *tools, n=0, **more):
    return Agent(name=name, description=f"The agent {name}.", llm_config=llm(n), system_prompt="Help.", tools=list(tools), **more)


def flow(name, node, inputs=(), outputs=()):
    start, end = StartNode(name="start", inputs=list(inputs)), EndNode(name="end", outputs=list(outputs))
    data = [DataFlowEdge(name=f"in_{p.title}", source_node=start, source_output=p.title, destination_node=node, destination_input=p.title) for p in inputs]
    data += [DataFlowEdge(name=f"out_{p.title}", source_node=node, source_output=p.title, destination_node=end, destination_input=p.title) for p in outputs]
    return Flow(
        name=name, description=f"The flow {name}.", start_node=start, nodes=[start, node, end], data_flow_connections=data,
        control_flow_connections=[
            ControlFlowEdge(name="a", from_node=start, to_node=node), ControlFlowEdge(name="b", from_node=node, to_node=end)])


RESULT = StringProperty(title="result")


def branching():
    start = StartNode(name="start", inputs=[CITY])
    branch = BranchingNode(name="where", mapping={"Berlin": "near"}, inputs=[StringProperty(title="branching_mapping_key")])
    near, far = ToolNode(name="near_node", tool=tool("nearby_trains")), EndNode(name="far", branch_name="far")
    end = EndNode(name="end")
    return Flow(
        name="Route planner", start_node=start, nodes=[start, branch, near, far, end],
        control_flow_connections=[
            ControlFlowEdge(name="1", from_node=start, to_node=branch),
            ControlFlowEdge(name="2", from_node=branch, from_branch="near", to_node=near),
            ControlFlowEdge(name="3", from_node=branch, from_branch="default", to_node=far),
            ControlFlowEdge(name="4", from_node=near, to_node=end)],
        data_flow_connections=[
            DataFlowEdge(name="5", source_node=start, source_output="city", destination_node=branch, destination_input="branching_mapping_key"),
            DataFlowEdge(name="6", source_node=start, source_output="city", destination_node=near, destination_input="city")])


def mapped():
    inner = flow("Summarize one", ToolNode(name="inner", tool=tool("summarize_city")), [CITY], [RESULT])
    node = MapNode(name="each", subflow=inner)
    return flow("Summarize all", node, node.inputs, node.outputs)


def api():
    node = ApiNode(name="fetch_weather", url="https://api.example/{{city}}", http_method="GET", inputs=[CITY], outputs=[RESULT])
    return flow("Weather flow", node, [CITY], [RESULT])


def mcp(kind, name):
    transport = kind(name="transport", url="https://mcp.example/mcp")
    return MCPTool(name=name, description="Searches.", client_transport=transport, inputs=[CITY], outputs=[RESULT])


def a2a(name):
    return A2AAgent(name=name, agent_url="https://agents.example/a2a", connection_config=A2AConnectionConfig(name="connection"))


def all_of_them():
    yield "get_forecast", agent("Weather Assistant", tool("get_forecast"))
    yield "find_trains", agent("find_trains", tool("book_seat"), n=1)
    yield "book_hotel", agent("Travel desk", tool("book_hotel"), ClientTool(name="ask_user", inputs=[CITY]), n=2)
    yield "stock_price", agent("Broker", remote("stock_price"))
    yield "search_docs", agent("Librarian", mcp(StreamableHTTPTransport, "search_docs"))
    toolbox = MCPToolBox(name="box", client_transport=SSETransport(name="t", url="https://mcp.example/sse"), tool_filter=["add_note"])
    yield "add_note", agent("Notes", toolboxes=[toolbox])
    base = agent("Helper", tool("look_up"))
    extra = AgentSpecializationParameters(name="extra", additional_instructions="Be kind.", additional_tools=[tool("send_mail")])
    yield "send_mail", SpecializedAgent(name="Mail helper", agent=base, agent_specialization_parameters=extra)
    yield "billing-desk", Swarm(name="Support", first_agent=(first := agent("Front desk")), relationships=[(first, agent("Billing desk", tool("refund_order"), n=1))])
    yield "refund_order", Swarm(name="Support 2", first_agent=(first := agent("Front desk")), relationships=[(first, agent("Billing", tool("refund_order")))])
    yield "write_copy", ManagerWorkers(name="Studio", group_manager=agent("Boss"), workers=[agent("Writer", tool("write_copy")), agent("Painter", n=1)])
    yield "Painter", ManagerWorkers(name="Studio 2", group_manager=agent("Boss"), workers=[agent("Painter", n=1)])
    yield "nearby_trains", branching()
    yield "summarize_city", mapped()
    yield "fetch_weather", api()
    yield "answer_question", flow("Answers", LlmNode(name="answer_question", llm_config=llm(), prompt_template="Say {{city}}", outputs=[RESULT]), [CITY], [RESULT])
    yield "inner-agent", flow("Agent flow", AgentNode(name="ask", agent=agent("Inner agent", outputs=[RESULT], inputs=[])), [], [RESULT])
    yield "create_ticket", remote("create_ticket", "POST", data={"text": "{{note}}"}, further=[StringProperty(title="note")])
    yield "search", mcp(StreamableHTTPTransport, "search")
    yield "remote-agent", a2a("Remote agent")
    yield "partner", Swarm(name="Partners", first_agent=(first := agent("Host")), relationships=[(first, a2a("partner"))])


def build():
    for capability, component in all_of_them():
        document = AgentSpecSerializer().to_json(component)
        print(json.dumps({"capability": capability, "document": document}))


def in_yaml():
    """All of them, and one with texts that YAML might take for something else."""
    texts = ["yes", "null", "0x1F", "- a", "a: b", "# x", "|", "line\none\n", "  indented", "tab\tin", "'q'", '"q"', "ü☃🙂", "~", "2024-01-01", "!tag", "&a", "*a", "%x", "@x", "`x`", "trailing ", "=", "<<", ".inf", "12:30:45", "\u2028x", "\u0085x", "a\x7fb"]
    odd = Agent(name="Odd: texts", system_prompt="\n".join(texts) + "\n\n", llm_config=llm(), metadata={text: text for text in texts})
    for component in [*(component for _, component in all_of_them()), odd]:
        print(json.dumps({"document": AgentSpecSerializer().to_yaml(component)}))


def compare_yaml():
    for line in sys.stdin:
        pair = json.loads(line)
        sent, exported = (AgentSpecDeserializer().from_yaml(pair[name]) for name in ("sent", "exported"))
        if sent != exported:
            print(f"{sent.name} differs")


def linear():
    nodes = [LlmNode(name=name, llm_config=llm(), prompt_template=text) for name, text in [("ask", "Say {{city}}"), ("answer", "Answer {{generated_text}}")]]
    print(AgentSpecSerializer().to_json(FlowBuilder.build_linear_flow(nodes)))


def compare():
    for line in sys.stdin:
        pair = json.loads(line)
        sent, exported = (AgentSpecDeserializer().from_json(pair[name]) for name in ("sent", "exported"))
        if sent != exported:
            print(f"{sent.name} differs")


{"build": build, "linear": linear, "compare": compare, "build_yaml": in_yaml, "compare_yaml": compare_yaml}[sys.argv[1]]()
