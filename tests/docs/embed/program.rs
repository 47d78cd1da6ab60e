//! The first program of README and of the guide.

use std::path::Path;

use agentdex::{Registry, registry::Since, search::Search, td::Description};

pub fn main(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::open(directory)?;
    let changes = registry.subscribe(Since::Now);
    registry.put(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?; // or JSON
    for hit in registry.search(Search::words("weather forecast").consistent())?.hits {
        println!("{:.2} {}", hit.score, hit.id);
    }
    registry.close(); // ends subscriptions
    for change in changes {
        println!("{}", change?);
    }
    Ok(())
}
