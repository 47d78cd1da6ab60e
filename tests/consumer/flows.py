"""Flows built with the SDK of Agent Spec, one a line as {"name": flow}. The argument is JSON: `tools` is where the HTTP
tools are, `agent` the URL of an A2A agent."""
import json
import sys

from pyagentspec.a2aagent import A2AAgent, A2AConnectionConfig
from pyagentspec.flows.edges import ControlFlowEdge, DataFlowEdge
from pyagentspec.flows.flow import Flow
from pyagentspec.flows.nodes import (
    AgentNode, ApiNode, BranchingNode, CatchExceptionNode, EndNode, FlowNode, InputMessageNode, LlmNode, MapNode,
    OutputMessageNode, ParallelFlowNode, ParallelMapNode, StartNode, ToolNode,
)
from pyagentspec.flows.nodes.mapnode import ReductionMethod
from pyagentspec.llms import OllamaConfig
from pyagentspec.property import IntegerProperty, ListProperty, StringProperty
from pyagentspec.serialization import AgentSpecSerializer
from pyagentspec.tools import RemoteTool, ServerTool

where = json.loads(sys.argv[1])
text = lambda name, **more: StringProperty(title=name, **more)
number = lambda name, **more: IntegerProperty(title=name, **more)


def translate(name="translate", path="/translate", **more):
    return ToolNode(name=name, tool=RemoteTool(
        name=name, description="Translates.", url=where["tools"] + path, http_method="POST",
        data={"text": "{{text}}", "to": "{{language}}", "by": ["agentdex"]}, inputs=[text("text"), text("language")],
        outputs=[text("translated")], **more))


def length(name="length"):
    return ApiNode(name=name, url=where["tools"] + "/length/{{word}}", http_method="GET", query_params={"unit": "{{unit}}"},
                   inputs=[text("word"), text("unit", default="letters")], outputs=[number("length")])


def flow(name, nodes, control, data=None, outputs=None):
    """Edges are `(from, to)`, with a branch `(from, branch, to)`; data are `(from, output, to, input)`."""
    start = next(node for node in nodes if isinstance(node, StartNode))
    edges = []
    for edge in control:
        source, branch, to = edge if len(edge) == 3 else (edge[0], None, edge[1])
        edges.append(ControlFlowEdge(name=f"c{len(edges)}", from_node=source, from_branch=branch, to_node=to))
    links = None
    if data is not None:
        links = [DataFlowEdge(name=f"d{n}", source_node=a, source_output=x, destination_node=b, destination_input=y)
                 for n, (a, x, b, y) in enumerate(data)]
    return Flow(name=name, start_node=start, nodes=nodes, control_flow_connections=edges, data_flow_connections=links,
                outputs=outputs)


def linear():
    start, tool, api = StartNode(name="start", inputs=[text("text"), text("language", default="de")]), translate(), length()
    end = EndNode(name="end", outputs=[text("translated"), number("length")])
    return flow("linear", [start, tool, api, end], [(start, tool), (tool, api), (api, end)], [
        (start, "text", tool, "text"), (start, "language", tool, "language"), (tool, "translated", api, "word"),
        (tool, "translated", end, "translated"), (api, "length", end, "length")])


def one():
    """By the names of the data."""
    start, tool = StartNode(name="start", inputs=[text("text"), text("language")]), translate()
    end = EndNode(name="end", outputs=[text("translated")])
    return flow("one", [start, tool, end], [(start, tool), (tool, end)])


def measured(name="measured"):
    start, api = StartNode(name="start", inputs=[text("word")]), length()
    end = EndNode(name="end", outputs=[number("length")])
    return flow(name, [start, api, end], [(start, api), (api, end)])


def branching():
    start = StartNode(name="start", inputs=[text("language"), text("text")])
    choose = BranchingNode(name="choose", mapping={"de": "german", "fr": "french"}, inputs=[text("language")])
    tool, back = translate(), translate("translate.back", "/translate.back")
    german = EndNode(name="german", branch_name="done", outputs=[text("translated")])
    other = EndNode(name="other", branch_name="unknown", outputs=[text("language")])
    return flow("branching", [start, choose, tool, back, german, other],
                [(start, choose), (choose, "german", tool), (choose, "french", back), (choose, "default", other),
                 (tool, german), (back, german)],
                outputs=[text("translated", default="nothing"), text("language", default="?")])


def nested():
    inner = branching()
    start = StartNode(name="start", inputs=[text("language"), text("text")])
    node = FlowNode(name="inner", subflow=inner)
    known, unknown = EndNode(name="known", outputs=[text("translated")]), EndNode(name="unknown", outputs=[text("language")])
    return flow("nested", [start, node, known, unknown],
                [(start, node), (node, "done", known), (node, "unknown", unknown)],
                outputs=[text("translated", default="-"), text("language", default="-")])


def mapped(kind=MapNode):
    start = StartNode(name="start", inputs=[ListProperty(title="texts", item_type=text("item")), text("to")])
    node = kind(name="all", subflow=one())
    counts = kind(name="counts", subflow=measured(), reducers={"length": ReductionMethod.SUM})
    end = EndNode(name="end", outputs=[ListProperty(title="all", item_type=text("item")), number("total")])
    return flow("mapped" if kind is MapNode else "parallel map", [start, node, counts, end],
                [(start, node), (node, counts), (counts, end)], [
        (start, "texts", node, "iterated_text"), (start, "to", node, "iterated_language"),
        (node, "collected_translated", counts, "iterated_word"), (node, "collected_translated", end, "all"),
        (counts, "collected_length", end, "total")])


def parallel():
    start = StartNode(name="start", inputs=[text("text"), text("language"), text("word")])
    node = ParallelFlowNode(name="both", subflows=[one(), measured()])
    end = EndNode(name="end", outputs=[text("translated"), number("length")])
    return flow("parallel", [start, node, end], [(start, node), (node, end)])


def caught():
    start, tool = StartNode(name="start", inputs=[text("text"), text("language")]), translate("broken", "/broken")
    end = EndNode(name="end", outputs=[text("translated", default="none")])
    inner = flow("inner", [start, tool, end], [(start, tool), (tool, end)], outputs=[text("translated", default="none")])
    begin = StartNode(name="begin", inputs=[text("text"), text("language")])
    node = CatchExceptionNode(name="catch", subflow=inner)
    well, ill = EndNode(name="well", outputs=[text("translated")]), EndNode(name="ill", outputs=[text("why")])
    return flow("caught", [begin, node, well, ill],
                [(begin, node), (node, "next", well), (node, "caught_exception_branch", ill)], [
        (begin, "text", node, "text"), (begin, "language", node, "language"), (node, "translated", well, "translated"),
        (node, "caught_exception_info", ill, "why")],
        outputs=[text("translated", default="-"), text("why", default="-")])


def asking():
    start = StartNode(name="start", inputs=[text("name")])
    hello = OutputMessageNode(name="hello", message="Hello, {{name}}!")
    ask = InputMessageNode(name="ask", message="What shall I ask, {{ name }}?", outputs=[text("question")])
    agent = A2AAgent(name="Weather", agent_url=where["agent"], connection_config=A2AConnectionConfig(name="connection"),
                     inputs=[text("question")], outputs=[text("answer")])
    node = AgentNode(name="weather", agent=agent)
    end = EndNode(name="end", outputs=[text("answer")])
    return flow("asking", [start, hello, ask, node, end], [(start, hello), (hello, ask), (ask, node), (node, end)])


def confirmed():
    start, tool = StartNode(name="start", inputs=[text("text"), text("language")]), translate(requires_confirmation=True)
    end = EndNode(name="end", outputs=[text("translated")])
    return flow("confirmed", [start, tool, end], [(start, tool), (tool, end)])


def thinking():
    start = StartNode(name="start", inputs=[text("topic")])
    model = LlmNode(name="think", llm_config=OllamaConfig(name="m", model_id="m", url="http://m"), prompt_template="Of {{topic}}")
    end = EndNode(name="end", outputs=[text("generated_text")])
    return flow("thinking", [start, model, end], [(start, model), (model, end)])


def supplied():
    start = StartNode(name="start", inputs=[text("question")])
    node = ToolNode(name="forecast", tool=ServerTool(name="forecast", inputs=[text("question")], outputs=[text("answer")]))
    end = EndNode(name="end", outputs=[text("answer")])
    return flow("supplied", [start, node, end], [(start, node), (node, end)])


for made in [linear(), one(), branching(), nested(), mapped(), mapped(ParallelMapNode), parallel(), caught(), asking(),
             confirmed(), thinking(), supplied()]:
    print(json.dumps({"name": made.name, "flow": json.loads(AgentSpecSerializer().to_json(made))}))
