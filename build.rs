//! Makes programs smaller where the linker can. In a release build it folds identical functions into one: generic code is made
//! in each crate that uses it, and no function is told from another by its address. In other builds it compresses the debug
//! sections, which are a third of a program.

use std::{
    env::{self, VarError},
    error::Error,
    fs,
    path::Path,
    process::Command,
};

const FOLD_IDENTICAL: &str = "-Wl,--icf=all";
/// With zlib, since backtraces of the standard library can't read zstd.
const COMPRESS_DEBUG: &str = "-Wl,--compress-debug-sections=zlib";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    // "release" is the name of every profile that inherits from it, too, such as `dist`.
    let (argument, targets) = match env::var("PROFILE")?.as_str() {
        "release" => (FOLD_IDENTICAL, "-bins"),
        _ => (COMPRESS_DEBUG, ""),
    };
    if is_known_to_linker(argument)? {
        println!("cargo::rustc-link-arg{targets}={argument}");
    }
    Ok(())
}

/// True if a program links with this argument. LLD and mold know both, GNU ld only the second.
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
