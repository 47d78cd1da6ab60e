//! No file uses items of a file that uses its own, directly or through others.
//!
//! A file that declares a module and re-exports its items doesn't use it by that; one whose own code names them does.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use super::{
    crates::{Crate, crates, repository},
    modules::{Modules, Paths},
    source,
    uses::{Uses, unresolved, uses},
};

/// A crate with more files than this has at least one use for each of them.
const SMALL: usize = 10;

/// A crate with its modules; two entries if files of modules depend on features.
static CRATES: LazyLock<Vec<(Crate, Modules)>> = LazyLock::new(|| crates().into_iter().flat_map(read).collect());

fn read(root: Crate) -> Vec<(Crate, Modules)> {
    let file = |path: &Path| fs::read_to_string(repository().join(path)).ok();
    let default = Modules::read(&root.root, Paths::Default, &file);
    let alternative = default.has_alternatives.then(|| Modules::read(&root.root, Paths::Conditional, &file));
    [Some(default), alternative].into_iter().flatten().map(|modules| (root.clone(), modules)).collect()
}

#[test]
fn files_use_each_other_in_one_direction() {
    let found: BTreeSet<String> = CRATES.iter().flat_map(|(_, modules)| cycles(&uses(modules))).collect();
    assert!(found.is_empty(), "{} import cycles:\n{}", found.len(), found.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn uses_are_seen_in_every_crate() {
    let mut counted = 0;
    for (Crate { package, root }, modules) in CRATES.iter().filter(|(_, modules)| modules.files().len() > SMALL) {
        let (files, uses) = (modules.files().len(), uses(modules).values().map(BTreeMap::len).sum::<usize>());
        assert!(uses >= files, "{package}: {files} files from {} show {uses} uses: are they resolved?", root.display());
        counted += 1;
    }
    assert!(counted > 10, "only {counted} crates have more than {SMALL} files: are they read?");
}

#[test]
fn paths_inside_a_crate_are_resolved() {
    // With the files for features that are switched off, modules that need these features are read too.
    let default = CRATES.iter().filter(|(_, modules)| modules.paths == Paths::Default);
    let lost: BTreeSet<String> = default.flat_map(|(_, modules)| unresolved(modules)).collect();
    assert!(lost.is_empty(), "{} paths lead nowhere:\n{}", lost.len(), lost.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_source_file_is_read() {
    let missing: Vec<&String> = CRATES.iter().flat_map(|(_, modules)| &modules.missing).collect();
    assert!(missing.is_empty(), "declared without a file: {missing:?}");
    let read: BTreeSet<&Path> = CRATES.iter().flat_map(|(_, modules)| modules.files()).collect();
    let unread: Vec<PathBuf> = source::files().into_iter().filter(|file| !read.contains(file.as_path())).collect();
    assert!(unread.is_empty(), "in no crate: {unread:?}");
}

/// The shortest way from a file to another over what files use.
fn way(uses: &Uses, from: &Path, to: &Path) -> Option<Vec<PathBuf>> {
    let mut before: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(file) = waiting.pop_front() {
        if file == to {
            let mut way = vec![to.to_owned()];
            while way.last().unwrap() != from {
                way.push(before[way.last().unwrap().as_path()].to_owned());
            }
            way.reverse();
            return Some(way);
        }
        for used in uses.get(file).into_iter().flat_map(|used| used.keys()) {
            if used != from && !before.contains_key(used.as_path()) {
                before.insert(used, file);
                waiting.push_back(used);
            }
        }
    }
    None
}

/// One shortest cycle for each use that closes one, without repeats.
fn cycles(uses: &Uses) -> Vec<String> {
    let mut found = BTreeMap::new();
    for (file, used) in uses.iter().flat_map(|(file, used)| used.keys().map(move |used| (file, used))) {
        if let Some(way) = way(uses, used, file) {
            let members: BTreeSet<PathBuf> = way.iter().cloned().collect();
            found.entry(members).or_insert(way);
        }
    }
    let mut cycles: Vec<Vec<PathBuf>> = found.into_values().collect();
    cycles.sort_by_key(|way| way.len());
    let describe = |way: &Vec<PathBuf>| {
        let next = way.iter().skip(1).chain(way.first());
        let steps = way
            .iter()
            .zip(next)
            .map(|(file, used)| format!("{} uses {} of {}", file.display(), uses[file][used], used.display()));
        steps.collect::<Vec<_>>().join("\n    ")
    };
    cycles.iter().map(describe).collect()
}

/// Returns the modules of a crate with these files, its root first.
fn modules(paths: Paths, files: &[(&str, &str)]) -> Modules {
    let root = files[0].0;
    let files: HashMap<&Path, &str> = files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
    Modules::read(Path::new(root), paths, &|path| files.get(path).map(|text| (*text).to_owned()))
}

fn uses_of(files: &[(&str, &str)]) -> Uses {
    let modules = modules(Paths::Default, files);
    assert_eq!((&modules.missing, unresolved(&modules)), (&Vec::new(), BTreeSet::new()));
    uses(&modules)
}

#[test]
fn cycles_are_found() {
    let direct = uses_of(&[
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod b; mod c; pub use self::{b::B, c::C};"),
        ("src/a/b.rs", "use super::c::C; pub struct B(C);"),
        ("src/a/c.rs", "pub struct C; impl C { fn b(&self) -> Option<super::B> { None } }"),
    ]);
    assert_eq!(cycles(&direct), ["src/a/c.rs uses B of src/a/b.rs\n    src/a/b.rs uses C of src/a/c.rs"]);

    let through_parent = uses_of(&[
        ("src/lib.rs", "mod a; pub type Result<T> = Option<T>;"),
        ("src/a.rs", "mod b; use b::B; struct A(B); pub(crate) const LIMIT: usize = 1;"),
        ("src/a/b.rs", "use super::{LIMIT, super::Result}; pub struct B(Result<[u8; LIMIT]>);"),
    ]);
    assert_eq!(cycles(&through_parent), ["src/a.rs uses B of src/a/b.rs\n    src/a/b.rs uses LIMIT of src/a.rs"]);

    let through_others = uses_of(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::{b::{self, X as Y}}; fn a(y: Y) { b::b() }"),
        ("src/b.rs", "use crate::c; pub struct X; pub fn b() { c::c(|| 'a') }"),
        ("src/c.rs", "pub fn c() { crate::a::a() }"),
    ]);
    assert_eq!(cycles(&through_others).len(), 1);
}

#[test]
fn what_is_no_cycle_is_not_found() {
    let none = uses_of(&[
        ("src/lib.rs", "pub mod a; mod other; pub type Result<T> = T; pub use a::A;"),
        // It declares and re-exports, and children use what it imports from elsewhere.
        (
            "src/a/mod.rs",
            "mod b; mod c; mod d; pub use self::{b::B, c::C}; use crate::other::Other; pub struct A(Other);",
        ),
        ("src/a/b.rs", "use super::{A, Other}; pub struct B(A, Other, crate::Result<u8>); // super::C"),
        (
            "src/a/c.rs",
            "pub struct C(super::B); const T: &str = \"super::d\"; #[cfg(test)] mod tests { use super::super::d::D; }",
        ),
        ("src/a/d.rs", "pub struct D(super::c::C);"),
        ("src/other.rs", "pub struct Other; impl Other { fn b<'a>(&'a self) {} }"),
    ]);
    assert_eq!(cycles(&none), Vec::<String>::new());
    assert_eq!(none[Path::new("src/a/b.rs")].len(), 3);
}

#[test]
fn cycles_are_found_from_every_kind_of_root() {
    let (output, remote) = (
        "use super::remote::explain; pub fn causes() { explain() }",
        "use crate::cli::output::causes; pub fn explain() { causes() }",
    );
    for root in ["src/main.rs", "src/bin/tool/main.rs", "lib/agents.rs", "tests/main.rs", "benches/http.rs"] {
        let folder = Path::new(root).parent().unwrap();
        let file = |name: &str| folder.join(name).display().to_string();
        let (cli, a, b) = (file("cli.rs"), file("cli/output.rs"), file("cli/remote.rs"));
        let files = [(root, "mod cli;"), (&cli, "mod output; mod remote;"), (&a, output), (&b, remote)];
        assert_eq!(cycles(&uses_of(&files)).len(), 1, "{root}");
    }
}

#[test]
fn cycles_are_found_through_roots_blocks_macros_and_attributes() {
    for (root, other) in [
        ("mod a; pub struct Root(a::A);", "pub struct A(Option<Box<crate::Root>>);"),
        ("mod a; pub mod inner { pub struct B(crate::a::A); }", "pub struct A(Box<super::inner::B>);"),
        ("mod a; thread_local! { static X: a::A = a::A; }", "pub struct A; fn a() { crate::X.take() }"),
        (
            "mod a; fn is_no(_: &a::A) -> bool { true }",
            "#[serde(skip_serializing_if = \"super::is_no\")] pub struct A;",
        ),
        (
            "mod a; use a::A; enum Kind { One(A) }",
            "use super::Kind::{self, *}; pub struct A; fn a() -> Kind { One(A) }",
        ),
        ("#[path = \"a.rs\"] mod b; pub struct Root(b::A);", "#[cfg(any(test, unix))] pub struct A(Box<super::Root>);"),
    ] {
        let files = [("src/lib.rs", root), ("src/a.rs", other)];
        assert_eq!(cycles(&uses_of(&files)).len(), 1, "{root}");
    }
}

#[test]
fn files_of_features_are_read_in_place_of_each_other() {
    let files = [
        ("src/lib.rs", "#[cfg_attr(not(feature = \"yaml\"), path = \"no_yaml.rs\")] mod yaml; mod limits;"),
        ("src/yaml.rs", "pub struct Yaml;"),
        ("src/no_yaml.rs", "pub struct Yaml(crate::limits::Limit);"),
        ("src/limits.rs", "pub struct Limit(Option<Box<super::yaml::Yaml>>);"),
    ];
    let found = |paths| cycles(&uses(&modules(paths, &files))).len();
    assert!(modules(Paths::Default, &files).has_alternatives);
    assert_eq!((found(Paths::Default), found(Paths::Conditional)), (0, 1));
}

#[test]
fn lost_paths_and_files_are_found() {
    let files = [
        ("src/lib.rs", "mod a; mod none; use a::A;"),
        ("src/a.rs", "use super::{A, B}; use crate::other::C; pub struct A(super::Arc, Vec<super::a::A>);"),
    ];
    let modules = modules(Paths::Default, &files);
    assert_eq!(modules.missing, ["src/lib.rs: mod none"]);
    let lost: Vec<String> = unresolved(&modules).into_iter().collect();
    assert_eq!(lost, ["src/a.rs: crate::other::C", "src/a.rs: super::Arc", "src/a.rs: super::B"]);
}
