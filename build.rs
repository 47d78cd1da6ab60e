//! Makes programs smaller where the linker can. In a release build it folds identical functions into one: generic code is made
//! in each crate that uses it, and no function is told from another by its address. It also packs relocations, which are a
//! twentieth of a program. In other builds it compresses the debug sections, which are a third of a program.

use std::{
    env::{self, VarError},
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const FOLD_IDENTICAL: &str = "-Wl,--icf=all";
/// Read by glibc since 2.36, and by musl since 1.2.4. A program that was built on a machine with that glibc needs it elsewhere,
/// too.
const PACK_RELOCATIONS: &str = "-Wl,-z,pack-relative-relocs";
/// With zlib, since backtraces of the standard library can't read zstd.
const COMPRESS_DEBUG: &str = "-Wl,--compress-debug-sections=zlib";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    // "release" is the name of every profile that inherits from it, too, such as `dist`.
    let (arguments, targets): (&[&str], _) = match env::var("PROFILE")?.as_str() {
        "release" => (&[FOLD_IDENTICAL, PACK_RELOCATIONS], "-bins"),
        _ => (&[COMPRESS_DEBUG], ""),
    };
    for argument in arguments {
        if let Some(program) = link_with(argument)?
            && (*argument != PACK_RELOCATIONS || runs_here(&program)?)
        {
            println!("cargo::rustc-link-arg{targets}={argument}");
        }
    }
    Ok(())
}

/// Links a small program with an argument, and returns its path. Returns `None` if the linker doesn't know the argument. LLD and
/// mold know all of them, GNU ld only the last two.
fn link_with(argument: &str) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let (source, program) = (Path::new(&out).join("probe.rs"), Path::new(&out).join("probe"));
    fs::write(&source, "fn main() {}")?;
    let mut rustc = Command::new(env::var("RUSTC")?);
    rustc.arg(&source).arg("-o").arg(&program).args(["--target", &env::var("TARGET")?, "-C"]);
    rustc.arg(format!("link-arg={argument}"));
    match env::var("RUSTC_LINKER") {
        Ok(linker) => rustc.arg("-C").arg(format!("linker={linker}")),
        Err(VarError::NotPresent) => &mut rustc,
        Err(error) => return Err(error.into()),
    };
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    Ok(rustc.output()?.status.success().then_some(program))
}

/// True if a program is for this machine, and runs on it.
fn runs_here(program: &Path) -> Result<bool, Box<dyn Error>> {
    let is_for_this_machine = env::var("HOST")? == env::var("TARGET")?;
    Ok(is_for_this_machine && Command::new(program).status().is_ok_and(|status| status.success()))
}
