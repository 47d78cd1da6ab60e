//! Candidate URLs of a document when only the URL of its owner is known.

use reqwest::Url;

/// The URLs to try, in order: that of a document as it is, or of a site with its well-known places.
///
/// A URL that ends in `.json` or is at a well-known place is a document. The root of a site isn't: its
/// well-known places are tried. Anything else may be either.
///
/// ```
/// use agentdex_fetch::candidates;
///
/// let places = ["/.well-known/agent-card.json"];
/// assert_eq!(candidates("https://agents.example", &places), ["https://agents.example/.well-known/agent-card.json"]);
/// assert_eq!(candidates("https://agents.example/cards/a.json", &places), ["https://agents.example/cards/a.json"]);
/// assert_eq!(
///     candidates("https://agents.example/a?b", &places),
///     [
///         "https://agents.example/a?b",
///         "https://agents.example/a/.well-known/agent-card.json",
///         "https://agents.example/.well-known/agent-card.json",
///     ]
/// );
/// ```
pub fn candidates(url: &str, well_known: &[&str]) -> Vec<String> {
    let itself = || vec![url.to_owned()];
    let Ok(mut site) = Url::parse(url) else { return itself() };
    if site.cannot_be_a_base() || site.path().ends_with(".json") || site.path().contains("/.well-known/") {
        return itself();
    }
    let is_root = site.path() == "/" && site.query().is_none();
    let path = site.path().trim_end_matches('/').to_owned();
    site.set_query(None);
    site.set_fragment(None);
    let place = |path: &str, place: &str| {
        let mut url = site.clone();
        url.set_path(&format!("{path}{place}"));
        url.to_string()
    };
    let below = well_known.iter().map(|known| place(&path, known));
    if is_root && !well_known.is_empty() {
        return below.collect();
    }
    // The URL may be where the agent is called, which has its documents at the root of the site.
    let of_site = well_known.iter().filter(|_| !path.is_empty()).map(|known| place("", known));
    itself().into_iter().chain(below).chain(of_site).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_sites_are_told_apart() {
        let places = ["/.well-known/a.json", "/.well-known/b.json"];
        let of = |url: &str| candidates(url, &places);
        let root = ["https://x.example/.well-known/a.json", "https://x.example/.well-known/b.json"];
        assert_eq!(of("https://x.example"), root);
        assert_eq!(of("https://x.example/#part"), root);
        assert_eq!(
            of("https://x.example/agent/"),
            [
                "https://x.example/agent/",
                "https://x.example/agent/.well-known/a.json",
                "https://x.example/agent/.well-known/b.json",
                "https://x.example/.well-known/a.json",
                "https://x.example/.well-known/b.json"
            ]
        );
        assert_eq!(of("https://x.example/?agent=1").first().unwrap(), "https://x.example/?agent=1");
        for document in
            ["https://x.example/card.json?v=1", "https://x.example/.well-known/agent", "no url", "mailto:a@b.example"]
        {
            assert_eq!(of(document), [document]);
        }
        assert_eq!(candidates("https://x.example", &[]), ["https://x.example"]);
    }
}
