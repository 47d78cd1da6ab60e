//! Pages to sign in at, which many sites redirect to where they should answer 401.

use reqwest::Url;

/// Parts of hosts and paths that name such a page, without hyphens and underscores.
const NAMES: [&str; 10] =
    ["auth", "authenticate", "authorize", "cas", "logon", "oauth", "oauth2", "openidconnect", "saml2", "sso"];
/// Ends of such parts: `accounts.example/ServiceLogin`, `/users/sign_in`.
const ENDS: [&str; 4] = ["login", "saml", "signin", "signon"];

/// True if the host or the path of a URL has the name of a page to sign in at.
pub(super) fn is_sign_in(url: &Url) -> bool {
    let labels = url.host_str().unwrap_or_default().split('.');
    let segments = url.path().split(['/', '.']);
    labels.chain(segments).any(|part| {
        let name: String = part.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_ascii_lowercase();
        NAMES.contains(&name.as_str()) || ENDS.iter().any(|end| name.ends_with(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_to_sign_in_at_are_known_by_host_or_path() {
        let is_known = |url: &str| is_sign_in(&Url::parse(url).unwrap());
        for url in [
            "https://login.microsoftonline.com/common/oauth2/v2.0/authorize?client_id=1",
            "https://accounts.google.com/ServiceLogin",
            "https://app.example/users/sign_in",
            "https://app.example/sign-in?next=/card",
            "https://app.example/login.html",
            "https://idp.example/realms/a/protocol/openid-connect/auth",
        ] {
            assert!(is_known(url), "{url}");
        }
        for url in [
            "https://app.example/",
            "https://app.example/authors/card",
            "https://app.example/agent/",
            "https://app.example/card?next=login",
            "https://catalog.example/blogs/design",
        ] {
            assert!(!is_known(url), "{url}");
        }
    }
}
