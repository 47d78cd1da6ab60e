//! A registry inside of a program of yours: no server, no port.
//!
//! `cargo run --example embed`; needs no feature of agentdex.

use agentdex::{Registry, change::Seq, search::Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let registry = Registry::builder(directory.path()).open()?;

    // Fixable problems are fixed: an LMOS agent without security gets the scheme `auto`.
    let written = registry.register(
        r#"{
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent",
            "id": "urn:example:weather",
            "title": "Weather agent",
            "lmos:capabilities": [{"id": "forecast", "name": "Weather forecast"}]
        }"#,
    )?;
    println!("registered {}", written.id);
    for warning in &written.warnings {
        println!("  {}: {}", warning.rule, warning.message);
    }

    // `true`: wait until everything written so far can be found.
    let answer = registry.search(&Request::words("forecasts"), true)?;
    for hit in &answer.response.hits {
        println!("found {} with score {:.2}", hit.id, hit.score);
    }
    assert_eq!(answer.response.total, 1);

    registry.patch("urn:example:weather", r#"{"description": "Knows what the sky will do."}"#)?;
    registry.remove("urn:example:weather")?;

    // The log has every change; a follower stores its position in it.
    let changes = registry.changes(Seq::ZERO, 100)?;
    for change in &changes.changes {
        println!("{} {} {}", change.seq, change.kind, change.id);
    }
    assert_eq!(changes.changes.len(), 3);

    registry.close();
    Ok(())
}
