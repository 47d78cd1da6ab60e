//! The contents of packages: all files that it compiles in, its licences and its README.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use crate::layers::source::packages;

/// Paths inside a package, as `cargo package` would ship them.
fn shipped(name: &str) -> BTreeSet<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("paths in UTF-8").lines().map(PathBuf::from).collect()
}

/// Paths that a source file compiles in, as written.
fn compiled_in(source: &str) -> impl Iterator<Item = &str> {
    ["include_str!(\"", "include_bytes!(\""]
        .into_iter()
        .flat_map(|start| source.split(start).skip(1).filter_map(|rest| rest.split_once('"')).map(|(path, _)| path))
}

/// The path of `included` from the folder of the package, without `..`.
fn inside(file: &Path, included: &str) -> PathBuf {
    let mut path = file.parent().expect("a file lies in a folder").to_owned();
    for part in Path::new(included) {
        if part == ".." {
            assert!(path.pop(), "{} compiles in {included}, outside of its package", file.display());
        } else {
            path.push(part);
        }
    }
    path
}

#[test]
fn package_ships_what_it_compiles_in_and_its_licences() {
    let mut compiled = 0;
    for package in packages() {
        let shipped = shipped(&package.name);
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
            assert!(shipped.contains(Path::new(name)), "{} lacks {name}", package.name);
        }
        for (file, _) in &package.files {
            assert!(shipped.contains(file), "{} lacks {}", package.name, file.display());
            let source = std::fs::read_to_string(package.folder.join(file)).expect("a source file");
            for included in compiled_in(&source) {
                let path = inside(file, included);
                assert!(shipped.contains(&path), "{} lacks {}", package.name, path.display());
                compiled += 1;
            }
        }
    }
    assert!(compiled > 40, "only {compiled} files are compiled in: are they found?");
}

#[test]
fn packages_ship_the_notice_of_others_work_in_them() {
    for name in ["agentdex", "agentdex-server"] {
        assert!(shipped(name).contains(Path::new("NOTICE")), "{name}");
    }
}

/// The documentation is rendered when the server is compiled.
#[test]
fn package_of_the_server_ships_the_documentation() {
    let shipped = shipped("agentdex-server");
    for name in crate::docs::chapters() {
        assert!(shipped.contains(&Path::new("guide").join(&name)), "{name}");
    }
    for name in ["build/main.rs", "build/guide.html", "guide/SECURITY.md", "guide/docs/images/find-dark.png"] {
        assert!(shipped.contains(Path::new(name)), "{name}");
    }
}
