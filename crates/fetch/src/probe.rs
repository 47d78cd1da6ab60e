//! Candidate URLs of a document when only the URL of its owner is known.

use reqwest::Url;

/// A URL where the document of an agent may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The URL.
    pub url: String,
    /// Its relation to the requested URL.
    pub place: Place,
}

/// The relation of a candidate to the requested URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The URL itself.
    Itself,
    /// A well-known place below the URL.
    Below,
    /// A well-known place at the root of its site, where the document may be about another agent.
    Site,
}

/// The URLs to try, in order: the URL itself, unless it is the root of a site, and well-known
/// places, unless the URL is that of a document.
///
/// A URL that ends in `.json` or is at a well-known place is a document. The root of a site isn't: its
/// well-known places are tried. Anything else may be either.
///
/// ```
/// use agentdex_fetch::{Place, candidates};
///
/// let places = ["/.well-known/agent-card.json"];
/// let of = |url| candidates(url, &places).into_iter().map(|one| (one.url, one.place)).collect::<Vec<_>>();
/// let card = |site: &str| format!("{site}/.well-known/agent-card.json");
/// assert_eq!(of("https://agents.example"), [(card("https://agents.example"), Place::Below)]);
/// assert_eq!(of("https://agents.example/cards/a.json"), [("https://agents.example/cards/a.json".into(), Place::Itself)]);
/// assert_eq!(
///     of("https://agents.example/a?b"),
///     [
///         ("https://agents.example/a?b".into(), Place::Itself),
///         (card("https://agents.example/a"), Place::Below),
///         (card("https://agents.example"), Place::Site),
///     ]
/// );
/// ```
pub fn candidates(url: &str, well_known: &[&str]) -> Vec<Candidate> {
    let itself = || vec![Candidate { url: url.to_owned(), place: Place::Itself }];
    let Ok(mut site) = Url::parse(url) else { return itself() };
    if site.cannot_be_a_base() || site.path().ends_with(".json") || site.path().contains("/.well-known/") {
        return itself();
    }
    let is_root = site.path() == "/" && site.query().is_none();
    let path = site.path().trim_end_matches('/').to_owned();
    site.set_query(None);
    site.set_fragment(None);
    let at = |path: &str, known: &str, place: Place| {
        let mut url = site.clone();
        url.set_path(&format!("{path}{known}"));
        Candidate { url: url.to_string(), place }
    };
    let below = well_known.iter().map(|known| at(&path, known, Place::Below));
    if is_root && !well_known.is_empty() {
        return below.collect();
    }
    // The URL may be where the agent is called, which has its documents at the root of the site.
    let of_site = well_known.iter().filter(|_| !path.is_empty()).map(|known| at("", known, Place::Site));
    itself().into_iter().chain(below).chain(of_site).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_sites_are_told_apart() {
        let places = ["/.well-known/a.json", "/.well-known/b.json"];
        let of = |url: &str| candidates(url, &places).into_iter().map(|one| one.url).collect::<Vec<_>>();
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
        let itself = Candidate { url: "https://x.example".into(), place: Place::Itself };
        assert_eq!(candidates("https://x.example", &[]), [itself]);
    }
}
