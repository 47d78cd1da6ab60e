//! Files that are compiled in compressed.

use std::io::{self, Read};

use actix_web::{
    HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{ACCEPT_ENCODING, AcceptEncoding, CONTENT_ENCODING, ContentEncoding, Encoding, HeaderValue, VARY},
};
use flate2::read::GzDecoder;

use super::problem::Problem;
use crate::Error;

/// A file that is compressed with gzip. Clients that don't accept that get it decompressed.
pub(super) struct Gzipped {
    pub(super) media_type: &'static str,
    pub(super) bytes: &'static [u8],
}

impl Gzipped {
    /// The response with the file.
    pub(super) fn response(&self, request: &HttpRequest) -> Result<HttpResponse, Problem> {
        self.complete(request, HttpResponse::Ok())
    }

    /// A response with the file as its body.
    pub(super) fn complete(
        &self,
        request: &HttpRequest,
        mut response: HttpResponseBuilder,
    ) -> Result<HttpResponse, Problem> {
        // Caches must not give one form to who asks for the other.
        response.content_type(self.media_type).insert_header((VARY, ACCEPT_ENCODING.as_str()));
        if accepts_gzip(request) {
            return Ok(response.insert_header((CONTENT_ENCODING, HeaderValue::from_static("gzip"))).body(self.bytes));
        }
        let mut plain = Vec::new();
        GzDecoder::new(self.bytes).read_to_end(&mut plain).map_err(failed)?;
        Ok(response.body(plain))
    }

    /// The file decompressed, which is a text.
    pub(super) fn text(&self) -> crate::Result<String> {
        let mut plain = String::new();
        GzDecoder::new(self.bytes).read_to_string(&mut plain).map_err(failed)?;
        Ok(plain)
    }
}

fn failed(source: io::Error) -> Error {
    Error::Io { doing: "decompressing an embedded file".to_owned(), source }
}

fn accepts_gzip(request: &HttpRequest) -> bool {
    let offered = [Encoding::gzip(), Encoding::identity()];
    let accepted = request.get_header::<AcceptEncoding>().and_then(|accepted| accepted.negotiate(offered.iter()));
    accepted == Some(Encoding::Known(ContentEncoding::Gzip))
}
