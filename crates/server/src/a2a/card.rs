//! The agent card (A2A 1.0, section 4.4).

use serde_json::{Value, json};

/// The credentials that the server takes.
pub(crate) struct Security {
    /// False if everybody may search.
    pub(crate) is_required: bool,
    /// URL of the OpenID Connect metadata of the issuer whose tokens are accepted.
    pub(crate) openid: Option<String>,
}

/// Returns the agent card of the registry at a base URL; without security, everybody may do everything.
pub(crate) fn card(base: &str, security: Option<Security>) -> Value {
    let interface =
        |binding: &str| json!({"url": format!("{base}/a2a"), "protocolBinding": binding, "protocolVersion": "1.0"});
    let modes = ["text/plain", "application/json"];
    let mut card = json!({
        "name": "agentdex",
        "description": "A registry of software agents. Describe a task in plain words to find agents that can do it.",
        "version": env!("CARGO_PKG_VERSION"),
        "documentationUrl": format!("{base}/docs/guide/"),
        "supportedInterfaces": [interface("JSONRPC"), interface("HTTP+JSON")],
        "capabilities": {"streaming": false, "pushNotifications": false, "extendedAgentCard": false},
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "skills": [{
            "id": "search-agents",
            "name": "Search agents",
            "description": "Finds agents by what they can do, best match first. Send the task in plain words. A data part may add \
                `filters`, `limit`, and `page_token`. The answer contains the matching agents as data.",
            "tags": ["agents", "discovery", "registry", "search"],
            "examples": ["Which agent translates contracts?", "turn down the heat", "agents that speak MCP and know the weather"],
        }],
    });
    if let Some(Security { is_required, openid }) = security {
        let bearer =
            json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "An API key of the registry"}});
        let openid = openid.map(|url| {
            json!({"openIdConnectSecurityScheme": {
                "openIdConnectUrl": url, "description": "An access token from the issuer",
            }})
        });
        let schemes = [("apiKey", Some(bearer)), ("oidc", openid)];
        let schemes: Vec<(&str, Value)> = schemes.into_iter().filter_map(|(name, one)| Some((name, one?))).collect();
        let requirement = |name: &str| json!({"schemes": {name: {"list": []}}});
        let none = (!is_required).then(|| json!({"schemes": {}}));
        let requirements: Vec<Value> =
            none.into_iter().chain(schemes.iter().map(|(name, _)| requirement(name))).collect();
        card["securityRequirements"] = requirements.into();
        card["securitySchemes"] = schemes.into_iter().map(|(name, scheme)| (name.to_owned(), scheme)).collect();
    }
    card
}
