//! Which module may use which: modules use modules of lower layers only, a foreign crate is named only in the
//! modules that exist to hide it, and no two files of the library use each other.

mod cycles;
mod source;
mod uses;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use self::source::code;

/// The modules, the lowest layer first. Those of the lowest layer may use each other; elsewhere none uses another
/// of its layer.
const LAYERS: [&[&str]; 5] = [
    &["access", "change", "error", "settings", "expression", "td", "timestamp", "whole_number"],
    &["convert", "fetch", "policy", "sacp", "search", "signature", "store", "tls"],
    &["registry"],
    &["client", "consumer", "http", "mcp", "mqtt", "otlp"],
    &["cli"],
];

/// Uses within a layer that are intended: `/mqtt` of the HTTP server is a WebSocket listener of the MQTT endpoint, and its
/// conversations are those of a consumer; search fits data by the type rules of Agent Spec; a consumer finds agents through a client as well as in a registry of its own.
const EXCEPTIONS: [(&str, &str); 4] =
    [("search", "convert"), ("http", "mqtt"), ("http", "consumer"), ("consumer", "client")];

/// Names that lib.rs re-exports at the root of the crate, and the modules they come from.
const REEXPORTS: [(&str, &str); 2] = [("Registry", "registry"), ("Builder", "registry")];

/// Crates (or the start of their names) and the modules that may name them.
const CRATES: [(&str, &[&str]); 41] = [
    ("actix", &["http"]),
    ("utoipa", &["http"]),
    ("metrics", &["http"]),
    ("multer", &["http"]),
    ("sled", &["store"]),
    ("tantivy", &["search"]),
    ("serde_json_path", &["search"]),
    ("json_ld::", &["td"]),
    ("oxigraph", &["search"]),
    ("oxrdf", &["search"]),
    ("oxttl", &["search"]),
    ("oxjsonld", &["search"]),
    ("spargebra", &["search"]),
    ("spareval", &["search"]),
    ("sparesults", &["search"]),
    ("ndarray", &["search"]),
    ("safetensors", &["search"]),
    ("simsimd", &["search"]),
    ("icu_normalizer", &["search"]),
    ("mqtt_protocol_core", &["mqtt", "consumer"]),
    ("rumqttc", &["mqtt", "consumer"]),
    ("rmcp", &["mcp", "consumer"]),
    ("tokio_tungstenite", &["consumer"]),
    ("reqwest", &["fetch", "client", "consumer", "otlp", "store"]),
    ("ring", &["mqtt", "fetch", "signature", "client", "consumer", "registry", "tls"]),
    ("serde_json_canonicalizer", &["signature"]),
    ("flate2", &["fetch", "registry"]),
    ("rustls", &["mqtt", "fetch", "client", "consumer", "otlp", "tls"]),
    ("tokio_rustls", &["tls"]),
    ("x509_parser", &["tls"]),
    ("unicode_security", &["registry"]),
    ("jsonschema", &["td", "sacp", "consumer"]),
    ("cel::", &["expression"]),
    ("serde_saphyr", &["convert"]),
    ("json5", &["cli"]),
    ("toml", &["settings"]),
    ("anyhow", &["cli", "settings"]),
    ("clap", &["cli", "settings"]),
    ("indicatif", &["cli"]),
    ("comfy_table", &["cli"]),
    ("tokio", &["store", "registry", "http", "mqtt", "mcp", "client", "consumer", "fetch", "otlp", "tls", "cli"]),
];

#[test]
fn modules_use_lower_layers_only() {
    let breaches: Vec<String> =
        modules().iter().flat_map(|(module, path, code)| layer_breaches(module, path, code)).collect();
    assert!(breaches.is_empty(), "against the layers:\n{}", breaches.join("\n"));
}

#[test]
fn crates_are_named_in_their_modules_only() {
    let breaches: Vec<String> =
        modules().iter().flat_map(|(module, path, code)| crate_breaches(module, path, code)).collect();
    assert!(breaches.is_empty(), "named outside of their modules:\n{}", breaches.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let unknown: BTreeSet<String> =
        modules().into_iter().map(|(module, ..)| module).filter(|module| layer_of(module).is_none()).collect();
    assert!(unknown.is_empty(), "modules without a layer: {unknown:?}");
}

#[test]
fn breaches_are_found() {
    let path = Path::new("src/store/keys.rs");
    let upward = code("use crate::{Result, change::Seq, registry::{self, Thing}, http};");
    assert_eq!(layer_breaches("store", path, &upward).len(), 2);
    assert_eq!(layer_breaches("store", path, &code("fn f(r: &crate::Registry) {}")).len(), 1);
    let sideways = code("use crate::search::Index; // crate::http\nconst T: &str = \"crate::http\";");
    assert_eq!(layer_breaches("store", path, &sideways).len(), 1);
    let around = code("use super::super::cli::run;\nuse super::committer;");
    assert_eq!(layer_breaches("store", path, &around).len(), 1);
    assert_eq!(crate_breaches("store", path, &code("use tantivy::Index;\nuse sled::Db;")).len(), 1);
    assert_eq!(crate_breaches("td", path, &code("#[actix_web::main]\nasync fn main() {}")).len(), 1);
    assert!(layer_breaches("registry", path, &code("use crate::{store::Store, td};")).is_empty());
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn layer_breaches(module: &str, path: &Path, code: &str) -> Vec<String> {
    let Some(own) = layer_of(module) else { return Vec::new() };
    let forbidden = |used: &str| {
        let is_exception = EXCEPTIONS.contains(&(module, used));
        layer_of(used)
            .is_some_and(|layer| used != module && !is_exception && (layer > own || (layer == own && own > 0)))
    };
    let used: BTreeSet<String> = used_names(path, code)
        .into_iter()
        .map(|name| REEXPORTS.iter().find(|(item, _)| *item == name).map_or(name, |(_, module)| (*module).to_owned()))
        .collect();
    used.iter().filter(|used| forbidden(used)).map(|used| format!("{}: {module} uses {used}", path.display())).collect()
}

/// The names that follow `crate::`, or a chain of `super::` that reaches the root.
fn used_names(path: &Path, code: &str) -> Vec<String> {
    let depth = path.components().count() - 1 - usize::from(path.ends_with("mod.rs"));
    let to_root = "super::".repeat(depth);
    ["crate::", &to_root].iter().flat_map(|start| code.split(start).skip(1).flat_map(names_at_start)).collect()
}

/// Of `a::b`, a; of `{a, b::{c, d}}`, a and b.
fn names_at_start(rest: &str) -> Vec<String> {
    let name =
        |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut depth, mut names, mut at_start) = (0, Vec::new(), true);
    for (index, character) in group.char_indices() {
        if at_start && !character.is_whitespace() {
            names.push(name(&group[index..]));
            at_start = false;
        }
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            _ => {}
        }
    }
    names
}

fn crate_breaches(module: &str, path: &Path, code: &str) -> Vec<String> {
    let named = |name: &str| {
        code.match_indices(name).any(|(index, _)| {
            let before = code[..index].chars().next_back();
            let starts = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'));
            let rest = code[index..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            starts && rest.starts_with("::")
        })
    };
    let foreign = CRATES.iter().filter(|(name, modules)| !modules.contains(&module) && named(name));
    foreign.map(|(name, modules)| format!("{}: {name} belongs to {modules:?}", path.display())).collect()
}

/// The module, path and code of every file of the library.
fn modules() -> Vec<(String, PathBuf, String)> {
    let is_root = |path: &Path| ["src/lib.rs", "src/main.rs"].iter().any(|root| path == Path::new(root));
    let files = source::files().into_iter().filter(|(path, _)| !is_root(path));
    files.map(|(path, code)| (module_of(&path), path, code)).collect()
}

fn module_of(path: &Path) -> String {
    let name = path.components().nth(1).unwrap().as_os_str().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}
