//! Security schemes (TD 1.1, section 5.3.3).

use super::{Named, OneOrMany};

object! {
    /// How access is granted. All members of the schemes are here; `scheme` says which apply.
    pub struct SecurityScheme {
        /// The scheme: `nosec`, `auto`, `combo`, `basic`, `digest`, `apikey`, `bearer`, `psk`, `oauth2`, or a
        /// prefixed one of an extension.
        scheme: String = "scheme",
        /// Semantic tags.
        types: OneOrMany<String> = "@type",
        /// A description in the default language.
        description: Option<String> = "description",
        /// The description by language.
        descriptions: Named<String> = "descriptions",
        /// The proxy that the scheme is for, instead of the endpoint.
        proxy: Option<String> = "proxy",
        /// Where the credentials go: `header`, `query`, `body`, `cookie`, `uri`, `auto`.
        location: Option<String> = "in",
        /// The name of the header, query parameter, cookie or URI variable.
        name: Option<String> = "name",
        /// `digest`: the quality of protection.
        quality_of_protection: Option<String> = "qop",
        /// `bearer`: the algorithm, such as `ES256`.
        algorithm: Option<String> = "alg",
        /// `bearer`: the format, such as `jwt`.
        format: Option<String> = "format",
        /// `psk`: what the key is for.
        identity: Option<String> = "identity",
        /// `bearer`, `oauth2`: the authorization server.
        authorization: Option<String> = "authorization",
        /// `oauth2`: the token server.
        token: Option<String> = "token",
        /// `oauth2`: the refresh server.
        refresh: Option<String> = "refresh",
        /// `oauth2`: the scopes.
        scopes: OneOrMany<String> = "scopes",
        /// `oauth2`: the flow, such as `code`.
        flow: Option<String> = "flow",
        /// `combo`: the names of definitions of which one is enough.
        one_of: Vec<String> = "oneOf",
        /// `combo`: the names of definitions that are all needed.
        all_of: Vec<String> = "allOf",
    }
}

impl SecurityScheme {
    /// A scheme without further members.
    pub fn new(scheme: impl Into<String>) -> SecurityScheme {
        SecurityScheme { scheme: scheme.into(), ..SecurityScheme::default() }
    }
}
