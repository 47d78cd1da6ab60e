//! Descriptions as RDF: whatever comes is read or refused, and what is read can be written in each syntax.

#![no_main]

use std::sync::LazyLock;

use agentdex::{search::rdf::Syntax, td::json_ld::Expander};
use libfuzzer_sys::fuzz_target;

static EXPANDER: LazyLock<Expander> = LazyLock::new(Expander::new);

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(statements) = EXPANDER.read(text) else { return };
    for syntax in [Syntax::NQuads, Syntax::Turtle] {
        syntax.write(&statements).expect("statements can be written");
    }
});
