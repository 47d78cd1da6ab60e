//! Examples of each command, by the names of the command and its subcommand.

/// Descriptions and lines.
type Examples = &'static [(&'static str, &'static str)];

pub(super) const EXAMPLES: &[(&str, Examples)] = &[
    (
        "serve",
        &[
            ("Run a registry for this machine, with a few example agents", "agentdex serve --examples"),
            (
                "Run a registry for other machines, with API keys and TLS",
                "agentdex serve --listen 0.0.0.0:8443 --auth --tls-cert cert.pem --tls-key key.pem",
            ),
            ("Read settings from a file", "agentdex serve --config /etc/agentdex.toml"),
        ],
    ),
    (
        "mcp",
        &[
            ("Serve the current registry to an MCP client", "agentdex mcp"),
            ("Serve a data directory instead of a running server", "agentdex mcp --data agentdex-data --read-only"),
        ],
    ),
    (
        "connect",
        &[
            ("Print the configuration that connects Claude Code to the registry", "agentdex connect claude-code"),
            ("Add the registry to the configuration of Codex", "agentdex connect codex --write"),
            (
                "Add a registered MCP server to a project, for Cursor",
                "agentdex connect cursor 'Weather server' --write --file .cursor/mcp.json",
            ),
            (
                "Set a variable that the server needs",
                "agentdex connect vscode urn:agentdex:mcp:com.example/weather --variable region=eu",
            ),
        ],
    ),
    ("demo", &[("Start a demo, and open http://127.0.0.1:8080", "agentdex demo")]),
    (
        "register",
        &[
            ("Register all descriptions in a folder", "agentdex register agents/"),
            (
                "Register an agent that publishes an agent card",
                "agentdex register --url-of-agent https://agent.example",
            ),
            ("Register an agent for as long as the command runs", "agentdex register agent.json --ttl 60 --keep-alive"),
            (
                "Copy all agents to another registry",
                "agentdex list --json | agentdex register - --url https://other.example",
            ),
        ],
    ),
    (
        "validate",
        &[
            ("Check a folder, as in a CI job", "agentdex validate agents/"),
            ("Report everything that a registry would fix", "agentdex validate agent.json --strict"),
        ],
    ),
    (
        "td",
        &[
            ("Print an agent card as a Thing Description", "agentdex td agent-card.json"),
            ("Convert a folder", "agentdex td specs/ --out things/"),
        ],
    ),
    ("edit", &[("Edit an agent in VS Code", "VISUAL='code --wait' agentdex edit 'Tide agent'")]),
    (
        "patch",
        &[
            ("Change the title", "agentdex patch urn:example:agents:tides '{\"title\": \"Tide agent\"}'"),
            ("Remove a member", "agentdex patch urn:example:agents:tides '{\"support\": null}'"),
            ("Read the changes from a file", "agentdex patch urn:example:agents:tides - < changes.json"),
        ],
    ),
    (
        "remove",
        &[
            ("Remove an agent", "agentdex remove urn:example:agents:tides"),
            ("Remove one version of an agent", "agentdex remove urn:example:agents:tides --version 1.2.0"),
        ],
    ),
    ("imports", &[("List the sources that can't be fetched", "agentdex imports --status stale")]),
    ("refresh", &[("Fetch the agent card again", "agentdex refresh urn:example:agents:tides")]),
    ("untrack", &[("Stop updating the agent from its source", "agentdex untrack urn:example:agents:tides")]),
    (
        "search",
        &[
            ("Find agents by meaning", "agentdex search book a hotel"),
            ("Require and exclude words", "agentdex search +weather -marine"),
            ("Count the values of fields", "agentdex search weather --facets protocol,vendor --limit 0"),
            (
                "Find actions that turn a place into a summary",
                "agentdex search --have 'place, days: integer' --want summary",
            ),
        ],
    ),
    (
        "list",
        &[
            ("List the agents that can be called over A2A", "agentdex list --protocol a2a"),
            ("List the first ten agents without the tag beta", "agentdex list --not tag=beta --limit 10"),
            ("Save all descriptions", "agentdex list --json > agents.ndjson"),
        ],
    ),
    (
        "get",
        &[
            ("Print the description of an agent", "agentdex get 'World clock'"),
            ("Print the highest version below 2", "agentdex get urn:example:agents:tides --version '<2'"),
            ("List the versions", "agentdex get urn:example:agents:tides --versions"),
        ],
    ),
    (
        "diff",
        &[
            ("Compare a file with the registered description", "agentdex diff urn:example:agents:tides tides.json"),
            ("Compare two versions", "agentdex diff urn:example:agents:tides@1.0.0 urn:example:agents:tides@1.1.0"),
        ],
    ),
    (
        "export",
        &[
            ("Print an agent card", "agentdex export urn:example:agents:tides --format a2a"),
            (
                "Write an Agent Spec file",
                "agentdex export urn:example:agents:tides --format agent-spec --out tides.yaml",
            ),
        ],
    ),
    ("queries list", &[("List saved queries", "agentdex queries list")]),
    (
        "queries create",
        &[(
            "Save a query for agents that forecast the weather over HTTP",
            "agentdex queries create storms weather forecast --protocol http",
        )],
    ),
    ("queries watch", &[("Print which agents start or stop matching", "agentdex queries watch storms")]),
    ("queries delete", &[("Delete a query", "agentdex queries delete storms")]),
    (
        "ask",
        &[
            ("Ask the best agent", "agentdex ask 'What time is it in Tokyo?'"),
            (
                "Describe the agent separately from the question",
                "agentdex ask 'convert units' 'How many miles are 42 km?'",
            ),
            ("Ask a known agent", "agentdex ask --agent 'World clock' 'What time is it in Tokyo?'"),
        ],
    ),
    (
        "chat",
        &[
            ("Start a conversation", "agentdex chat 'Unit converter'"),
            ("Continue a conversation", "agentdex chat 'Unit converter' --restore conversation.json"),
        ],
    ),
    (
        "call",
        &[
            ("List the actions of an agent", "agentdex call 'World clock'"),
            ("Call an action", "agentdex call 'World clock' time --input '{\"city\": \"Tokyo\"}'"),
        ],
    ),
    ("read", &[("Print a property", "agentdex read 'World clock' cities")]),
    (
        "write",
        &[
            ("Set a number", "agentdex write urn:example:thermostat target 21.5"),
            ("Set a string", "agentdex write urn:example:thermostat mode eco"),
        ],
    ),
    (
        "events",
        &[
            ("Print events until Ctrl-C", "agentdex events 'World clock' hour"),
            ("Wait for an event for up to a minute", "agentdex events 'World clock' hour --count 1 --for 60"),
        ],
    ),
    (
        "run",
        &[
            ("Run a chain", "agentdex run chain.json --input '{\"city\": \"Tokyo\"}'"),
            ("Run a registered Flow", "agentdex run urn:demo:flow --input '{\"city\": \"Tokyo\"}'"),
            ("Resume a saved run by answering its question", "agentdex run chain.json --state run.json --answer yes"),
        ],
    ),
    ("sacp prompt", &[("Print the instructions for an agent", "agentdex sacp prompt urn:example:agents:tides")]),
    ("sacp check", &[("Check an answer", "agentdex sacp check answer.txt --agent urn:example:agents:tides")]),
    (
        "watch",
        &[
            ("Print all changes", "agentdex watch"),
            ("Print which agents start or stop matching a query", "agentdex watch weather forecast"),
            ("Print removed agents as JSON", "agentdex watch --type removed --json"),
        ],
    ),
    ("history", &[("List the changes to an agent", "agentdex history urn:example:agents:tides")]),
    (
        "changes",
        &[
            ("List the oldest ten changes in the log", "agentdex changes --limit 10"),
            ("Continue after a position", "agentdex changes --since 45f23280195947d0-16"),
        ],
    ),
    (
        "status",
        &[
            ("Show the status of a registry", "agentdex status --url https://registry.example"),
            ("Print the status as JSON, for a script", "agentdex status --json"),
        ],
    ),
    (
        "access",
        &[
            ("Show who can see an agent", "agentdex access urn:example:agents:tides"),
            ("Hide an agent from others", "agentdex access urn:example:agents:tides --visibility private"),
            (
                "Share an agent with a namespace",
                "agentdex access urn:example:agents:tides --namespace harbor --visibility namespace",
            ),
        ],
    ),
    ("namespaces list", &[("List your namespaces", "agentdex namespaces list")]),
    (
        "namespaces claim",
        &[("Claim a namespace, and add two members", "agentdex namespaces claim harbor --member pilots --member tugs")],
    ),
    ("namespaces remove", &[("Give up a namespace", "agentdex namespaces remove harbor")]),
    (
        "keys create",
        &[
            (
                "Create the first key, before the server runs",
                "agentdex keys create --role admin --owner ops --data ./agentdex-data",
            ),
            ("Create a key for a team", "agentdex keys create --role register --owner weather-team --expires 90d"),
        ],
    ),
    ("keys list", &[("List all keys", "agentdex keys list")]),
    ("keys revoke", &[("Revoke a key", "agentdex keys revoke 3f9ac2d1")]),
    (
        "audit",
        &[
            ("Print the whole trail", "agentdex audit"),
            ("Export the entries after number 1500", "agentdex audit --json --since 1500 > audit.ndjson"),
        ],
    ),
    (
        "backup",
        &[
            ("Back up a running registry", "agentdex backup agents.backup"),
            ("Back up a stopped registry", "agentdex backup agents.backup --data ./agentdex-data"),
        ],
    ),
    ("restore", &[("Restore into a new directory", "agentdex restore agents.backup --data ./restored")]),
    ("records export", &[("Write all agents to a file", "agentdex records export agents.ndjson")]),
    (
        "records import",
        &[
            ("Check a file first", "agentdex records import agents.ndjson --dry-run"),
            (
                "Copy all agents to another registry",
                "agentdex records export - | agentdex records import - --url https://other.example",
            ),
        ],
    ),
    ("check", &[("Check the directory of a stopped registry", "agentdex check --data ./agentdex-data")]),
    (
        "salvage",
        &[
            ("Recover the readable part", "agentdex salvage --data ./agentdex-data --to ./salvaged"),
            ("Accept files of a disk snapshot", "agentdex salvage --data ./agentdex-data --accept-rollback"),
        ],
    ),
    ("clock accept", &[("Reset the log's time to the system clock", "agentdex clock accept")]),
    (
        "cluster status",
        &[
            ("Show the nodes of a cluster", "agentdex cluster status --url https://node-1.example"),
            ("Compare the whole content of all nodes", "agentdex cluster status --verify"),
            ("Print the state as JSON, for a script", "agentdex cluster status --json"),
        ],
    ),
    (
        "cluster join",
        &[
            (
                "Create the data directory of another node",
                "agentdex cluster join --from https://node-1.example --data ./agentdex-data",
            ),
            ("Use a backup of a running node", "agentdex cluster join --backup agents.backup --data ./agentdex-data"),
        ],
    ),
    (
        "mqtt resync",
        &[(
            "Republish everything",
            "agentdex mqtt resync --data ./agentdex-data --mqtt-url mqtt://broker.example:1883",
        )],
    ),
    (
        "context add",
        &[
            (
                "Save a registry, with the API key from a variable",
                "AGENTDEX_API_KEY=\"$KEY\" agentdex context add prod --url https://registry.example",
            ),
            ("Save the registry on this machine", "agentdex context add local --url http://127.0.0.1:8080"),
        ],
    ),
    ("context use", &[("Use a registry from now on", "agentdex context use prod")]),
    ("context list", &[("List all contexts", "agentdex context list")]),
    ("context remove", &[("Remove a context and its key", "agentdex context remove prod")]),
    (
        "version",
        &[
            ("Print the versions of the program and the registry", "agentdex version"),
            ("Print only the version of this program", "agentdex version --client"),
        ],
    ),
    (
        "completions",
        &[(
            "Load completions in bash",
            "agentdex completions bash > ~/.local/share/bash-completion/completions/agentdex",
        )],
    ),
    ("openapi", &[("Save the document", "agentdex openapi > openapi.json")]),
];
