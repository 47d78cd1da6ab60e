//! The example agents that `agentdex serve --examples` registers: compiled in, nothing is fetched.

use anyhow::Context;

use agentdex::{Registry, registry::Write};

/// By the names of their files.
const AGENTS: [(&str, &str); 8] = [
    ("weather", include_str!("../../examples/agents/weather.json")),
    ("translation", include_str!("../../examples/agents/translation.json")),
    ("travel", include_str!("../../examples/agents/travel.json")),
    ("code-review", include_str!("../../examples/agents/code-review.json")),
    ("invoices", include_str!("../../examples/agents/invoices.json")),
    ("smart-home", include_str!("../../examples/agents/smart-home.json")),
    ("customer-care", include_str!("../../examples/agents/customer-care.json")),
    ("web-search-tool", include_str!("../../examples/agents/web-search-tool.json")),
];

/// Creates or replaces the examples; where they are there already, nothing changes.
pub(super) async fn register(registry: &Registry) -> anyhow::Result<()> {
    for (name, json) in AGENTS {
        let written = registry.write(Write::put(json)).await;
        written.with_context(|| format!("registering the example {name}"))?;
    }
    Ok(())
}
