//! Noninterference: two registries with the same public content and different hidden content answer strangers alike.
//!
//! Every operation of the OpenAPI document, event streams and MQTT are asked by somebody without a key, by a reader and by
//! another owner. Answers are compared byte for byte, except for what differs between any two registries: see [`normal`].

mod normal;
mod operations;
mod requests;
mod secrets;
mod streams;
mod transcript;
mod world;

use std::collections::BTreeSet;

use self::{
    secrets::{Secrets, WORLDS},
    streams::Streams,
    transcript::Transcript,
    world::{STRANGERS, World},
};

/// Asks a registry everything.
fn transcript(secrets: Secrets) -> (Transcript, BTreeSet<String>) {
    let world = World::start(secrets);
    let mut transcript = Transcript::new();
    streams::resume_sessions(&world, &mut transcript);
    streams::resume(&world, &mut transcript);
    let live = Streams::open(&world);
    world.go_on();
    live.read(&world, &mut transcript);
    let mut asked = requests::read_all(&world, &STRANGERS, &mut transcript);
    asked.extend(requests::write_all(&world, &mut transcript));
    requests::read_all(&world, &STRANGERS[2..], &mut transcript);
    (transcript, asked)
}

#[test]
fn strangers_get_the_same_answers_whatever_is_hidden() {
    let [one, other] = std::thread::scope(|scope| {
        WORLDS.map(|secrets| scope.spawn(move || transcript(secrets))).map(|world| world.join().unwrap())
    });
    let left_out = operations::all().into_iter().filter(|operation| !one.1.contains(operation)).collect::<Vec<_>>();
    assert!(left_out.is_empty(), "operations of the OpenAPI document that nobody asks here: {left_out:?}");
    let pairs: Vec<_> = one.0.iter().zip(&other.0).collect();
    assert_eq!(one.0.len(), other.0.len(), "something else was asked");
    let mut different = Vec::new();
    for ((request, answer), (same, counterpart)) in &pairs {
        assert_eq!(request, same, "something else was asked");
        if answer != counterpart {
            different.push(difference(request, answer, counterpart));
        }
    }
    println!("{} answers were compared, {} differ", pairs.len(), different.len());
    assert!(different.is_empty(), "{} of {} answers differ:\n{}", different.len(), pairs.len(), different.join("\n"));
}

/// The lines in which two answers differ, as far as they say where.
fn difference(request: &str, one: &str, other: &str) -> String {
    let start = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[start.saturating_sub(60).min(text.len())..(start + 100).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!("{request}\n  {:?}\n  {:?}", around(one), around(other))
}
