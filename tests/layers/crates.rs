//! The crates that Cargo compiles: libraries, programs, tests, benchmarks, examples, build scripts and fuzz targets.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A crate of the workspace. Its files are those that `mod` declarations reach from the root.
#[derive(Debug, Clone)]
pub(super) struct Crate {
    /// Name of the package.
    pub package: String,
    /// Path of the root file from the top of the repository, such as `src/main.rs`.
    pub root: PathBuf,
}

/// Every crate of every package, as Cargo lists them.
pub(super) fn crates() -> Vec<Crate> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().iter().flat_map(crates_of).collect()
}

fn crates_of(package: &Value) -> Vec<Crate> {
    let root = |target: &Value| {
        let path = Path::new(target["src_path"].as_str().unwrap());
        path.strip_prefix(repository()).unwrap().to_owned()
    };
    let package_name = package["name"].as_str().unwrap();
    let targets = package["targets"].as_array().unwrap().iter();
    targets.map(|target| Crate { package: package_name.to_owned(), root: root(target) }).collect()
}

/// The top of the repository.
pub(super) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
