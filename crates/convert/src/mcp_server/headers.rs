//! Headers of requests to a server, in the spellings used by clients and cards.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::reference;

type Object = Map<String, Value>;

/// Members with headers by their names, and those with the options of a request, which have some.
pub(super) const HEADERS: [&str; 3] = ["headers", "http_headers", "httpHeaders"];
pub(super) const REQUESTS: [&str; 2] = ["requestInit", "requestOptions"];
/// Members with a bearer token, or with the name of the environment variable that it is in.
pub(super) const TOKENS: [&str; 5] =
    ["bearerToken", "bearer_token", "authorization_token", "bearer_token_env_var", "bearerTokenEnvVar"];

/// Takes the headers out of a server, in the spellings of clients.
pub(super) fn take_headers(server: &mut Object) -> Vec<Value> {
    let mut headers = Vec::new();
    let mut add = |named: Value| match named {
        Value::Object(named) => headers.extend(header_list(&named).as_array().cloned().unwrap_or_default()),
        Value::Array(list) => headers.extend(list),
        _ => {}
    };
    HEADERS.into_iter().filter_map(|member| server.remove(member)).for_each(&mut add);
    for request in REQUESTS {
        let options = server.get_mut(request).and_then(Value::as_object_mut);
        let of_request = options.and_then(|options| HEADERS.into_iter().find_map(|member| options.remove(member)));
        of_request.into_iter().for_each(&mut add);
    }
    // By the names of environment variables.
    let of_environment = server.remove("env_http_headers").map(|mut named| {
        let values = named.as_object_mut().into_iter().flat_map(Object::values_mut);
        values
            .filter_map(|value| Some((value.as_str().map(|name| format!("${{{name}}}"))?, value)))
            .for_each(|(reference, value)| *value = reference.into());
        named
    });
    of_environment.into_iter().for_each(&mut add);
    if TOKENS.into_iter().filter_map(|member| server.remove(member)).count() > 0 {
        let variables = json!({"token": {"isRequired": true, "isSecret": true}});
        headers.push(
            json!({"name": "Authorization", "value": "Bearer {token}", "isRequired": true, "variables": variables}),
        );
    }
    headers
}

/// Headers by their names, as a list of them.
pub(super) fn header_list(named: &Object) -> Value {
    let header = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string().into(), Cow::from);
        let mut header = reference::input(name, &text);
        header.insert("name".to_owned(), name.as_str().into());
        Value::from(header)
    };
    named.iter().map(header).collect()
}
