// A document to start from in each format that says where an agent is called: valid, without a warning, and with an action.

const SECURITY = { securityDefinitions: { none: { scheme: "nosec" } }, security: "none" };

/** Documents by the names of their formats. */
export const EXAMPLES = {
	td: {
		"@context": ["https://www.w3.org/2022/wot/td/v1.1", { lmos: "https://eclipse.dev/lmos/protocol/v1" }],
		"@type": "lmos:Agent",
		id: "urn:example:agents:greeter",
		title: "Greeter",
		description: "Says hello in the caller's language.",
		"lmos:capabilities": [{ id: "greet", name: "Greet", description: "Greets a person by name." }],
		...SECURITY,
		actions: {
			greet: {
				title: "Greet",
				description: "Greets a person by name.",
				input: { type: "object", properties: { name: { type: "string", description: "Who is greeted.", examples: ["Ada"] } }, required: ["name"] },
				output: { type: "object", properties: { greeting: { type: "string" } } },
				forms: [{ op: "invokeaction", href: "https://greeter.example/greet", contentType: "application/json" }],
			},
		},
	},
	a2a: {
		protocolVersion: "0.3.0",
		name: "Greeter",
		description: "Says hello in the caller's language.",
		version: "1.0.0",
		url: "https://greeter.example/a2a",
		preferredTransport: "JSONRPC",
		capabilities: {},
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [{ id: "greet", name: "Greet", description: "Greets a person by name.", tags: ["greeting"], examples: ["Greet Ada in French"] }],
	},
	"mcp-server": {
		$schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		name: "com.example/greeter",
		title: "Greeter",
		description: "Says hello in the caller's language.",
		version: "1.0.0",
		remotes: [{ type: "streamable-http", url: "https://greeter.example/mcp" }],
		_meta: {
			"io.modelcontextprotocol.registry/publisher-provided": {
				tools: [{ name: "greet", title: "Greet", description: "Greets a person by name.", inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } }],
			},
		},
	},
	"agent-spec": {
		agentspec_version: "25.4.2",
		component_type: "A2AAgent",
		id: "greeter",
		name: "Greeter",
		description: "Says hello in the caller's language.",
		agent_url: "https://greeter.example/a2a",
		connection_config: { component_type: "A2AConnectionConfig", id: "connection", name: "connection" },
	},
};
