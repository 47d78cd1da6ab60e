//! Unsafe URLs, which would run code or open a file instead of a website. They are removed from the working copy of a
//! card, so neither its Thing nor its conversions contain them.

use serde_json::{Map, Value};

use super::reference::Unusable;
use crate::{shape::Findings, td::internal::Path};

type Object = Map<String, Value>;

/// URL schemes that are unsafe to follow as a link or as the address of an agent.
const DANGEROUS: [&str; 6] = ["javascript", "vbscript", "data", "file", "blob", "about"];

/// The members of a security scheme, or of a flow of one, that are URLs.
const OF_SCHEMES: [&str; 6] =
    ["openIdConnectUrl", "oauth2MetadataUrl", "authorizationUrl", "deviceAuthorizationUrl", "tokenUrl", "refreshUrl"];

/// Takes dangerous URLs out of the members of a card that are URLs.
pub(super) fn remove(members: &mut Object, findings: &mut Findings) {
    let root = Path::ROOT;
    remove_from(members, &["url", "documentationUrl", "iconUrl"], &root, findings);
    for list in ["supportedInterfaces", "additionalInterfaces"] {
        let Some(Value::Array(interfaces)) = members.get_mut(list) else { continue };
        for (index, interface) in interfaces.iter_mut().enumerate() {
            if let Value::Object(interface) = interface {
                remove_from(interface, &["url"], &root.member(list).index(index), findings);
            }
        }
    }
    if let Some(Value::Object(provider)) = members.get_mut("provider") {
        remove_from(provider, &["url"], &root.member("provider"), findings);
    }
    if let Some(Value::Object(schemes)) = members.get_mut("securitySchemes") {
        remove_within(schemes, 4, &root.member("securitySchemes"), findings);
    }
}

/// Endpoints are in a scheme or its flows, in 1.0 within the object that names the kind.
fn remove_within(object: &mut Object, depth: usize, path: &Path<'_>, findings: &mut Findings) {
    remove_from(object, &OF_SCHEMES, path, findings);
    for (name, value) in object.iter_mut() {
        if let (Value::Object(inner), 1..) = (value, depth) {
            remove_within(inner, depth - 1, &path.member(name), findings);
        }
    }
}

fn remove_from(object: &mut Object, names: &[&str], path: &Path<'_>, findings: &mut Findings) {
    for &name in names {
        if let Some(Value::String(url)) = object.get(name)
            && is_dangerous(name, url)
        {
            let path = path.member(name);
            let warning = Unusable::Unsafe.warning(&path, url, "it is left out");
            findings.add(&path, Unusable::Unsafe.rule(), || warning.message);
            object.remove(name);
        }
    }
}

/// True if a browser would do something else than go there; it skips blanks and control characters.
fn is_dangerous(name: &str, url: &str) -> bool {
    if url.starts_with("http") {
        return false;
    }
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let plain = || scheme.chars().filter(|c| !c.is_whitespace() && !c.is_control());
    let is = |known: &str| plain().map(|c| c.to_ascii_lowercase()).eq(known.chars());
    // A picture shows itself and runs nothing.
    let is_picture = name == "iconUrl" && is("data") && rest.trim_start().starts_with("image/");
    !is_picture && DANGEROUS.into_iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::is_dangerous;

    #[test]
    fn only_what_runs_or_reads_is_dangerous() {
        for url in ["javascript:alert(1)", " JavaScript:x", "java\tscript:x", "data:text/html,x", "file:///etc/passwd"]
        {
            assert!(is_dangerous("iconUrl", url), "{url:?}");
        }
        for url in ["https://a.example", "a.example:443", "data:image/png;base64,AA", "/x:y", "", "urn:x:y"] {
            assert!(!is_dangerous("iconUrl", url), "{url:?}");
        }
        assert!(is_dangerous("url", "data:image/png;base64,AA"));
    }
}
