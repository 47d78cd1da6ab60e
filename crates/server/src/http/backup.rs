//! `GET /backup`: all that is stored, as one file.

use std::io::Read;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{CACHE_CONTROL, CONTENT_DISPOSITION},
    },
    web::{Bytes, Data},
};
use futures_util::{Stream, stream};

use super::{blocking::blocking, context::Context, listing::Empty, parameters::Parameters, problem::Problem};
use crate::{
    Error, Result,
    registry::backup::{Backup, MEDIA_TYPE},
};

/// Maximum size of a chunk in bytes. Each is read in full before it is sent.
const CHUNK: usize = 64 * 1024;

/// Take a backup
///
/// Everything stored at this moment, as one file that `agentdex restore` turns into a data directory: descriptions,
/// original documents, expiries, the change log, tracked sources, and saved queries. Writes continue in the meantime.
/// `agentdex restore` refuses incomplete files.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/backup",
    operation_id = "take_backup",
    tag = "about",
    responses(
        (status = 200, description = "The backup file, which ends with a checksum", body = String, content_type = "application/vnd.agentdex.backup"),
        super::schemas::Refusals,
    )
))]
pub(super) async fn take(context: Data<Context>, request: HttpRequest) -> std::result::Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let mut response = HttpResponse::Ok();
    response
        .content_type(MEDIA_TYPE)
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"agentdex.backup\""));
    if request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let registry = context.admin(&request)?;
    let backup = blocking(move || registry.backup()).await?;
    Ok(response.streaming(chunks(backup)))
}

/// The chunks of the file. Each is read on a thread that may block, once it is asked for.
fn chunks(backup: Backup) -> impl Stream<Item = Result<Bytes>> {
    stream::try_unfold(backup, |mut backup| async {
        let read = blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            let reading = |source| Error::Io { doing: "taking a backup".to_owned(), source };
            backup.by_ref().take(CHUNK as u64).read_to_end(&mut chunk).map_err(reading)?;
            Ok((chunk, backup))
        });
        let (chunk, backup) = read.await?;
        Ok((!chunk.is_empty()).then(|| (Bytes::from(chunk), backup)))
    })
}
