//! Descriptions as RDF: whatever comes is read or refused, and what is read can be written in each syntax.

#![no_main]

use std::sync::LazyLock;

use agentdex::{search::rdf::Syntax, td::json_ld::Expander};
use libfuzzer_sys::fuzz_target;

static EXPANDER: LazyLock<Expander> = LazyLock::new(|| {
    let abort = std::panic::take_hook();
    // A known panic of a crate below `json-ld`, which the expander catches.
    let is_known = |file: &str| file.contains("pct-str");
    std::panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|location| is_known(location.file())) {
            abort(info);
        }
    }));
    Expander::new()
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(statements) = EXPANDER.read(text) else { return };
    for syntax in [Syntax::NQuads, Syntax::Turtle] {
        syntax.write(&statements).expect("statements can be written");
    }
});
