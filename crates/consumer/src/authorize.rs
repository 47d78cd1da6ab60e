//! Credentials for a form: those required by its security definitions, from the settings or the environment.
//!
//! Anyone may have registered a description, so its request for a credential by name is not sufficient for sending
//! it. A credential is sent only to its allowed origins; a credential without origins is sent only to agents named by
//! the caller.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    Authorization, Credential, Description, Error, Form, Grant, Network, Place, Result, Secret, Settings,
    description::strings,
    request_template::RequestTemplate,
    settings::credential_variable,
    template::text_of,
    transport::{Outgoing, Transport, origin},
};

/// Maximum number of combinations of schemes to try.
const MAX_ALTERNATIVES: usize = 32;
/// Maximum nesting depth of combinations (`oneOf`, `allOf`).
const MAX_DEPTH: usize = 8;
/// Time before its expiry at which a token is replaced.
const MARGIN: Duration = Duration::from_secs(30);
/// Assumed lifetime of a token that comes without `expires_in`.
const DEFAULT_LIFE: Duration = Duration::from_secs(300);
/// The most bytes of the answer of a token endpoint.
const MAX_TOKEN_BYTES: usize = 64 * 1024;
/// Tokens that are stored; beyond, all are forgotten.
const MAX_TOKENS: usize = 1024;

/// Resolves credentials; remembers tokens of OAuth 2.0.
#[derive(Debug, Default)]
pub(super) struct Authorizer {
    tokens: Mutex<HashMap<TokenKey, Slot>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TokenKey {
    endpoint: String,
    client: String,
    scopes: String,
}

/// Slot of a token. The lock is held while fetching, so a token is fetched only once.
type Slot = Arc<tokio::sync::Mutex<Option<(Secret, Instant)>>>;

/// For whom credentials are resolved.
pub(super) struct Caller<'a> {
    pub(super) settings: &'a Settings,
    pub(super) network: &'a Network,
    /// Values of variables, which values of headers may be made of.
    pub(super) variables: &'a Map<String, Value>,
    /// How the agent was found; `None` if the caller named it.
    pub(super) found: Option<&'a str>,
    /// Headers whose values are made of the input: no credential is needed for them.
    pub(super) given_headers: &'a [String],
    /// Scheme whose credential is used if a single credential is required and none has the required name.
    pub(super) stand_in: Option<&'a str>,
}

impl Authorizer {
    /// Resolves the credentials for a form whose target is complete. Of several combinations of security schemes, the
    /// first that can be satisfied is used.
    pub(super) async fn authorize(
        &self,
        description: &Description,
        form: &Form,
        caller: &Caller<'_>,
    ) -> Result<Vec<Authorization>> {
        let names = description.security(form);
        let alternatives = alternatives(description, &names, 0);
        let (mut first_error, mut is_misused) = (None, false);
        for alternative in &alternatives {
            match self.all_of(description, form, alternative, caller).await {
                // A credential that was given and can't be sent isn't left out.
                Ok(granted) if granted.is_empty() && is_misused => break,
                Ok(granted) => return Ok(granted),
                Err(error) => {
                    let is_given = alternative.iter().any(|name| {
                        let is_of = |setting: &str| setting.strip_prefix("credentials.") == Some(name);
                        matches!(&error, Error::Setting { setting, .. } if is_of(setting))
                            && find(name, caller.settings).is_some()
                    });
                    // Of several errors, that of a credential says more.
                    if first_error.is_none() || is_given && !is_misused {
                        first_error = Some(error);
                    }
                    is_misused |= is_given;
                }
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => Ok(Vec::new()),
        }
    }

    async fn all_of(
        &self,
        description: &Description,
        form: &Form,
        names: &[String],
        caller: &Caller<'_>,
    ) -> Result<Vec<Authorization>> {
        let mut granted = Vec::new();
        for name in names {
            let definition = description.security_definition(name);
            let definition = definition.ok_or_else(|| Error::InvalidDescription {
                id: description.id().to_owned(),
                reason: format!("{name:?} isn't defined in `securityDefinitions`"),
            })?;
            if is_given(definition, caller.given_headers) {
                continue;
            }
            let stand_in = caller.stand_in.filter(|_| names.len() == 1);
            let found = find(name, caller.settings).or_else(|| find(stand_in?, caller.settings));
            let grant = self.grant(name, definition, found, description, form, caller).await?;
            granted.extend(grant.map(|grant| Authorization { scheme: name.clone(), grant }));
        }
        Ok(granted)
    }

    async fn grant(
        &self,
        name: &str,
        definition: &Map<String, Value>,
        found: Option<Credential>,
        description: &Description,
        form: &Form,
        caller: &Caller<'_>,
    ) -> Result<Option<Grant>> {
        let text = |member: &str| definition.get(member).and_then(Value::as_str);
        let scheme = text("scheme").unwrap_or_default();
        let place = place(definition, scheme);
        let inputs = match (RequestTemplate::of(form), &place) {
            (Some(template), Place::Header(header)) => template.inputs_of_header(header),
            _ => Vec::new(),
        };
        let needed = |fault: &str, what: &str| Error::Setting {
            setting: credential_variable(name),
            reason: format!(
                "{fault}; {} requires {what} (security scheme {name:?}){}",
                origin(&form.href).unwrap_or_default(),
                match inputs.as_slice() {
                    [] => String::new(),
                    [input] => format!(", or a value for the input {input}"),
                    inputs => format!(", or values for the inputs {}", inputs.join(", ")),
                }
            ),
        };
        if scheme == "nosec" {
            return Ok(None);
        }
        if scheme == "auto" && found.is_none() {
            // Not said by the description: perhaps nothing is needed.
            return Ok(None);
        }
        if scheme == "agentspec:sensitiveHeaders" {
            let reason = "the description doesn't contain the names of its `sensitive_headers`; register the agent \
                          again with these names in `sensitive_headers`, or with --security";
            return Err(Error::Setting { setting: format!("credentials.{name}"), reason: reason.to_owned() });
        }
        if !matches!(scheme, "basic" | "bearer" | "apikey" | "oauth2" | "auto" | "a2a:openIdConnect") {
            let reason = format!(
                "the security scheme {name:?} is {scheme}, which is not supported; the agent can only be called if \
                 its description also offers basic, bearer, apikey, or oauth2 (`oneOf`)"
            );
            return Err(Error::Setting { setting: format!("credentials.{name}"), reason });
        }
        let credential = found.ok_or_else(|| {
            let what = match scheme {
                "basic" => "user:password",
                "apikey" => "a key",
                "oauth2" if text("flow") == Some("client") => "client-id:client-secret, or a token",
                _ => "a token",
            };
            needed("it is not set", what)
        })?;
        let target = origin(&form.href).unwrap_or_else(|| form.href.clone());
        check_origin(name, &credential, &target, caller.found)?;
        let pair = credential.secret.reveal().split_once(':');
        Ok(Some(match scheme {
            "basic" => {
                let (user, password) = pair.ok_or_else(|| needed("it contains no colon", "user:password"))?;
                Grant::Basic { user: user.into(), password: Secret::new(password), place }
            }
            "apikey" => {
                Grant::ApiKey { key: in_template(name, definition, &credential.secret, caller.variables)?, place }
            }
            "oauth2" if text("flow") == Some("client") && pair.is_some() => {
                let endpoint = text("token").and_then(|endpoint| description.resolve(endpoint));
                let endpoint = endpoint.ok_or_else(|| Error::Setting {
                    setting: format!("credentials.{name}"),
                    reason:
                        "the security scheme has no token endpoint; give a token instead of client-id:client-secret"
                            .into(),
                })?;
                let token = self.token(name, &endpoint, definition, form, &credential, caller).await?;
                Grant::Bearer { token, place }
            }
            _ => Grant::Bearer { token: credential.secret.clone(), place },
        }))
    }

    /// A token for client credentials (RFC 6749, section 4.4).
    async fn token(
        &self,
        name: &str,
        endpoint: &str,
        definition: &Map<String, Value>,
        form: &Form,
        credential: &Credential,
        caller: &Caller<'_>,
    ) -> Result<Secret> {
        let target = origin(endpoint).unwrap_or_else(|| endpoint.to_owned());
        check_origin(name, credential, &target, caller.found)?;
        let (client, secret) = credential.secret.reveal().split_once(':').unwrap_or_default();
        let mut scopes: Vec<&str> = form.scopes().collect();
        if scopes.is_empty() {
            scopes = definition.get("scopes").into_iter().flat_map(strings).collect();
        }
        let scopes = scopes.join(" ");
        let key = TokenKey { endpoint: endpoint.into(), client: client.into(), scopes: scopes.clone() };
        let slot = {
            let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            if tokens.len() >= MAX_TOKENS {
                tokens.clear();
            }
            tokens.entry(key).or_default().clone()
        };
        let mut cached = slot.lock().await;
        if let Some((token, until)) = &*cached
            && *until > Instant::now()
        {
            return Ok(token.clone());
        }
        let (token, life) = fetch_token(endpoint, client, secret, &scopes, caller.network).await?;
        *cached = Some((token.clone(), Instant::now() + life.saturating_sub(MARGIN)));
        Ok(token)
    }

    /// Drops the tokens used by a refused call. Other tokens are kept, so an agent that refuses everything affects
    /// only callers that share its tokens.
    pub(super) fn forget(&self, refused: &[Authorization]) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, slot| {
            // One that is being fetched is not the refused one.
            let Ok(cached) = slot.try_lock() else { return true };
            let is_sent =
                |one: &Authorization, token| matches!(&one.grant, Grant::Bearer { token: sent, .. } if sent == token);
            cached.as_ref().is_none_or(|(token, _)| !refused.iter().any(|one| is_sent(one, token)))
        });
    }
}

async fn fetch_token(
    endpoint: &str,
    client: &str,
    secret: &str,
    scopes: &str,
    network: &Network,
) -> Result<(Secret, Duration)> {
    #[derive(Deserialize)]
    struct Answer {
        access_token: String,
        #[serde(default)]
        expires_in: Option<u64>,
    }
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let mut body = "grant_type=client_credentials".to_owned();
    if !scopes.is_empty() {
        body += &format!("&scope={}", encoded(scopes));
    }
    let pair = BASE64_STANDARD.encode(format!("{}:{}", encoded(client), encoded(secret)));
    let request = Outgoing::new(Method::POST, endpoint)
        .header("authorization", &format!("Basic {pair}"))
        .header("accept", "application/json")
        .body("application/x-www-form-urlencoded", body.into_bytes());
    let answer = Transport::plain(network, MAX_TOKEN_BYTES).send(&request).await?;
    let url = answer.url.clone();
    let answer: Answer = serde_json::from_slice(&answer.bytes().await?).map_err(|error| Error::Protocol {
        url,
        binding: "OAuth 2.0",
        reason: format!("it contains no access token: {error}"),
    })?;
    let life = answer.expires_in.map_or(DEFAULT_LIFE, Duration::from_secs);
    Ok((Secret::new(answer.access_token), life))
}

/// Returns alternative sets of schemes, each of which is sufficient.
fn alternatives(description: &Description, names: &[&str], depth: usize) -> Vec<Vec<String>> {
    let mut sets: Vec<Vec<String>> = vec![Vec::new()];
    for name in names {
        let definition = description.security_definition(name);
        let combined = |kind: &str| definition.and_then(|definition| definition.get(kind)).map(strings);
        let options: Vec<Vec<String>> = match (combined("oneOf"), combined("allOf")) {
            (Some(one_of), _) if depth < MAX_DEPTH => {
                one_of.flat_map(|option| alternatives(description, &[option], depth + 1)).collect()
            }
            (_, Some(all_of)) if depth < MAX_DEPTH => alternatives(description, &all_of.collect::<Vec<_>>(), depth + 1),
            _ => vec![vec![(*name).to_owned()]],
        };
        let joined = sets.iter().flat_map(|set| options.iter().map(move |option| [set.as_slice(), option].concat()));
        sets = joined.take(MAX_ALTERNATIVES).collect();
    }
    sets
}

/// Returns the URL variables that may be replaced by keys.
pub(super) fn keys_in_url(description: &Description, form: &Form) -> BTreeSet<String> {
    let schemes = alternatives(description, &description.security(form), 0).into_iter().flatten();
    let key = |scheme: String| match place(description.security_definition(&scheme)?, "apikey") {
        Place::Uri(name) => Some(name),
        _ => None,
    };
    schemes.filter_map(key).collect()
}

/// Returns the value to send for a key. For a header of an MCP server, this is the expansion of its template
/// (`mcp:value`), such as `token {key}`.
fn in_template(
    scheme: &str,
    definition: &Map<String, Value>,
    key: &Secret,
    variables: &Map<String, Value>,
) -> Result<Secret> {
    let Some(template) = definition.get("mcp:value").and_then(Value::as_str) else { return Ok(key.clone()) };
    let names = template.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    let (known, open): (BTreeSet<&str>, BTreeSet<&str>) = names.partition(|name| variables.contains_key(*name));
    let secret = match Vec::from_iter(open).as_slice() {
        [secret] => *secret,
        // Somebody else's value was there.
        [] if known.is_empty() => return Ok(key.clone()),
        several => {
            let reason = match several {
                [] => "variables are set for all placeholders in the `mcp:value` of the security scheme; omit the \
                       variable for the credential"
                    .to_owned(),
                several => format!(
                    "the `mcp:value` of the security scheme contains several placeholders without a value; set \
                     variables for all of them except the credential: {}",
                    several.join(", ")
                ),
            };
            return Err(Error::Setting { setting: format!("credentials.{scheme}"), reason });
        }
    };
    let mut parts = template.split('{');
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((name, literal)) => {
                value +=
                    &variables.get(name).filter(|_| name != secret).map_or_else(|| key.reveal().to_owned(), text_of);
                value += literal;
            }
            None => value += &format!("{{{part}"),
        }
    }
    Ok(Secret::new(value))
}

/// The credential for a scheme: of the settings, else of the environment.
fn find(name: &str, settings: &Settings) -> Option<Credential> {
    if let Some(credential) = settings.credentials.get(name) {
        return Some(credential.clone());
    }
    let variable = credential_variable(name);
    let credential = Credential::new(settings.variable_of_environment(&variable)?);
    let origins = settings.variable_of_environment(&format!("{variable}_ORIGIN")).unwrap_or_default();
    let origins = origins.split(',').map(str::trim).filter(|origin| !origin.is_empty());
    Some(origins.fold(credential, Credential::for_origin))
}

/// True if the credential of a scheme would be in one of these headers.
fn is_given(definition: &Map<String, Value>, headers: &[String]) -> bool {
    let scheme = definition.get("scheme").and_then(Value::as_str).unwrap_or_default();
    let place = place(definition, scheme);
    matches!(place, Place::Header(name) if headers.iter().any(|header| header.eq_ignore_ascii_case(&name)))
}

fn check_origin(name: &str, credential: &Credential, target: &str, found: Option<&str>) -> Result<()> {
    let withheld =
        |reason: String| Err(Error::CredentialWithheld { scheme: name.into(), origin: target.into(), reason });
    if credential.origins.is_empty() {
        return match found {
            Some(how) if !credential.is_for_agent => withheld(format!(
                "you didn't name this agent yourself ({how}); name the agent by its id, or allow the origin with \
                 {}_ORIGIN or Credential::for_origin",
                credential_variable(name)
            )),
            _ => Ok(()),
        };
    }
    let is_allowed = |allowed: &String| origin(allowed).as_deref() == Some(target);
    match credential.origins.iter().any(is_allowed) {
        true => Ok(()),
        false => withheld(format!("it is only allowed for {}", credential.origins.join(", "))),
    }
}

fn place(definition: &Map<String, Value>, scheme: &str) -> Place {
    let text = |member: &str| definition.get(member).and_then(Value::as_str);
    let default = if scheme == "apikey" { "query" } else { "header" };
    let name = |default: &str| text("name").unwrap_or(default).to_owned();
    match text("in").unwrap_or(default) {
        "query" => Place::Query(name("api_key")),
        "cookie" => Place::Cookie(name("api_key")),
        "body" => Place::Body(name("api_key")),
        "uri" => Place::Uri(name("api_key")),
        _ if scheme == "apikey" => Place::Header(name("X-API-Key")),
        _ => Place::Header(name("Authorization")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn origin_is_compared_and_not_the_text() {
        assert_eq!(origin("https://A.example/x?y"), origin("https://a.example:443"));
        assert_eq!(origin("mqtt://a.example:1883/x").as_deref(), Some("mqtt://a.example:1883"));
        assert_eq!(origin("https://user@a.example/"), origin("https://a.example"));
        for none in ["{base}/x", "https://{host}/x", "/x", "urn:a"] {
            assert_eq!(origin(none), None, "{none}");
        }
    }

    #[test]
    fn key_goes_where_the_template_has_its_place() {
        let value = |template: &str, variables: Value| {
            let definition = Map::from_iter([("mcp:value".to_owned(), template.into())]);
            let filled =
                in_template("s", &definition, &Secret::new("PAT1"), variables.as_object().unwrap_or(&Map::new()));
            filled.map(|secret| secret.reveal().to_owned()).map_err(|error| error.to_string())
        };
        for (template, expected) in [
            ("token {pat}", "token PAT1"),
            ("{org}/{pat}", "acme/PAT1"),
            ("{pat}:{pat}", "PAT1:PAT1"),
            ("[redacted]", "PAT1"),
        ] {
            assert_eq!(value(template, json!({"org": "acme"})).as_deref(), Ok(expected), "{template}");
        }
        for (template, expected) in
            [("{user}:{pat}", "several placeholders"), ("of {org}", "variables are set for all placeholders")]
        {
            let error = value(template, json!({"org": "acme"})).expect_err(template);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn credential_that_cannot_be_sent_is_not_left_out() {
        let text = r#"{"id": "urn:a", "securityDefinitions": {
            "pair": {"scheme": "apikey", "in": "header", "name": "X-Pair", "mcp:value": "{a}{b}"}, "none": {"scheme": "nosec"},
            "key": {"scheme": "apikey", "in": "header", "name": "X-Key"}, "optional": {"scheme": "combo", "oneOf": ["pair", "none"]},
            "any": {"scheme": "combo", "oneOf": ["pair", "key"]}},
            "actions": {"a": {"forms": [{"href": "https://a.example", "security": "optional"}]}, "b": {"forms": [{"href": "https://a.example", "security": "any"}]}}}"#;
        let description = Description::parse(text).unwrap();
        let network = Network::new(crate::fetch::Options::default()).unwrap();
        let authorize = async |action: &str, variables: &[&str]| {
            let settings = Settings::new().environment(variables.iter().map(|name| (*name, "s")));
            let none = Map::new();
            let caller = Caller {
                settings: &settings,
                network: &network,
                variables: &none,
                found: None,
                given_headers: &[],
                stand_in: None,
            };
            let form = description.forms(&crate::Affordance::Action(action.into())).remove(0);
            let granted = Authorizer::default().authorize(&description, &form, &caller).await;
            granted.map(|granted| granted.len()).map_err(|error| error.to_string())
        };
        assert_eq!(authorize("a", &[]).await, Ok(0));
        let error = authorize("a", &["AGENTDEX_CREDENTIAL_PAIR"]).await.expect_err("two secrets");
        assert!(error.contains("several placeholders"), "{error}");
        assert_eq!(authorize("b", &["AGENTDEX_CREDENTIAL_PAIR", "AGENTDEX_CREDENTIAL_KEY"]).await, Ok(1));
    }

    #[test]
    fn credentials_go_where_the_definition_says() {
        for scheme in ["bearer", "basic", "apikey", "oauth2"] {
            for (definition, expected) in [
                (json!({"in": "query", "name": "k"}), Place::Query("k".into())),
                (json!({"in": "cookie", "name": "k"}), Place::Cookie("k".into())),
                (json!({"in": "body", "name": "/k"}), Place::Body("/k".into())),
                (json!({"in": "uri", "name": "k"}), Place::Uri("k".into())),
                (json!({"in": "header", "name": "X-K"}), Place::Header("X-K".into())),
            ] {
                assert_eq!(place(definition.as_object().unwrap(), scheme), expected, "{scheme}: {definition}");
            }
        }
        let none = Map::new();
        // TD 1.1, section 5.3.3.5.
        assert_eq!(place(&none, "apikey"), Place::Query("api_key".into()));
        assert_eq!(place(&none, "bearer"), Place::Header("Authorization".into()));
    }

    #[test]
    fn combinations_become_alternatives() {
        let text = r#"{"id": "urn:a", "securityDefinitions": {
            "a": {"scheme": "basic"}, "b": {"scheme": "bearer"}, "c": {"scheme": "nosec"}, "loop": {"scheme": "combo", "oneOf": ["loop", "loop"]},
            "both": {"scheme": "combo", "allOf": ["a", "b"]}, "any": {"scheme": "combo", "oneOf": ["both", "c"]}}}"#;
        let description = Description::parse(text).unwrap();
        assert_eq!(alternatives(&description, &["any"], 0), [vec!["a".to_owned(), "b".into()], vec!["c".into()]]);
        assert_eq!(alternatives(&description, &["a", "any"], 0).len(), 2);
        assert!(alternatives(&description, &["loop"], 0).len() <= MAX_ALTERNATIVES);
        assert_eq!(alternatives(&description, &[], 0), [Vec::<String>::new()]);
    }
}
