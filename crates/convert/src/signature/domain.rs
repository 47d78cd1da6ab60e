//! URLs of the keys that a card's own domain publishes.

use fluent_uri::{
    Uri,
    component::{Authority, Host},
};
use serde_json::Value;

/// The place of a domain's keys.
const KEY_SET: &str = "/.well-known/jwks.json";

/// Returns the URLs of key sets that may vouch for a card, the most likely first. `source` is the URL from which the
/// card was fetched.
///
/// A card represents the agent at its preferred interface, so the keys of that interface's domain count. The keys of
/// the domain that served the card also count if that domain is the same or a parent (`example.org` for
/// `agents.example.org`), with the same port or the default port. Keys are only fetched over HTTPS. The URL of keys in
/// the card itself (`jku`) is ignored.
///
/// ```
/// let card = serde_json::json!({"url": "https://api.example.org:8443/a2a"});
/// assert_eq!(
///     agentdex_convert::signature::key_set_urls(&card, Some("https://example.org/.well-known/agent-card.json")),
///     ["https://api.example.org:8443/.well-known/jwks.json", "https://example.org/.well-known/jwks.json"]
/// );
/// ```
pub fn key_set_urls(card: &Value, source: Option<&str>) -> Vec<String> {
    let first_interface = card.get("supportedInterfaces").and_then(|interfaces| interfaces.get(0));
    let interface = first_interface.unwrap_or(card).get("url").and_then(Value::as_str);
    let Some(interface) = interface.and_then(Origin::of) else { return Vec::new() };
    let source = source.and_then(Origin::of).filter(|source| interface.is_at_or_below(source));
    let mut urls: Vec<String> = [Some(interface), source].into_iter().flatten().filter_map(|o| o.key_set()).collect();
    urls.dedup();
    urls
}

struct Origin {
    is_https: bool,
    /// In lower case.
    host: String,
    is_name: bool,
    /// With a colon, if it is not the default one of https.
    port: String,
}

impl Origin {
    fn of(url: &str) -> Option<Origin> {
        let url = Uri::parse(url).ok()?;
        let authority: Authority<'_> = url.authority()?;
        let is_name = matches!(authority.host_parsed(), Host::RegName(_));
        let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let port = authority.port().map(|port| port.as_str()).filter(|port| !matches!(*port, "" | "443"));
        let is_https = url.scheme().as_str().eq_ignore_ascii_case("https");
        (!host.is_empty()).then(|| Origin {
            is_https,
            host,
            is_name,
            port: port.map(|port| format!(":{port}")).unwrap_or_default(),
        })
    }

    fn is_at_or_below(&self, above: &Origin) -> bool {
        let is_below = || {
            let prefix = self.host.strip_suffix(&above.host);
            // A name of one word is a whole top-level domain, or no domain at all.
            self.is_name && above.is_name && above.host.contains('.') && prefix.is_some_and(|name| name.ends_with('.'))
        };
        // Another port may have another owner.
        let is_port = above.port.is_empty() || above.port == self.port;
        is_port && (self.host == above.host || is_below())
    }

    fn key_set(&self) -> Option<String> {
        self.is_https.then(|| format!("https://{}{}{KEY_SET}", self.host, self.port))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn urls(interface: &str, source: Option<&str>) -> Vec<String> {
        let old = key_set_urls(&json!({"url": interface}), source);
        let interfaces = json!([{"url": interface}, {"url": "https://second.example/"}]);
        let new = key_set_urls(&json!({"supportedInterfaces": interfaces, "url": "https://ignored.example/"}), source);
        assert_eq!(old, new);
        old
    }

    #[test]
    fn keys_are_those_of_the_interface() {
        assert_eq!(urls("https://Agents.Example/a2a?x", None), ["https://agents.example/.well-known/jwks.json"]);
        assert_eq!(
            urls("https://user@[2606:4700::1]:8443/", None),
            ["https://[2606:4700::1]:8443/.well-known/jwks.json"]
        );
        for without in [
            "http://agents.example/",
            "grpc:50051",
            "agents.example:443",
            "",
            "https:///a",
            "https://a b/",
            "https://good.example\\@evil.example/",
        ] {
            assert!(urls(without, None).is_empty(), "{without}");
        }
    }

    #[test]
    fn source_counts_for_itself_and_what_is_below() {
        let source = Some("https://example.org/card.json");
        let own = "https://example.org/.well-known/jwks.json";
        assert_eq!(urls("https://example.org/a2a", source), [own]);
        assert_eq!(urls("http://example.org/a2a", source), [own]);
        assert_eq!(urls("https://a.b.example.org/", source).last().unwrap(), own);
        assert_eq!(urls("https://example.org:8443/", source).last().unwrap(), own);
        assert_eq!(urls("https://example.org:443/", source), [own]);
        let same_port = Some("https://example.org:8443/card.json");
        let at_port = "https://example.org:8443/.well-known/jwks.json";
        assert_eq!(urls("https://a.example.org:8443/", same_port).last().unwrap(), at_port);
        for (interface, source) in [
            ("https://bank.example/", "https://evil.example/card.json"),
            ("https://notexample.org/", "https://example.org/card.json"),
            ("https://example.org/", "https://a.example.org/card.json"),
            ("https://example.org/", "https://org/card.json"),
            ("https://1.2.3.4/", "https://3.4/card.json"),
            ("https://example.org/", "http://example.org/card.json"),
            ("https://example.org/", "https://example.org:9443/card.json"),
            ("https://a.example.org:8443/", "https://example.org:9443/card.json"),
        ] {
            let urls = urls(interface, Some(source));
            assert_eq!(urls.len(), 1, "{interface} from {source}: {urls:?}");
        }
    }
}
