//! URLs in messages: without credentials and other secrets.

use reqwest::Url;

/// The most characters of a URL that are repeated.
const MAX_SHOWN: usize = 200;

/// A URL without its credentials, the values of its query, and its fragment: they can contain tokens and
/// signatures, and errors are logged, stored, and sent. Other texts are cut off where a secret could
/// begin.
pub fn shown(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let has_credentials = |url: &Url| !url.username().is_empty() || url.password().is_some();
    let bare = match parsed {
        Some(mut url) if has_credentials(&url) => {
            // Only URLs without a host have no place for credentials.
            let _ = url.set_username("").and_then(|()| url.set_password(None));
            url.to_string()
        }
        None if url.contains('@') => "…".to_owned(),
        _ => url.to_owned(),
    };
    let end = bare.find(['?', '#']).unwrap_or(bare.len());
    let (place, rest) = bare.split_at(end);
    let mut shown: String = place.chars().take(MAX_SHOWN).collect();
    if shown.len() < place.len() {
        shown.push('…');
    }
    if rest.starts_with('?') {
        shown.push_str("?…");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_shown_and_secrets_are_not() {
        for (url, expected) in [
            ("https://agents.example/card.json", "https://agents.example/card.json"),
            ("https://agents.example", "https://agents.example"),
            ("https://agents.example/@me/card.json?sig=secret#secret", "https://agents.example/@me/card.json?…"),
            ("https://agents.example/#secret?secret", "https://agents.example/"),
            ("https://user:secret@agents.example/a", "https://agents.example/a"),
            ("https:\\\\secret@agents.example/a?secret", "https://agents.example/a?…"),
            ("ht\ntps:secret:secret@agents.example/a", "https://agents.example/a"),
            ("https://user:secret@[/", "…"),
            ("//user:sec?ret@agents.example", "…"),
            ("/card.json?secret", "/card.json?…"),
            ("", ""),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
        assert_eq!(shown(&format!("http://a/{}", "é".repeat(5000))).chars().count(), MAX_SHOWN + 1);
    }
}
