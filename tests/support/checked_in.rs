//! Files of the repository that are made from the program.

use std::{fs, path::Path};

use serde_json::Value;

/// The OpenAPI document of the handlers; in a build without debug assertions that of the file.
pub fn openapi() -> Value {
    #[cfg(debug_assertions)]
    let document = serde_json::to_value(agentdex_server::http::openapi());
    #[cfg(not(debug_assertions))]
    let document = serde_json::from_str(&agentdex_server::http::openapi_document().unwrap());
    document.unwrap()
}

/// Fails unless a file is what was made; with `AGENTDEX_UPDATE_DOCS` set, writes it first.
pub fn assert_checked_in(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("AGENTDEX_UPDATE_DOCS").is_some() {
        fs::write(&path, made).unwrap();
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert!(checked_in == made, "{name} is out of date: run the tests with AGENTDEX_UPDATE_DOCS=1");
}
