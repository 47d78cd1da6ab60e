//! The further parts of the guide, each in a function.

use std::error::Error;

use agentdex::Registry;

pub fn read(registry: &Registry) -> Result<(), Box<dyn Error>> {
    if let Some(agent) = registry.find("urn:example:weather")? {
        println!("{}", agent.text()); // the Thing Description, as JSON
    }
    for agent in registry.list() {
        println!("{}", agent?.id());
    }
    Ok(())
}

pub fn import(registry: &Registry) -> Result<(), Box<dyn Error>> {
    use agentdex::{
        convert::{Format, ImportOptions, Input},
        registry::Import,
    };

    let card = std::fs::read("examples/a2a/exchange.json")?;
    let format = Format::A2a.import().expect("agent cards are imported");
    let conversion = format.to_things(&Input::json(&card), &ImportOptions::default())?;
    for agent in registry.import_blocking(Import::new(conversion))?.things {
        println!("{} {}", agent.effect.as_str(), agent.id);
    }
    Ok(())
}

pub async fn call_from_asynchronous_code(registry: &Registry) -> Result<(), Box<dyn Error>> {
    use agentdex::{registry::Write, search::Search};

    registry.write(Write::patch("urn:example:weather", r#"{"description": "Forecasts rain."}"#)).await?;

    let reader = registry.clone();
    let answer = tokio::task::spawn_blocking(move || reader.search(Search::words("rain").consistent())).await??;
    println!("{} found", answer.total);
    Ok(())
}

pub fn subscribe_and_close(registry: &Registry) -> Result<(), Box<dyn Error>> {
    use agentdex::registry::{Event, Since};

    let events = registry.subscribe(Since::Now);
    let follower = std::thread::spawn(move || {
        for event in events {
            match event {
                Ok(Event::Change(change)) => println!("{change}"), // one line; change.patch has the difference
                Ok(Event::Resync(_)) => println!("changes are missing: list all agents again"),
                Err(error) => eprintln!("{error}"),
            }
        }
    });
    registry.remove("urn:example:weather")?;
    registry.close(); // ends subscriptions, and releases the directory
    follower.join().map_err(|_| "the follower panicked")?;
    Ok(())
}
