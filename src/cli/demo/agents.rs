//! The agents of a demo, as they are registered: compiled in, at the address where the demo serves them.

use anyhow::{Context, anyhow};

use agentdex::{
    Registry,
    convert::{
        Conversion, Syntax,
        a2a::{self, Card},
        agent_spec::{self, Configuration},
    },
    registry::{Import, Write},
    td::Document,
};

/// The address in the descriptions, which a demo replaces by its own.
const ORIGIN: &str = "http://127.0.0.1:8080";
const UNITS: &str = include_str!("../../../examples/demo/units.json");
const FLOW: &str = include_str!("../../../examples/flow.yaml");

/// Those that are Thing Descriptions, by the names of their files.
const THINGS: [(&str, &str); 3] = [
    ("clock", include_str!("../../../examples/demo/clock.json")),
    ("dice", include_str!("../../../examples/demo/dice.json")),
    ("bus-stop", include_str!("../../../examples/demo/bus-stop.json")),
];

/// The agent card of the converter.
pub(super) fn card(origin: &str) -> String {
    UNITS.replace(ORIGIN, origin)
}

/// Registers them.
pub(super) async fn register(registry: &Registry, origin: &str) -> anyhow::Result<()> {
    for (name, json) in THINGS {
        let written = registry.write(Write::put(json.replace(ORIGIN, origin))).await;
        written.with_context(|| format!("registering the agent {name}"))?;
    }
    let units = Card::parse(card(origin).as_bytes())?
        .to_thing(&a2a::Options { id: Some("urn:demo:units".to_owned()), ..a2a::Options::default() })?;
    registry.import(Import::new(units)).await.context("registering the converter")?;
    let flow = Configuration::parse(FLOW.as_bytes(), Syntax::Yaml, &[])?.to_things(&agent_spec::Options::default())?;
    let flow = called("urn:demo:flow", flow)?;
    registry.import(Import::new(flow)).await.context("registering the Flow")?;
    Ok(())
}

/// The same with another id: those of Agent Spec say by whom they are published.
fn called(id: &str, mut conversion: Conversion) -> anyhow::Result<Conversion> {
    let thing = conversion.things.first_mut().ok_or_else(|| anyhow!("the Flow is not a Thing"))?;
    let mut description = thing.description.value().clone();
    description["id"] = id.into();
    thing.description = Document::parse(description.to_string().as_bytes())?;
    thing.id = id.to_owned();
    Ok(conversion)
}
