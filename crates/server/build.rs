//! The files that are served compressed with gzip: the OpenAPI document, and Swagger UI.

use std::{
    env, fs,
    io::{self, Cursor, Read, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{CompressionMethod, ZipArchive, read::ZipFile};

type Error = Box<dyn std::error::Error>;

const DOCUMENT: &str = "openapi/agentdex.json";
/// Those of Swagger UI that a page loads.
const FILES: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={DOCUMENT}");
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("agentdex.json.gz"), gzip(&fs::read(DOCUMENT)?)?)?;
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for file in FILES {
        let is_it = |path: &str| path.split_once('/').is_some_and(|(_, path)| path.strip_prefix("dist/") == Some(file));
        let name = archive.file_names().filter_map(Result::ok).find(|path| is_it(path)).map(|path| path.into_owned());
        let index = name.and_then(|name| archive.index_for_name(&name)).ok_or_else(|| format!("no {file}"))?;
        let gzipped = gzipped(archive.by_index_raw(index)?)?;
        fs::write(Path::new(&out).join(format!("{file}.gz")), gzipped)?;
    }
    Ok(())
}

/// A file of the archive as a member of gzip (RFC 1952): what is compressed there stays as it is.
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
