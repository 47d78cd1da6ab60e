//! Canonical URLs, which consist of only scheme, host, port, and path, so that URLs of the same resource are equal.

use std::{borrow::Cow, net::Ipv6Addr};

use fluent_uri::Iri;

/// The URL with scheme, host, port and path alone, in one spelling.
pub(super) fn canonical_url(url: &str) -> Cow<'_, str> {
    let bare = &url[..url.find(['?', '#']).unwrap_or(url.len())];
    let Ok(iri) = Iri::parse(bare) else { return bare.into() };
    let Some(authority) = iri.authority() else { return bare.into() };
    let scheme = iri.scheme();
    let mut canonical = format!("{}://{}", scheme.as_str().to_ascii_lowercase(), host(authority.host()));
    let port = authority.port().map(|port| port.as_str()).filter(|port| !port.is_empty());
    let is_default = |port: &str| scheme.default_port().is_some_and(|default| port.parse() == Ok(default));
    if let Some(port) = port.filter(|port| !is_default(port)) {
        canonical.push(':');
        canonical.push_str(port);
    }
    if iri.path().as_str() != "/" {
        canonical.push_str(iri.path().as_str());
    }
    canonical.into()
}

/// The host in one of its spellings: an IPv6 address has many.
fn host(written: &str) -> String {
    let address = written.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match address.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        Some(address) => format!("[{address}]"),
        None => written.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical_url;

    #[test]
    fn what_does_not_name_the_place_is_left_out() {
        for url in ["https://a.example/x", "HTTPS://u:p@A.example:443/x?q=1#f", "https://a.example:/x#f?q"] {
            assert_eq!(canonical_url(url), "https://a.example/x", "{url}");
        }
        assert_eq!(canonical_url("https://a.example/"), canonical_url("https://a.example"));
        assert_ne!(canonical_url("https://a.example/X"), canonical_url("https://a.example/x"));
        assert_ne!(canonical_url("https://a.example:8443"), canonical_url("https://a.example"));
        assert_eq!(canonical_url("http://[0:0::1]:80"), canonical_url("http://[::1]/"));
    }
}
