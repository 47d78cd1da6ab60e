//! Uses between the files of a crate: names are followed through imports and re-exports to the file that defines them.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::PathBuf,
};

use super::modules::{Module, ModulePath, Modules};

/// The files that a file uses, each with a name that shows it.
pub(super) type Uses = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Longest path that is resolved: an import of its own name (`use rand::rand`) would grow without end.
const MAX_PATH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
enum Found {
    Module,
    /// An item, and the module that defines it.
    Item(ModulePath),
    /// An item of another crate that is imported or re-exported here.
    Foreign,
}

/// Returns the uses between the files of a crate.
pub(super) fn uses(modules: &Modules) -> Uses {
    let mut uses = Uses::new();
    for (path, module) in &modules.by_path {
        let of_file = uses.entry(module.file.clone()).or_default();
        for mentioned in module.private.iter().chain(&module.mentions) {
            let Some(Found::Item(owner)) = resolve(modules, path, mentioned, &mut HashSet::new()) else { continue };
            let file = &modules.by_path[&owner].file;
            if *file != module.file {
                let name = mentioned.last().cloned().unwrap_or_default();
                let known = of_file.entry(file.clone()).or_insert_with(|| name.clone());
                *known = name.min(known.clone());
            }
        }
    }
    uses
}

/// Returns the paths from `crate`, `self` or `super` whose module or item isn't found: uses that the tests don't see.
pub(super) fn unresolved(modules: &Modules) -> BTreeSet<String> {
    let is_lost = |own: &ModulePath, path: &&ModulePath| {
        is_absolute(path) && resolve(modules, own, path, &mut HashSet::new()).is_none()
    };
    let of_module = |(own, module): (&ModulePath, &Module)| {
        let written = module.imports.values().chain(&module.globs).chain(&module.mentions);
        let lost = written.filter(|path| is_lost(own, path));
        lost.map(|path| format!("{}: {}", module.file.display(), path.join("::"))).collect::<Vec<_>>()
    };
    modules.by_path.iter().flat_map(of_module).collect()
}

/// True if a path starts with `crate`, `self` or `super`.
fn is_absolute(path: &[String]) -> bool {
    ["crate", "self", "super"].contains(&path[0].as_str())
}

/// Returns an absolute path from the root of the crate.
fn from_root(own: &ModulePath, path: &[String]) -> ModulePath {
    let (mut base, mut rest) = match path[0].as_str() {
        "crate" => (ModulePath::new(), &path[1..]),
        "self" => (own.clone(), &path[1..]),
        _ => (own.clone(), path),
    };
    while rest.first().is_some_and(|name| name == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    base
}

/// Finds the item or module that a path in a module names. Returns `None` for names that this crate doesn't have, such as
/// local variables, names of the prelude, and other crates.
fn resolve(
    modules: &Modules,
    own: &ModulePath,
    path: &[String],
    visited: &mut HashSet<(ModulePath, ModulePath)>,
) -> Option<Found> {
    let (mut at, mut rest) = match is_absolute(path) {
        true => (ModulePath::new(), from_root(own, path)),
        false => (own.clone(), path.to_vec()),
    };
    if rest.len() > MAX_PATH || !visited.insert((at.clone(), rest.clone())) {
        return None;
    }
    while let Some(name) = rest.first() {
        let module = modules.by_path.get(&at)?;
        if rest.len() == 1 && module.definitions.contains(name) {
            return Some(Found::Item(at));
        }
        // A function may have the name of the module that it is in.
        let import = module.imports.get(name).filter(|_| rest.len() == 1 || !module.children.contains(name));
        if let Some(import) = import {
            let target = [import.as_slice(), &rest[1..]].concat();
            let found = resolve(modules, &at, &target, visited);
            return found.or((!is_absolute(import)).then_some(Found::Foreign));
        }
        if module.children.contains(name) {
            at.push(rest.remove(0));
            continue;
        }
        // An associated item, such as a variant, belongs to the item in front of it.
        if module.definitions.contains(name) {
            return Some(Found::Item(at));
        }
        return resolve_elsewhere(modules, &at, &rest, visited);
    }
    modules.by_path.contains_key(&at).then_some(Found::Module)
}

/// Finds a path in the modules whose names are all imported, or an item that a macro makes.
fn resolve_elsewhere(
    modules: &Modules,
    at: &ModulePath,
    rest: &[String],
    visited: &mut HashSet<(ModulePath, ModulePath)>,
) -> Option<Found> {
    let globs = &modules.by_path[at].globs;
    let found = globs.iter().find_map(|glob| resolve(modules, at, &[glob.as_slice(), rest].concat(), visited));
    let is_any_foreign = globs.iter().any(|glob| !is_absolute(glob));
    let is_made = modules.by_path[at].in_macros.contains(&rest[0]);
    found.or(is_made.then(|| Found::Item(at.clone()))).or(is_any_foreign.then_some(Found::Foreign))
}
