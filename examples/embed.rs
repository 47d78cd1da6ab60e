//! A registry inside of a program of yours: no server, no port.
//!
//! `cargo run --example embed`; needs no feature of the library.

use agentdex::{
    Registry,
    registry::{Event, Since},
    search::Search,
    td::{Description, description::Capability},
};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let registry = Registry::open(directory.path())?;

    // Changes arrive in a thread of their own, as long as the registry is open.
    let subscription = registry.subscribe(Since::Now);
    let follower = std::thread::spawn(move || {
        let changes = subscription.filter_map(|event| match event {
            Ok(Event::Change(change)) => Some(format!("{} {} {}", change.seq, change.kind, change.id)),
            _ => None,
        });
        changes.collect::<Vec<_>>()
    });

    let forecast = Capability::new("forecast").name("Weather forecast");
    registry.register(Description::new("Weather agent").id("urn:example:weather").capability(forecast))?;

    // JSON by hand: fixable problems are fixed. An LMOS agent without security gets the scheme `auto`.
    let written = registry.put(json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent",
        "id": "urn:example:clock",
        "title": "Clock",
        "lmos:capabilities": ["time-of-day"],
    }))?;
    for warning in &written.warnings {
        println!("{}: {}", warning.rule, warning.message);
    }

    // `consistent`: everything written so far is found.
    let answer = registry.search(Search::words("forecasts").consistent())?;
    for hit in &answer.hits {
        println!("found {} with score {:.2}", hit.id, hit.score);
    }
    assert_eq!(answer.total, 1);

    registry.patch("urn:example:weather", json!({"description": "Forecasts for every city."}))?;
    registry.remove("urn:example:weather")?;

    // Ends the subscription, once it has everything, and releases the directory.
    registry.close();
    let changes = follower.join().map_err(|_| "the follower panicked")?;
    println!("{}", changes.join("\n"));
    assert_eq!(changes.len(), 4);
    Ok(())
}
