//! Which file uses items that which other file defines: names are followed through imports and re-exports to
//! the file that defines them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
};

use super::source;

/// The path of a module from the root of the crate: `["store", "log"]`.
type ModulePath = Vec<String>;

/// A use of one file by another, with a name that shows it.
pub(super) type Uses = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Imports and re-exports may lead to each other.
const MAX_STEPS: u32 = 32;
/// Words in front of the name of an item.
const ITEMS: [&str; 9] = ["struct", "enum", "trait", "fn", "const", "static", "type", "union", "macro_rules"];

/// A file, read as a module.
struct Module {
    file: PathBuf,
    children: HashSet<String>,
    definitions: HashSet<String>,
    /// What names stand for here, as absolute paths.
    imports: HashMap<String, ModulePath>,
    /// Modules all of whose names are imported.
    globs: Vec<ModulePath>,
    /// Names that are imported for this file, not to be exported again.
    private: Vec<ModulePath>,
    /// Paths in the code itself.
    mentions: HashSet<ModulePath>,
}

#[derive(Debug, PartialEq)]
enum Found {
    Module(ModulePath),
    /// An item, and the module whose file defines it.
    Item(ModulePath),
}

/// The uses between files, without the root of the crate, which only re-exports.
pub(super) fn uses(files: &[(PathBuf, String)]) -> Uses {
    let modules: HashMap<ModulePath, Module> =
        files.iter().map(|(path, code)| (module_path(path), Module::read(path, code))).collect();
    let mut uses = Uses::new();
    for (path, module) in &modules {
        let of_file = uses.entry(module.file.clone()).or_default();
        let local: Vec<ModulePath> = module.private.iter().chain(&module.mentions).cloned().collect();
        for mentioned in local {
            if let Some(Found::Item(owner)) = resolve(&modules, path, &mentioned, MAX_STEPS)
                && owner != *path
                && !owner.is_empty()
                && !path.is_empty()
            {
                let name = mentioned.last().cloned().unwrap_or_default();
                let known = of_file.entry(modules[&owner].file.clone()).or_insert_with(|| name.clone());
                *known = name.min(known.clone());
            }
        }
    }
    uses
}

fn module_path(file: &std::path::Path) -> ModulePath {
    let names: Vec<String> = file.components().skip(1).map(|name| name.as_os_str().to_string_lossy().into()).collect();
    let (last, folders) = names.split_last().unwrap();
    let last = last.trim_end_matches(".rs");
    let is_folder = last == "mod" || (folders.is_empty() && last == "lib");
    folders.iter().cloned().chain((!is_folder).then(|| last.to_owned())).collect()
}

impl Module {
    fn read(file: &std::path::Path, code: &str) -> Module {
        let tokens = source::tokens(code);
        let own = module_path(file);
        let mut module = Module {
            file: file.to_owned(),
            children: HashSet::new(),
            definitions: HashSet::new(),
            imports: HashMap::new(),
            globs: Vec::new(),
            private: Vec::new(),
            mentions: HashSet::new(),
        };
        let (mut index, mut depth) = (0, 0);
        while index < tokens.len() {
            let (token, next) = (tokens[index], tokens.get(index + 1).copied().unwrap_or_default());
            match token {
                "{" => depth += 1,
                "}" => depth -= 1,
                "use" if next != "<" => {
                    let end = index + tokens[index..].iter().position(|token| *token == ";").unwrap();
                    let is_public = index > 0 && ["pub", ")"].contains(&tokens[index - 1]);
                    module.import(&own, &tokens[index + 1..end], is_public);
                    index = end;
                }
                "mod" if depth == 0 => {
                    module.children.insert(next.to_owned());
                    index += 1;
                }
                _ if depth == 0 && ITEMS.contains(&token) => {
                    let name = if token == "macro_rules" { tokens[index + 2] } else { next };
                    module.definitions.insert(name.to_owned());
                }
                _ if is_name(token) && (index == 0 || ![".", "::"].contains(&tokens[index - 1])) => {
                    let mut path = vec![token.to_owned()];
                    while tokens.get(index + 1) == Some(&"::")
                        && tokens.get(index + 2).is_some_and(|name| is_name(name))
                    {
                        path.push(tokens[index + 2].to_owned());
                        index += 2;
                    }
                    // `self` alone is a value.
                    if path.len() > 1 || !["crate", "self", "super"].contains(&token) {
                        module.mentions.insert(path);
                    }
                }
                _ => {}
            }
            index += 1;
        }
        module
    }

    /// Takes in what follows `use`.
    fn import(&mut self, own: &ModulePath, tree: &[&str], is_public: bool) {
        let mut leaves = Vec::new();
        leaves_of(&[], tree, &mut leaves);
        for (path, name) in leaves {
            let Some(path) = absolute(own, &path).or_else(|| self.of_child(own, &path)) else { continue };
            if name == "*" {
                self.globs.push(path);
                continue;
            }
            if !is_public {
                self.private.push([vec!["crate".into()], path.clone()].concat());
            }
            self.imports.insert(name, path);
        }
    }

    /// `use child::Name` without `self::`.
    fn of_child(&self, own: &ModulePath, path: &[String]) -> Option<ModulePath> {
        self.children.contains(&path[0]).then(|| [own.as_slice(), path].concat())
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The leaves of a use tree: their paths and the names that they get.
fn leaves_of(start: &[String], tree: &[&str], leaves: &mut Vec<(ModulePath, String)>) {
    let mut path = start.to_vec();
    let mut index = 0;
    while index < tree.len() {
        match tree[index] {
            "::" => {}
            "{" => {
                for branch in branches(&tree[index + 1..index + source::matching(&tree[index..]) - 1]) {
                    leaves_of(&path, branch, leaves);
                }
                return;
            }
            "as" => return leaves.push((path, tree[index + 1].to_owned())),
            "*" => return leaves.push((path, "*".into())),
            // Of a group: the module itself.
            "self" if !start.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        index += 1;
    }
    if let Some(name) = path.last().cloned() {
        leaves.push((path, name));
    }
}

fn branches<'a, 'b>(group: &'a [&'b str]) -> Vec<&'a [&'b str]> {
    let (mut branches, mut start, mut depth) = (Vec::new(), 0, 0);
    for (index, token) in group.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                branches.push(&group[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    branches.push(&group[start..]);
    branches.into_iter().filter(|branch| !branch.is_empty()).collect()
}

/// A path that starts with `crate`, `self` or `super`, from the root of the crate.
fn absolute(own: &ModulePath, path: &[String]) -> Option<ModulePath> {
    let (mut base, mut rest) = match path[0].as_str() {
        "crate" => (ModulePath::new(), &path[1..]),
        "self" => (own.clone(), &path[1..]),
        "super" => (own.clone(), path),
        _ => return None,
    };
    while rest.first().is_some_and(|name| name == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// What a path in a module names; none where that is outside of this crate.
fn resolve(modules: &HashMap<ModulePath, Module>, own: &ModulePath, path: &[String], steps: u32) -> Option<Found> {
    let (mut at, mut rest) = match absolute(own, path) {
        Some(absolute) => (ModulePath::new(), absolute),
        None => (own.clone(), path.to_vec()),
    };
    let steps = steps.checked_sub(1)?;
    while !rest.is_empty() {
        let module = modules.get(&at)?;
        let name = &rest[0];
        if rest.len() == 1 && module.definitions.contains(name) {
            return Some(Found::Item(at));
        }
        // A function may have the name of the module that it is in.
        let is_import = module.imports.contains_key(name) && (rest.len() == 1 || !module.children.contains(name));
        if is_import {
            let target = [vec!["crate".to_owned()], module.imports[name].clone(), rest[1..].to_vec()].concat();
            return resolve(modules, &at, &target, steps);
        }
        if module.children.contains(name) && modules.contains_key(&[at.as_slice(), &rest[..1]].concat()) {
            at.push(rest.remove(0));
            continue;
        }
        if module.definitions.contains(name) {
            return Some(Found::Item(at));
        }
        let through_globs = module.globs.iter().find_map(|glob| {
            let target = [&["crate".to_owned()], glob.as_slice(), &rest].concat();
            resolve(modules, &at, &target, steps)
        });
        // An associated item, such as a variant, belongs to what it is of; a name of another crate to nobody here.
        return through_globs;
    }
    Some(Found::Module(at))
}
