//! Destinations that the operator allows to fetch from although they aren't public.

use std::net::IpAddr;

use super::address::Network;
use crate::{Error, Result};

/// Networks, addresses, and hosts from which the operator allows fetches.
///
/// ```
/// let allowed = agentdex_fetch::AllowList::parse(["10.1.0.0/16", "cards.internal", "localhost:8080"])?;
/// assert_eq!(allowed.to_string(), "10.1.0.0/16, cards.internal, localhost:8080");
/// # Ok::<(), agentdex_fetch::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct AllowList(Vec<Entry>);

/// The error for an invalid entry.
const NO_ENTRY: &str = "is neither a network such as 10.1.0.0/16 nor an address or host such as localhost:8080";

#[derive(Debug, Clone)]
struct Entry {
    text: String,
    place: Place,
    /// None: all.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Network(Network),
    Host(String),
}

impl AllowList {
    /// Reads entries: a network (`10.1.0.0/16`, `fd00::/8`), an address, or a host name. The latter
    /// two can have a port (`localhost:8080`, `[::1]:8080`). A host name allows all addresses to which
    /// it resolves.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`]
    pub fn parse(entries: impl IntoIterator<Item = impl AsRef<str>>) -> Result<AllowList> {
        let read = |entry: &str| {
            let invalid = |message| Error::InvalidSetting { origin: "allow_fetch".into(), message };
            Entry::parse(entry).map_err(|reason| invalid(format!("{entry:?} {reason}")))
        };
        entries.into_iter().map(|entry| read(entry.as_ref())).collect::<Result<_>>().map(AllowList)
    }

    /// The host of a URL, only at its port.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] where it isn't one of http or https.
    pub fn of_url(url: &str) -> Result<AllowList> {
        let no_url =
            || Error::InvalidSetting { origin: "URL".into(), message: format!("{url:?} is not an http or https URL") };
        let parsed = reqwest::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let parsed = parsed.ok_or_else(no_url)?;
        let (host, port) = parsed.host_str().zip(parsed.port_or_known_default()).ok_or_else(no_url)?;
        AllowList::parse([format!("{host}:{port}")])
    }

    /// The entries of both lists.
    pub fn and(mut self, more: AllowList) -> AllowList {
        self.0.extend(more.0);
        self
    }

    /// True if the name itself is allowed, whatever it stands for.
    pub(super) fn has_host(&self, host: &str, port: u16) -> bool {
        self.at(port).any(|place| matches!(place, Place::Host(allowed) if allowed == host))
    }

    /// True if the address is allowed.
    pub(super) fn has_address(&self, address: IpAddr, port: u16) -> bool {
        self.at(port).any(|place| matches!(place, Place::Network(network) if network.contains(address)))
    }

    fn at(&self, port: u16) -> impl Iterator<Item = &Place> {
        self.0.iter().filter(move |entry| entry.port.is_none_or(|allowed| allowed == port)).map(|entry| &entry.place)
    }
}

impl std::fmt::Display for AllowList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries: Vec<&str> = self.0.iter().map(|entry| entry.text.as_str()).collect();
        f.write_str(&entries.join(", "))
    }
}

impl Entry {
    /// Reads an entry. The error says what it is, or isn't.
    fn parse(entry: &str) -> std::result::Result<Entry, String> {
        let entry = entry.trim();
        if let Some(network) = Network::parse(entry) {
            return match entry.split_once('/').and_then(|(address, prefix)| network_around(network, address, prefix)) {
                Some(around) => Err(format!(
                    "is an address within the network {around}; write the network, or the address \
                        without a prefix length"
                )),
                None => Ok(Entry { text: entry.into(), place: Place::Network(network), port: None }),
            };
        }
        match Entry::parse_place(entry) {
            Some(Entry { port: Some(0), .. }) => {
                Err("has port 0, which can't be connected to; without a port, all ports are allowed".into())
            }
            read => read.ok_or_else(|| NO_ENTRY.into()),
        }
    }

    fn parse_place(entry: &str) -> Option<Entry> {
        let (place, port) = match entry.rsplit_once(':') {
            Some((place, port)) => (place, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let address = place.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(place);
        let is_bracketed = address.len() != place.len();
        let place = match Network::parse(address).filter(|_| !address.contains('/')) {
            Some(network) if is_bracketed || !address.contains(':') => Place::Network(network),
            _ if is_bracketed => return None,
            _ => Place::Host(host_name(place)?),
        };
        Some(Entry { text: entry.into(), place, port })
    }
}

/// Returns the network that was meant by one written with another address than its first; none if it has its first
/// address.
fn network_around(network: Network, address: &str, prefix: &str) -> Option<String> {
    let first = network.first_address();
    let first = if address.contains(':') { first.into() } else { first.to_canonical() };
    (address.parse() != Ok(first)).then(|| format!("{first}/{prefix}"))
}

/// A host name as URLs have it once they are read: in lower case, in ASCII, not ending in a dot.
fn host_name(name: &str) -> Option<String> {
    let is_word = !name.is_empty() && !name.contains(['/', '@', '?', '#', '\\', '*', '[', ']', ':']);
    let url = reqwest::Url::parse(&format!("http://{name}/")).ok().filter(|_| is_word)?;
    let host = url.host_str()?.trim_end_matches('.');
    // Another spelling of an address would have been read as one: this is something else.
    (!host.is_empty() && host.parse::<IpAddr>().is_err()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(entry: &str, host: &str, address: &str, port: u16) -> bool {
        let allowed = AllowList::parse([entry]).unwrap();
        allowed.has_host(host, port) || allowed.has_address(address.parse().unwrap(), port)
    }

    #[test]
    fn entries_allow_what_they_say() {
        assert!(allows("10.0.0.0/8", "any", "10.2.3.4", 80));
        assert!(allows("10.2.3.4:8080", "any", "10.2.3.4", 8080));
        assert!(allows("[fd00::1]:443", "any", "fd00::1", 443));
        assert!(allows("fd00::1", "any", "fd00::1", 443));
        assert!(allows("127.0.0.1", "any", "::ffff:127.0.0.1", 443));
        assert!(allows("Cards.INTERNAL.", "cards.internal", "10.0.0.1", 1));
        assert!(allows("bücher.example:80", "xn--bcher-kva.example", "10.0.0.1", 80));
    }

    #[test]
    fn urls_are_those_of_http() {
        let of = |url: &str| AllowList::of_url(url).map(|list| list.has_host("h", 443)).ok();
        assert_eq!((of("https://h/x"), of("http://h:443"), of("http://h")), (Some(true), Some(true), Some(false)));
        for url in ["ftp://h:443", "ws://h:443", "h:443", "/x"] {
            assert_eq!(of(url), None, "{url}");
        }
    }

    #[test]
    fn entries_allow_nothing_else() {
        assert!(!allows("10.2.3.4:8080", "any", "10.2.3.4", 8081));
        assert!(!allows("10.2.3.4", "any", "10.2.3.5", 80));
        assert!(!allows("cards.internal", "evil.cards.internal", "10.0.0.1", 80));
        assert!(!allows("cards.internal", "internal", "10.0.0.1", 80));
        assert!(!allows("cards.internal:80", "cards.internal", "10.0.0.1", 81));
        assert!(!AllowList::default().has_address([127, 0, 0, 1].into(), 80));
    }

    #[test]
    fn what_is_no_entry_is_refused_and_named() {
        for entry in [
            "",
            "http://localhost",
            "*.internal",
            "host:port",
            "host:70000",
            "a b",
            "user@host",
            "10.0.0.0/8:80",
            "0x7f.1",
            "[::1",
            "[host]",
        ] {
            let error = AllowList::parse([entry]).unwrap_err().to_string();
            assert!(error.contains("allow_fetch") && error.contains(&format!("{entry:?}")), "{error}");
        }
    }

    #[test]
    fn what_was_meant_is_said_where_that_can_be_told() {
        for (entry, meant) in [
            ("10.0.0.1/8", "10.0.0.0/8"),
            ("10.1.2.3/0", "0.0.0.0/0"),
            ("fd00::1/8", "fd00::/8"),
            ("::ffff:10.0.0.1/104", "::ffff:10.0.0.0/104"),
            ("localhost:0", "without a port"),
            ("10.0.0.1:0", "without a port"),
        ] {
            let error = AllowList::parse([entry]).unwrap_err().to_string();
            assert!(error.contains(&format!("{entry:?}")) && error.contains(meant), "{error}");
        }
        for entry in ["10.0.0.1/32", "0.0.0.0/0", "::/0", "::1/128", "::ffff:10.0.0.0/104"] {
            assert!(AllowList::parse([entry]).is_ok(), "{entry}");
        }
    }
}
