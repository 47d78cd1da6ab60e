//! The destination of a URL. The URL is parsed once, by the same rules that connect.

use std::net::IpAddr;

use reqwest::Url;

use super::{AllowList, address::refused_kind, redacted_url::shown};

/// Longer URLs are refused.
const MAX_URL_BYTES: usize = 4096;

/// A URL, read and split.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The URL without its fragment.
    pub url: Url,
    /// The host as it is resolved: a name in lower case without a dot at its end, or an address.
    pub host: String,
    /// The port, by default that of the scheme.
    pub port: u16,
    /// True if a redirect leads there.
    pub is_redirect: bool,
}

impl Target {
    /// Reads a URL. The error says why it isn't fetched.
    pub fn parse(text: &str) -> Result<Target, String> {
        if text.len() > MAX_URL_BYTES {
            return Err(format!("it is longer than {MAX_URL_BYTES} bytes"));
        }
        Url::parse(text).map_err(|error| format!("it is not a valid URL: {error}")).and_then(Target::from_url)
    }

    /// The target of a redirect. The error says where it leads, and why it isn't followed.
    pub fn redirect(&self, location: &str) -> Result<Target, String> {
        let refused = |to: &str, reason| format!("it redirects to {:?}: {reason}", shown(to));
        if location.len() > MAX_URL_BYTES {
            return Err(refused(location, format!("it is longer than {MAX_URL_BYTES} bytes")));
        }
        let url = self.url.join(location);
        let url = url.map_err(|error| refused(location, format!("it is not a valid URL: {error}")))?;
        let to = url.to_string();
        let target = Target::from_url(url).map_err(|reason| refused(&to, reason))?;
        if self.is_https() && !target.is_https() {
            return Err(refused(&to, "the target uses http instead of https".into()));
        }
        Ok(Target { is_redirect: true, ..target })
    }

    fn from_url(mut url: Url) -> Result<Target, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("it must start with http:// or https://, but its scheme is {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it contains credentials, which are not sent".into());
        }
        url.set_fragment(None);
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).to_owned();
        let port = url.port_or_known_default().unwrap_or_default();
        if host.is_empty() {
            return Err("it has no host to connect to".into());
        }
        if port == 0 {
            return Err("port 0 can't be connected to".into());
        }
        Ok(Target { url, host, port, is_redirect: false })
    }

    /// The URL in records.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The URL in errors.
    pub fn shown(&self) -> String {
        shown(self.as_str())
    }

    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// True if both are on the same server.
    pub fn is_beside(&self, other: &Target) -> bool {
        self.url.origin() == other.url.origin()
    }

    /// The address in the URL, if it has one instead of a name.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Refuses a host that is known not to be public, before its name is resolved.
    pub fn check_name(&self, allowed: &AllowList) -> Result<(), String> {
        let is_local = self.host == "localhost" || self.host.ends_with(".localhost");
        if is_local && !allowed.has_host(&self.host, self.port) {
            return Err(format!("{} is this machine; {}", self.host, self.remedy()));
        }
        Ok(())
    }

    /// Refuses all addresses of the host if one of them isn't allowed: a name that resolves to both
    /// public and private addresses is suspicious.
    pub fn check_addresses(&self, addresses: &[IpAddr], allowed: &AllowList) -> Result<(), String> {
        if allowed.has_host(&self.host, self.port) {
            return Ok(());
        }
        let verb = if self.address().is_some() { "is" } else { "resolves to" };
        for address in addresses {
            if let Some(kind) = refused_kind(*address).filter(|_| !allowed.has_address(*address, self.port)) {
                return Err(format!("{} {verb} {kind}; {}", self.host, self.remedy()));
            }
        }
        Ok(())
    }

    fn remedy(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("the operator can allow it with --allow-fetch {host}:{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why a URL is refused when it stands for itself.
    fn refusal(url: &str) -> Option<String> {
        let allowed = AllowList::default();
        let check = |target: Target| {
            target.check_name(&allowed)?;
            target.check_addresses(target.address().as_slice(), &allowed)
        };
        Target::parse(url).and_then(check).err()
    }

    #[test]
    fn numeric_disguises_of_loopback_are_seen_through() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0x7f000001",
            "0X7F.0.0.0X1",
            "2130706433",
            "017700000001",
            "0177.0.0.1",
            "127.0.0.1.",
            "１２７.０.０.１",
            "①②⑦.0.0.1",
            "127。0。0。1",
            "%31%32%37.0.0.1",
            "127.0.0.%31",
            "1２7.1",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
        ] {
            let reason = refusal(&format!("http://{host}/")).unwrap_or_else(|| panic!("{host} is let through"));
            assert!(reason.contains("a loopback address") && reason.contains("--allow-fetch"), "{host}: {reason}");
        }
    }

    #[test]
    fn other_places_within_are_refused_in_any_spelling() {
        for host in [
            "0",
            "0.0.0.0",
            "[::]",
            "10.1",
            "192.168.1.1",
            "0xa9fea9fe",
            "2852039166",
            "169.254.169.254",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[::127.0.0.1]",
            "224.0.0.1",
            "255.255.255.255",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "ｌｏｃａｌｈｏｓｔ",
        ] {
            assert!(refusal(&format!("https://{host}:8443/card.json")).is_some(), "{host}");
        }
        for host in ["example.org", "93.184.215.14", "[2606:4700::1111]", "localhost.example.org"] {
            assert_eq!(refusal(&format!("https://{host}/")), None, "{host}");
        }
    }

    #[test]
    fn what_is_no_plain_web_address_is_refused() {
        for (url, why) in [
            ("ftp://example.org/", "scheme is ftp"),
            ("file:///etc/passwd", "scheme is file"),
            ("data:application/json,{}", "scheme is data"),
            ("unix:/run/socket", "scheme is unix"),
            ("/card.json", "not a valid URL"),
            ("", "not a valid URL"),
            ("http://", "not a valid URL"),
            ("http://1.2.3.4.5/", "not a valid URL"),
            ("http://256.1.1.1/", "not a valid URL"),
            ("http://[fe80::1%25eth0]/", "not a valid URL"),
            ("http://example.org:99999/", "not a valid URL"),
            ("http://example.org:0/", "port 0"),
            ("http://./", "no host"),
            ("https://user@example.org/", "credentials"),
            ("https://:secret@example.org/", "credentials"),
            ("https://public.example\\@10.0.0.1/", ""),
        ] {
            match refusal(url) {
                Some(reason) => assert!(reason.contains(why) && !why.is_empty(), "{url}: {reason}"),
                // A backslash is a slash: the rest is a path of public.example.
                None => assert_eq!((why, Target::parse(url).unwrap().host.as_str()), ("", "public.example"), "{url}"),
            }
        }
        assert!(refusal(&format!("http://example.org/{}", "a".repeat(MAX_URL_BYTES))).is_some());
    }

    #[test]
    fn fragment_is_not_sent_and_redirects_are_relative() {
        let target = Target::parse("https://example.org/a/b?c#d").unwrap();
        assert_eq!(target.as_str(), "https://example.org/a/b?c");
        assert_eq!(target.redirect("../x").unwrap().as_str(), "https://example.org/x");
        assert_eq!(target.redirect("//10.0.0.1/").unwrap().host, "10.0.0.1");
        assert!(target.redirect("gopher://example.org/").unwrap_err().contains("gopher"));
    }
}
