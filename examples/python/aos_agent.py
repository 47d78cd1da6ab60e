"""An agent that asks the guardian of a running registry before each step (Agent Observability Standard).

    agentdex serve &
    python3 examples/python/aos_agent.py http://127.0.0.1:8080

Needs nothing but Python 3.9. It registers itself, walks through a turn, and does what the guardian decides.
"""

import datetime
import json
import sys
import urllib.request

AGENT = {
    "id": "urn:example:agents:refunds",
    "name": "Refunds",
    "version": "1.0.0",
    "instructions": "Refund orders.",
    "provider": {"name": "Example", "url": "https://example.org"},
    "tools": [
        {
            "id": "find_order",
            "name": "Find order",
            "type": "function_call",
            "arguments": [{"name": "number", "type": "string", "required": True}],
            "outputs": None,
        }
    ],
    "resources": [{"id": "policy", "name": "Refund policy", "content": "Refunds take five days."}],
}


def call(url, document=None):
    data = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


class Guardian:
    """Asks whether steps may be taken."""

    def __init__(self, registry, session, turn):
        self.url, self.session, self.turn, self.steps = f"{registry}/aos?consistent=true", session, turn, 0

    def ask(self, method, **params):
        self.steps += 1
        params["context"] = {
            "agent": AGENT,
            "session": {"id": self.session},
            "turnId": self.turn,
            "stepId": f"step-{self.steps}",
            "timestamp": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        }
        answer = call(self.url, {"jsonrpc": "2.0", "id": self.steps, "method": method, "params": params})
        if "error" in answer:
            raise RuntimeError(answer["error"])
        result = answer["result"]
        print(f"{method}: {result['decision']} ({result['message']})")
        return result

    def call_tool(self, execution, tool, **inputs):
        """Whether a tool may be called."""
        values = [{"name": name, "value": value} for name, value in inputs.items()]
        request = {"executionId": execution, "toolId": tool, "inputs": values}
        return self.ask("steps/toolCallRequest", toolCallRequest=request)["decision"] == "allow"


def text(words):
    return [{"kind": "text", "text": words}]


def main():
    registry = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080").rstrip("/")
    call(f"{registry}/import/aos", AGENT)
    guardian = Guardian(registry, f"python-{datetime.datetime.now().timestamp()}", "turn-1")
    event = {"type": "email", "id": "m-1"}
    guardian.ask("steps/agentTrigger", trigger={"type": "autonomous", "event": event, "content": text("Where is my money?")})
    found = [{"id": "policy", "content": "Refunds take five days."}]
    guardian.ask("steps/knowledgeRetrieval", knowledgeStep={"query": "refunds", "results": found})
    # The agent has no such tool, so that it must not call it.
    assert not guardian.call_tool("x-1", "pay_out", order="4711")
    assert guardian.call_tool("x-2", "find_order", number="4711")
    guardian.ask("steps/toolCallResult", executionId="x-2", result={"outputs": text("paid"), "isError": False})
    cited = [{"kind": "file", "id": "policy", "name": "Refund policy"}]
    message = {"id": "m-2", "role": "agent", "content": text("It takes five days.")}
    assert guardian.ask("steps/message", message=message, citation=cited)["decision"] == "allow"
    steps = call(f"{registry}/aos/sessions/{guardian.session}")
    print(f"the trail has {len(steps)} steps")


if __name__ == "__main__":
    main()
