//! URLs in one spelling, to be compared: `http://127.1:80/a/../%62` is `http://127.0.0.1/b`.

use reqwest::Url;

/// True if two URLs lead to the same place. Case of scheme and host, spellings of an IPv4 address, default ports,
/// dot segments, needless percent-encoding (RFC 3986 §6.2.2, §6.2.3), a dot at the end of the host and fragments
/// make no difference. Texts that aren't URLs are the same if they are equal.
pub fn is_same_url(one: &str, other: &str) -> bool {
    one == other || canonical(one).is_some_and(|one| canonical(other) == Some(one))
}

/// The canonical spelling of a URL, for lookups: it is the same for all URLs that [`is_same_url`] considers the same.
/// A text that is not a URL is returned unchanged.
pub fn canonical_url(url: &str) -> String {
    canonical(url).unwrap_or_else(|| url.to_owned())
}

fn canonical(url: &str) -> Option<String> {
    // Reading it normalizes all but the last three.
    let mut url = Url::parse(url).ok()?;
    url.set_fragment(None);
    if let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
        url.set_host(Some(&host)).ok()?;
    }
    let (path, query) = (decode_unreserved(url.path()), url.query().map(decode_unreserved));
    url.set_path(&path);
    url.set_query(query.as_deref());
    Some(url.into())
}

/// Decodes the characters that never need percent-encoding, and writes the others in upper case.
fn decode_unreserved(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('%') {
        let (before, encoded) = rest.split_at(position);
        decoded.push_str(before);
        let byte = encoded.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let taken = match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                decoded.push(char::from(byte));
                3
            }
            Some(byte) => {
                decoded.push_str(&format!("%{byte:02X}"));
                3
            }
            None => {
                decoded.push('%');
                1
            }
        };
        rest = &encoded[taken..];
    }
    decoded.push_str(rest);
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_url_are_the_same() {
        for (one, other) in [
            ("http://127.1/card.json", "http://127.0.0.1/card.json"),
            ("http://0x7f000001:80/a", "HTTP://127.0.0.1/a"),
            ("https://Agents.EXAMPLE:443", "https://agents.example/"),
            ("https://agents.example./a", "https://agents.example/a"),
            ("https://agents.example/a/./b/../c", "https://agents.example/a/c"),
            ("https://agents.example/a/%2E%2e/c", "https://agents.example/c"),
            ("https://agents.example/%61%7e%2fb?q=%41%2f", "https://agents.example/a~%2Fb?q=A%2F"),
            ("https://b\u{fc}cher.example/\u{fc}", "https://xn--bcher-kva.example/%C3%BC"),
            ("https://agents.example/a#b", "https://agents.example/a"),
            ("https://agents.example/100%", "https://agents.example/100%"),
            ("not a url", "not a url"),
        ] {
            assert!(is_same_url(one, other) && is_same_url(other, one), "{one} {other}");
            assert_eq!(canonical_url(one), canonical_url(other));
        }
    }

    #[test]
    fn urls_of_other_places_are_not() {
        for (one, other) in [
            ("http://127.1/a", "https://127.0.0.1/a"),
            ("http://127.0.0.1:8080/a", "http://127.0.0.1/a"),
            ("https://agents.example/a", "https://agents.example/A"),
            ("https://agents.example/a/", "https://agents.example/a"),
            ("https://agents.example/a%2Fb", "https://agents.example/a/b"),
            ("https://agents.example/a?", "https://agents.example/a"),
            ("https://agents.example/a?b=1", "https://agents.example/a?b=2"),
            ("not a url", "no url either"),
        ] {
            assert!(!is_same_url(one, other), "{one} {other}");
            assert_ne!(canonical_url(one), canonical_url(other));
        }
    }
}
