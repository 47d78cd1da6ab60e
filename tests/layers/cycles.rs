//! No file uses items of a file that uses its own, directly or through others.
//!
//! A file that declares a module and re-exports its items doesn't use it by that; one whose own code names them
//! does.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

use super::{
    source::{self, code},
    uses::{Uses, uses},
};

#[test]
fn files_use_each_other_in_one_direction() {
    for package in source::packages() {
        let cycles = cycles(&uses(&package.files));
        assert!(cycles.is_empty(), "{}: {} import cycles:\n{}", package.name, cycles.len(), cycles.join("\n"));
    }
}

fn without(uses: &Uses, known: &[(&str, &str)]) -> Uses {
    let mut uses = uses.clone();
    for (file, used) in known {
        if let Some(uses) = uses.get_mut(Path::new(file)) {
            uses.remove(Path::new(used));
        }
    }
    uses
}

fn closes_cycle(uses: &Uses, file: &str, used: &str) -> bool {
    let is_used = uses.get(Path::new(file)).is_some_and(|uses| uses.contains_key(Path::new(used)));
    is_used && way(uses, Path::new(used), Path::new(file)).is_some()
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

fn library(files: &[(&str, &str)]) -> Uses {
    let files: Vec<_> = files.iter().map(|(path, text)| (PathBuf::from(path), code(text))).collect();
    uses(&files)
}

#[test]
fn cycles_are_found() {
    let direct = library(&[
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod b; mod c; pub use self::{b::B, c::C};"),
        ("src/a/b.rs", "use super::c::C; pub struct B(C);"),
        ("src/a/c.rs", "pub struct C; impl C { fn b(&self) -> Option<super::B> { None } }"),
    ]);
    assert_eq!(cycles(&direct), ["src/a/c.rs uses B of src/a/b.rs\n    src/a/b.rs uses C of src/a/c.rs"]);
    assert!(closes_cycle(&direct, "src/a/b.rs", "src/a/c.rs"));
    assert!(cycles(&without(&direct, &[("src/a/c.rs", "src/a/b.rs")])).is_empty());

    let through_parent = library(&[
        ("src/lib.rs", "mod a;"),
        ("src/a.rs", "mod b; use b::B; struct A(B); pub(crate) const LIMIT: usize = 1;"),
        ("src/a/b.rs", "use super::{LIMIT, super::std}; pub struct B([u8; LIMIT]);"),
    ]);
    assert_eq!(cycles(&through_parent), ["src/a.rs uses B of src/a/b.rs\n    src/a/b.rs uses LIMIT of src/a.rs"]);

    let through_others = library(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::{b::{self, X as Y}}; fn a(y: Y) { b::b() }"),
        ("src/b.rs", "use crate::c; pub struct X; pub fn b() { c::c(|| 'a') }"),
        ("src/c.rs", "pub fn c() { crate::a::a() }"),
    ]);
    assert_eq!(cycles(&through_others).len(), 1);
}

#[test]
fn what_is_no_cycle_is_not_found() {
    let none = library(&[
        ("src/lib.rs", "pub mod a; mod other; pub type Result<T> = T; pub use a::A;"),
        // It declares and re-exports, and children use what it imports from elsewhere.
        ("src/a/mod.rs", "mod b; mod c; pub use self::{b::B, c::C}; use crate::other::Other; pub struct A(Other);"),
        ("src/a/b.rs", "use super::{A, Other}; pub struct B(A, Other, crate::Result<u8>); // super::C"),
        (
            "src/a/c.rs",
            "pub struct C(super::B); const T: &str = \"super::d\"; #[cfg(test)] mod tests { use super::super::d::D; }",
        ),
        ("src/a/d.rs", "pub struct D(super::c::C);"),
        ("src/other.rs", "pub struct Other; impl Other { fn b<'a>(&'a self) {} }"),
    ]);
    assert_eq!(cycles(&none), Vec::<String>::new());
    assert_eq!(none[Path::new("src/a/b.rs")].len(), 2);
}
