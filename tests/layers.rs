//! The layers of packages and modules: packages depend on lower packages, modules use modules of lower layers,
//! a foreign crate is named only where it is hidden, and no two files of a package use each other. A feature is decided on in
//! few places.

mod crates;
mod cycles;
mod modules;
pub(crate) mod source;
mod uses;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use self::source::{Package, code};

/// The packages and which of them each may depend on; Cargo sees that nothing else is used.
const PACKAGES: [(&str, &[&str]); 13] = [
    ("agentdex-td", &[]),
    ("agentdex-etcd", &[]),
    ("agentdex-fetch", &[]),
    ("agentdex-api", &["td"]),
    ("agentdex-convert", &["td"]),
    ("agentdex-sacp", &["api", "td"]),
    ("agentdex-guardian", &["api", "convert", "sacp", "td"]),
    ("agentdex-client", &["api", "td"]),
    ("agentdex-consumer", &["client", "convert", "fetch", "sacp", "td"]),
    ("agentdex", &["api", "consumer", "convert", "etcd", "fetch", "guardian", "sacp", "td"]),
    ("agentdex-server", &["", "api", "convert"]),
    ("agentdex-cli", &["", "client", "consumer", "server"]),
    ("agentdex-fuzz", &["", "server"]),
];

/// The modules of packages that have layers inside, the lowest first. None uses another of its layer.
const LAYERS: [(&str, &[&[&str]]); 2] = [
    ("agentdex", &[&["error", "numbered"], &["search", "store"], &["registry"]]),
    ("agentdex-server", &[&["tls"], &["mcp", "mqtt", "otlp"], &["a2a"], &["http"]]),
];

/// Names that lib.rs of the library re-exports at its root, and the modules they come from.
const REEXPORTS: [(&str, &str); 2] = [("Registry", "registry"), ("Builder", "registry")];

/// Foreign crates (or the start of their names) and the packages or modules that may name them.
const CRATES: [(&str, &[&str]); 44] = [
    ("actix", &["agentdex-server::http"]),
    ("utoipa", &["agentdex-api", "agentdex-server::http", "agentdex-td"]),
    ("multer", &["agentdex-server::http"]),
    ("hashbrown", &["agentdex::numbered"]),
    ("sled", &["agentdex::store"]),
    ("tantivy", &["agentdex::search"]),
    ("serde_json_path", &["agentdex::search"]),
    ("json_ld::", &["agentdex-td"]),
    ("oxrdf", &["agentdex::search"]),
    ("oxttl", &["agentdex::search"]),
    ("oxjsonld", &["agentdex::search"]),
    ("spargebra", &["agentdex::search"]),
    ("spareval", &["agentdex::search"]),
    ("sparesults", &["agentdex::search"]),
    ("ndarray", &["agentdex::search"]),
    ("safetensors", &["agentdex::search"]),
    ("simsimd", &["agentdex::search"]),
    ("icu_normalizer", &["agentdex::search"]),
    ("mqtt_protocol_core", &["agentdex-server::mqtt"]),
    ("rumqttc", &["agentdex-server::mqtt", "agentdex-consumer"]),
    ("rmcp", &["agentdex-server::mcp", "agentdex-consumer"]),
    ("tokio_tungstenite", &["agentdex-consumer"]),
    ("reqwest", &["agentdex-fetch", "agentdex-client", "agentdex-consumer", "agentdex-server::otlp"]),
    (
        "ring",
        &[
            "agentdex-server::mqtt",
            "agentdex-fetch",
            "agentdex-convert::signature",
            "agentdex-api",
            "agentdex-client",
            "agentdex-consumer",
            "agentdex-guardian",
            "agentdex::registry",
            "agentdex::search",
            "agentdex::store",
            "agentdex-server::tls",
        ],
    ),
    ("serde_json_canonicalizer", &["agentdex-convert::signature"]),
    ("flate2", &["agentdex-fetch", "agentdex::registry", "agentdex-server::http"]),
    (
        "rustls",
        &[
            "agentdex-server::mqtt",
            "agentdex-fetch",
            "agentdex-client",
            "agentdex-consumer",
            "agentdex-server::otlp",
            "agentdex-server::tls",
        ],
    ),
    ("tokio_rustls", &["agentdex-server::tls"]),
    ("x509_parser", &["agentdex-server::tls"]),
    ("unicode_normalization", &["agentdex::search"]),
    ("unicode_security", &["agentdex::registry"]),
    ("jsonschema", &["agentdex-td"]),
    ("cel::", &["agentdex-sacp::expression"]),
    ("serde_saphyr", &["agentdex-convert", "agentdex-sacp"]),
    ("json5", &["agentdex-cli::cli"]),
    ("jsonc_parser", &["agentdex-cli::cli"]),
    ("tonic", &["agentdex-etcd"]),
    ("prost", &["agentdex-etcd"]),
    ("toml", &["agentdex-cli::cli", "agentdex-cli::settings"]),
    ("anyhow", &["agentdex-cli::cli", "agentdex-cli::settings"]),
    ("clap", &["agentdex-cli::cli", "agentdex-cli::settings"]),
    ("indicatif", &["agentdex-cli::cli"]),
    ("comfy_table", &["agentdex-cli::cli"]),
    (
        "tokio",
        &[
            "agentdex::store",
            "agentdex::registry",
            "agentdex-server::http",
            "agentdex-server::mqtt",
            "agentdex-client",
            "agentdex-consumer",
            "agentdex-etcd",
            "agentdex-fetch",
            "agentdex-server::otlp",
            "agentdex-server::tls",
            "agentdex-cli::cli",
        ],
    ),
];

/// The maximum number of lines of the packages that are compiled for some features only. Where others use a module of a
/// feature, a file `no_…` beside it has the same names (`cfg_attr(.., path = ..)`), so that they need not ask.
const MOST_CONDITIONS: usize = 54;

#[test]
fn packages_depend_on_lower_packages_only() {
    let all = || source::packages().into_iter().chain([source::package(crates::repository().join("fuzz"))]);
    let unknown: Vec<_> = all().map(|package| package.name).filter(|name| allowed(name).is_none()).collect();
    assert!(unknown.is_empty(), "packages without a line in PACKAGES: {unknown:?}");
    for Package { name, folder, .. } in all() {
        let manifest = source::manifest(&folder);
        let dependencies = manifest["dependencies"].as_table().unwrap().keys();
        let own = dependencies.filter_map(|name| name.strip_prefix("agentdex")).map(|end| end.trim_start_matches('-'));
        let forbidden: Vec<_> = own.filter(|own| !allowed(&name).unwrap().contains(own)).collect();
        assert!(forbidden.is_empty(), "{name} depends on {forbidden:?}");
    }
}

fn allowed(package: &str) -> Option<&'static [&'static str]> {
    PACKAGES.iter().find(|(name, _)| *name == package).map(|(_, allowed)| *allowed)
}

#[test]
fn modules_use_lower_layers_only() {
    let breaches: Vec<String> = source::packages().iter().flat_map(layer_breaches_of).collect();
    assert!(breaches.is_empty(), "against the layers:\n{}", breaches.join("\n"));
}

#[test]
fn crates_are_named_in_their_modules_only() {
    let breaches: Vec<String> = source::packages().iter().flat_map(crate_breaches_of).collect();
    assert!(breaches.is_empty(), "named outside of their modules:\n{}", breaches.join("\n"));
}

#[test]
fn features_are_decided_on_in_few_places() {
    let lines: Vec<String> = source::packages().iter().flat_map(conditions_of).collect();
    assert!(lines.len() <= MOST_CONDITIONS, "{} lines ask for features:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    for (name, layers) in LAYERS {
        let package = source::packages().into_iter().find(|package| package.name == name).unwrap();
        let modules = package.files.iter().map(|(path, _)| module_of(path));
        let unknown: BTreeSet<String> =
            modules.filter(|module| module != "lib" && layer_of(layers, module).is_none()).collect();
        assert!(unknown.is_empty(), "{name}: modules without a layer: {unknown:?}");
    }
}

#[test]
fn breaches_are_found() {
    let path = Path::new("src/store/keys.rs");
    let layers = LAYERS[0].1;
    let breaches = |text: &str| layer_breaches(layers, path, &code(text)).len();
    assert_eq!(breaches("use crate::{Result, change::Seq, registry::{self, Thing}, error};"), 1);
    assert_eq!(breaches("fn f(r: &crate::Registry) {}"), 1);
    assert_eq!(breaches("use crate::search::Index; // crate::registry\nconst T: &str = \"crate::registry\";"), 1);
    assert_eq!(breaches("use super::super::registry::open;\nuse super::committer;"), 1);
    assert_eq!(breaches("use crate::error::Error;"), 0);
    let foreign = |package: &str, text: &str| crate_breaches(package, path, &code(text)).len();
    assert_eq!(foreign("agentdex", "use tantivy::Index;\nuse sled::Db;"), 1);
    assert_eq!(foreign("agentdex-td", "#[actix_web::main]\nasync fn main() {}"), 1);
    let source = "#[cfg(feature = \"fetch\")]\n#[cfg(all(unix, feature = \"fetch\"))]\n#[cfg(test)]\n\
                  #[cfg_attr(not(feature = \"fetch\"), path = \"no.rs\")]\nlet is = cfg!(feature = \"fetch\");";
    assert_eq!(code(source).lines().filter(|line| is_condition(line)).count(), 3);
}

fn conditions_of(package: &Package) -> Vec<String> {
    let of = |(path, code): &(PathBuf, String)| {
        let lines = code.lines().filter(|line| is_condition(line));
        lines.map(|line| format!("{}, {}: {}", package.name, path.display(), line.trim())).collect::<Vec<_>>()
    };
    package.files.iter().flat_map(of).collect()
}

fn is_condition(line: &str) -> bool {
    line.contains("feature") && (line.contains("cfg(") || line.contains("cfg!("))
}

fn layer_of(layers: &[&[&str]], module: &str) -> Option<usize> {
    layers.iter().position(|layer| layer.contains(&module))
}

fn layer_breaches_of(package: &Package) -> Vec<String> {
    let Some((_, layers)) = LAYERS.iter().find(|(name, _)| *name == package.name) else { return Vec::new() };
    let inner = package.files.iter().filter(|(path, _)| module_of(path) != "lib");
    inner.flat_map(|(path, code)| layer_breaches(layers, path, code)).collect()
}

fn layer_breaches(layers: &[&[&str]], path: &Path, code: &str) -> Vec<String> {
    let module = module_of(path);
    let Some(own) = layer_of(layers, &module) else { return Vec::new() };
    let forbidden = |used: &str| layer_of(layers, used).is_some_and(|layer| used != module && layer >= own);
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

fn crate_breaches_of(package: &Package) -> Vec<String> {
    package.files.iter().flat_map(|(path, code)| crate_breaches(&package.name, path, code)).collect()
}

fn crate_breaches(package: &str, path: &Path, code: &str) -> Vec<String> {
    let named = |name: &str| {
        code.match_indices(name).any(|(index, _)| {
            let before = code[..index].chars().next_back();
            let starts = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'));
            let rest = code[index..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            starts && rest.starts_with("::")
        })
    };
    let module = format!("{package}::{}", module_of(path));
    let may = |places: &[&str]| places.contains(&package) || places.contains(&module.as_str());
    let foreign = CRATES.iter().filter(|(name, places)| !may(places) && named(name));
    foreign.map(|(name, places)| format!("{module}, {}: {name} belongs to {places:?}", path.display())).collect()
}

fn module_of(path: &Path) -> String {
    let name = path.components().nth(1).unwrap().as_os_str().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}
