//! The files that are served compressed with gzip: the OpenAPI document, Swagger UI, the web page, and the documentation.

mod asset;
mod guide;
mod markdown;

use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Cursor, Read, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{CompressionMethod, ZipArchive, read::ZipFile};

use self::asset::{Asset, Error};

const DOCUMENT: &str = "openapi/agentdex.json";
/// Files of Swagger UI that its page loads.
const SWAGGER_FILES: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];
/// Folder with the files of the web page.
const PAGE: &str = "src/http/page";
/// Placeholder of the version of the page's files, in addresses.
const VERSION: &str = "page/{version}/";

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={DOCUMENT}");
    println!("cargo::rerun-if-changed={PAGE}");
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    fs::write(out.join("agentdex.json.gz"), gzip(&fs::read(DOCUMENT)?)?)?;
    write_swagger(out)?;
    let (page, guide) = (page()?, guide::assets()?);
    let mut hasher = DefaultHasher::new();
    for Asset { path, content, .. } in page.iter().chain(&guide) {
        (path, content).hash(&mut hasher);
    }
    let version = format!("{:016x}", hasher.finish());
    println!("cargo::rustc-env=AGENTDEX_ASSETS={version}");
    write_table(out, "page", page, &version)?;
    write_table(out, "guide", guide, &version)
}

/// Writes the files of Swagger UI, compressed.
fn write_swagger(out: &Path) -> Result<(), Error> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for file in SWAGGER_FILES {
        let is_it = |path: &str| path.split_once('/').is_some_and(|(_, path)| path.strip_prefix("dist/") == Some(file));
        let name = archive.file_names().filter_map(Result::ok).find(|path| is_it(path)).map(|path| path.into_owned());
        let index = name.and_then(|name| archive.index_for_name(&name)).ok_or_else(|| format!("no {file}"))?;
        let gzipped = gzipped(archive.by_index_raw(index)?)?;
        fs::write(out.join(format!("{file}.gz")), gzipped)?;
    }
    Ok(())
}

/// Returns the files of the web page, sorted by name.
fn page() -> Result<Vec<Asset>, Error> {
    let mut assets = Vec::new();
    for entry in fs::read_dir(PAGE)? {
        let path = entry?.path();
        if path.extension() != Some(OsStr::new("rs")) {
            let name = path.file_name().and_then(OsStr::to_str).ok_or("a file name that is not UTF-8")?;
            assets.push(Asset::read(name.to_owned(), &path)?);
        }
    }
    assets.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(assets)
}

/// Writes files, compressed, and beside them a table of them: an expression of the type `&[(&str, Gzipped)]`.
fn write_table(out: &Path, name: &str, assets: Vec<Asset>, version: &str) -> Result<(), Error> {
    let folder = out.join(name);
    fs::create_dir_all(&folder)?;
    let mut table = "&[\n".to_owned();
    for (number, Asset { path, media_type, content }) in assets.into_iter().enumerate() {
        let content = match String::from_utf8(content) {
            Ok(text) if media_type.starts_with("text/html") => {
                text.replace(VERSION, &format!("page/{version}/")).into_bytes()
            }
            Ok(text) => text.into_bytes(),
            Err(error) => error.into_bytes(),
        };
        fs::write(folder.join(format!("{number}.gz")), gzip(&content)?)?;
        let bytes = format!("include_bytes!({:?})", format!("{name}/{number}.gz"));
        writeln!(table, "({path:?}, Gzipped {{ media_type: {media_type:?}, bytes: {bytes} }}),")?;
    }
    table.push(']');
    fs::write(out.join(format!("{name}.rs")), table)?;
    Ok(())
}

/// Returns a file of the archive as a member of gzip (RFC 1952), without compressing it again.
fn gzipped(mut file: ZipFile<'_, Cursor<&[u8]>>) -> Result<Vec<u8>, Error> {
    let (method, crc, size) = (file.compression(), file.crc32(), u32::try_from(file.size())?);
    let mut stored = Vec::new();
    file.read_to_end(&mut stored)?;
    match method {
        CompressionMethod::Stored => Ok(gzip(&stored)?),
        CompressionMethod::DEFLATE => {
            let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
            Ok([&header, &*stored, &crc.to_le_bytes(), &size.to_le_bytes()].concat())
        }
        method => Err(format!("{method} is not deflate").into()),
    }
}

fn gzip(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain)?;
    encoder.finish()
}
