//! Decoding of text in the charset declared by its media type.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

/// Decodes text by the `charset` of its media type. Defaults to UTF-8 if the charset is missing or unknown.
pub(super) fn decoded<'b>(bytes: &'b [u8], media_type: &str) -> Cow<'b, str> {
    charset(media_type).unwrap_or(UTF_8).decode(bytes).0
}

/// Returns the charset named by a media type, if it is known.
pub(super) fn charset(media_type: &str) -> Option<&'static Encoding> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| Encoding::for_label(value.trim().trim_matches('"').as_bytes()))?
    })
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn text_is_decoded_by_its_charset() {
        for (media_type, bytes) in [
            ("text/plain", "Köln".as_bytes()),
            ("text/plain; charset=UTF-8", "Köln".as_bytes()),
            ("text/plain; charset=x-unknown", "Köln".as_bytes()),
            ("text/plain; format=flowed; Charset=\"iso-8859-1\"", b"K\xf6ln"),
            ("text/plain;charset=windows-1252", b"K\xf6ln"),
            ("text/plain; charset=utf-16le", b"K\0\xf6\0l\0n\0"),
        ] {
            assert_eq!(decoded(bytes, media_type), "Köln", "{media_type}");
        }
        assert_eq!(decoded(b"K\xf6ln", "text/plain"), "K\u{fffd}ln");
    }
}
