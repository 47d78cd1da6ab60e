//! Lets the linker fold identical functions of a release build into one, where it can: generic code is made in each crate
//! that uses it. No function is told from another by its address.

use std::{
    env::{self, VarError},
    error::Error,
    fs,
    path::Path,
    process::Command,
};

const FOLD_IDENTICAL: &str = "-Wl,--icf=all";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    // Of every profile that inherits from it, such as `dist`.
    if env::var("PROFILE")? == "release" && is_known_to_linker(FOLD_IDENTICAL)? {
        println!("cargo::rustc-link-arg-bins={FOLD_IDENTICAL}");
    }
    Ok(())
}

/// True if a program links with this argument. LLD and mold know it, GNU ld doesn't.
fn is_known_to_linker(argument: &str) -> Result<bool, Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let source = Path::new(&out).join("probe.rs");
    fs::write(&source, "fn main() {}")?;
    let mut rustc = Command::new(env::var("RUSTC")?);
    rustc.arg(&source).args(["--out-dir", &out, "--target", &env::var("TARGET")?, "-C"]);
    rustc.arg(format!("link-arg={argument}"));
    match env::var("RUSTC_LINKER") {
        Ok(linker) => rustc.arg("-C").arg(format!("linker={linker}")),
        Err(VarError::NotPresent) => &mut rustc,
        Err(error) => return Err(error.into()),
    };
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    Ok(rustc.output()?.status.success())
}
