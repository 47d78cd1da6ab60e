//! What a card says is what its Thing says.

use agentdex::{
    convert::a2a::{A2A_CONTEXT, A2A_NAMESPACE, Card, Generation, Options, from_thing},
    td,
};
use serde_json::{Value, json};

use super::{card, fixture, fixtures, found, json, thing, thing_with};

fn thing_of(name: &str) -> Value {
    thing(&Card::parse(&fixture(name)).unwrap())
}

fn forms(thing: &Value, action: &str) -> Vec<Value> {
    thing["actions"][action]["forms"].as_array().unwrap().clone()
}

#[test]
fn every_fixture_becomes_a_valid_thing_that_keeps_its_card() {
    for (name, bytes) in fixtures() {
        let card = Card::parse(&bytes).unwrap();
        let thing = thing(&card);
        assert_eq!(thing["@type"], json!(["lmos:Agent", "a2a:Agent"]), "{name}");
        assert_eq!(td::LmosKind::of(&thing), Some(td::LmosKind::Agent));
        let conversion = card.to_thing(&Options::default()).unwrap();
        assert_eq!(conversion.things[0].source.bytes, bytes, "{name}");
    }
}

#[test]
fn metadata_and_skills_are_in_their_places() {
    let thing = thing_of("several_interfaces_1_0");
    assert_eq!(thing["title"], "Ferry");
    assert_eq!(thing["version"], json!({"instance": "2.0.0-beta.1"}));
    let vendor = json!({"lmos:name": "Harbour Office", "lmos:url": "https://harbour.example"});
    assert_eq!(thing["lmos:metadata"]["lmos:vendor"], vendor);
    assert_eq!(
        thing["links"],
        json!([
            {"rel": "service-doc", "href": "https://harbour.example/ferry"},
            {"rel": "icon", "href": "https://harbour.example/ferry.png"},
        ])
    );
    let skill = &json(&fixture("several_interfaces_1_0"))["skills"][0];
    let capability = thing["lmos:capabilities"][0].as_object().unwrap();
    for (name, value) in skill.as_object().unwrap() {
        let is_shared = ["id", "name", "description", "tags", "examples"].contains(&name.as_str());
        let name = format!("{}:{name}", if is_shared { "lmos" } else { "a2a" });
        assert_eq!(capability.get(&name), Some(value), "{name}");
    }
    assert_eq!(capability.len(), skill.as_object().unwrap().len());
    assert_eq!(thing["actions"]["plan"]["title"], "Plan a crossing");
    assert_eq!(thing["a2a:defaultInputModes"], json!(["text/plain", "application/json"]));
    let keys: Vec<_> = td::capabilities(&thing).iter().map(|capability| capability.key().to_owned()).collect();
    assert_eq!(keys, ["plan", "book"]);
}

#[test]
fn every_transport_of_1_0_has_its_form() {
    let version = |version: &str| json!([{"htv:fieldName": "A2A-Version", "htv:fieldValue": version}]);
    let common = |form: Value| {
        let mut form = form;
        form["op"] = "invokeaction".into();
        form["subprotocol"] = "a2a".into();
        form
    };
    let expected = [
        json!({
            "href": "https://ferry.example/grpc", "a2a:binding": "GRPC", "a2a:protocolVersion": "1.0",
            "a2a:method": "SendMessage", "contentType": "application/grpc", "htv:methodName": "POST",
        }),
        json!({
            "href": "https://ferry.example/rest/north%20sea/message:send", "a2a:binding": "HTTP+JSON",
            "a2a:protocolVersion": "1.0", "a2a:tenant": "north sea", "a2a:method": "SendMessage",
            "contentType": "application/a2a+json", "htv:methodName": "POST", "htv:headers": version("1.0"),
        }),
        json!({
            "href": "https://ferry.example/rpc", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0",
            "a2a:tenant": "north sea", "a2a:method": "SendMessage", "contentType": "application/json",
            "htv:methodName": "POST", "htv:headers": version("1.0"),
        }),
        json!({
            "href": "wss://ferry.example/ws", "a2a:binding": "https://ferry.example/bindings/ws",
            "a2a:protocolVersion": "1.0",
        }),
        json!({
            "href": "https://ferry.example/old", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "0.3",
            "a2a:method": "message/send", "contentType": "application/json", "htv:methodName": "POST",
        }),
        json!({
            "href": "https://ferry.example/old-rest/v1/message:send", "a2a:binding": "HTTP+JSON",
            "a2a:protocolVersion": "0.3", "a2a:method": "SendMessage", "contentType": "application/json",
            "htv:methodName": "POST",
        }),
    ];
    let thing = thing_of("several_interfaces_1_0");
    assert_eq!(forms(&thing, "plan"), expected.map(common));
    assert_eq!(forms(&thing, "book").len(), 6);
}

#[test]
fn transports_of_0_3_are_listed_once_with_their_methods() {
    let thing = thing_of("every_scheme_0_3");
    let seen: Vec<_> = forms(&thing, "fetch-document")
        .iter()
        .map(|form| (form["href"].as_str().unwrap().to_owned(), form["a2a:method"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        // The URL of the interface ends with the version already.
        ("https://vault.example/a2a/v1/message:send", "SendMessage"),
        ("https://vault.example/rpc", "message/send"),
        ("grpc://vault.example:50051", "SendMessage"),
    ];
    assert_eq!(seen, expected.map(|(href, method)| (href.to_owned(), method.to_owned())));
}

#[test]
fn streaming_is_an_event_and_push_notifications_are_noted() {
    let thing = thing_of("every_scheme_0_3");
    let form = &thing["events"]["messageStream"]["forms"][1];
    assert_eq!(form["op"], "subscribeevent");
    assert_eq!(form["a2a:method"], "message/stream");
    assert_eq!(form["response"], json!({"contentType": "text/event-stream"}));
    assert_eq!(thing["a2a:capabilities"]["pushNotifications"], true);
    assert!(thing_of("every_scheme_1_0").get("events").is_none());
}

#[test]
fn an_agent_without_skills_takes_messages() {
    let thing = thing_of("extensions_1_0");
    let actions: Vec<_> = thing["actions"].as_object().unwrap().keys().collect();
    assert_eq!(actions, ["sendMessage"]);
    assert!(thing.get("lmos:capabilities").is_none());
}

#[test]
fn extensions_signatures_and_unknown_members_are_kept() {
    let (thing, card) = (thing_of("extensions_1_0"), json(&fixture("extensions_1_0")));
    for name in ["capabilities", "signatures", "x-house", "supportedInterfaces"] {
        assert_eq!(thing[format!("a2a:{name}")], card[name]);
    }
    let terms = &thing["@context"][1];
    assert!(["a2a", "lmos", "htv"].iter().all(|prefix| terms[prefix].is_string()));
}

#[test]
fn the_context_defines_the_namespace_that_descriptions_name() {
    let context = json(A2A_CONTEXT.as_bytes());
    let prefix = &thing_of("extensions_1_0")["@context"][1]["a2a"];
    assert_eq!((prefix, &context["@context"]["a2a"]["@id"]), (&json!(A2A_NAMESPACE), prefix));
}

#[test]
fn every_scheme_of_1_0_has_its_definition() {
    let thing = thing_of("every_scheme_1_0");
    let token = "https://login.example/token";
    assert_eq!(
        thing["securityDefinitions"],
        json!({
            "key": {"scheme": "apikey", "in": "header", "name": "X-Vault-Key", "description": "Issued by the desk."},
            "key in the query": {"scheme": "apikey", "in": "query", "name": "key"},
            "key/cookie": {"scheme": "apikey", "in": "cookie", "name": "vault"},
            "basic": {"scheme": "basic", "in": "header"},
            "token": {"scheme": "bearer", "in": "header", "format": "JWT", "a2a:scheme": "Bearer"},
            "hoba": {"scheme": "a2a:http", "a2a:scheme": "HOBA", "description": "RFC 7486"},
            "code": {
                "scheme": "oauth2", "flow": "code", "authorization": "https://login.example/authorize", "token": token,
                "refresh": "https://login.example/refresh", "scopes": ["read", "write"], "a2a:pkceRequired": true,
                "a2a:scopes": {"read": "Read documents", "write": "Write documents"},
                "a2a:oauth2MetadataUrl": "https://login.example/.well-known/oauth-authorization-server",
            },
            "machine": {"scheme": "oauth2", "flow": "client", "token": token, "scopes": [], "a2a:scopes": {}},
            "device": {
                "scheme": "oauth2", "flow": "device", "authorization": "https://login.example/device", "token": token,
                "scopes": ["read"], "a2a:scopes": {"read": "Read documents"},
            },
            "implicit": {
                "scheme": "oauth2", "flow": "a2a:implicit", "authorization": "https://login.example/authorize",
                "scopes": [], "a2a:scopes": {},
            },
            "password": {"scheme": "oauth2", "flow": "a2a:password", "token": token, "scopes": [], "a2a:scopes": {}},
            "login": {
                "scheme": "a2a:openIdConnect",
                "a2a:openIdConnectUrl": "https://login.example/.well-known/openid-configuration",
            },
            "certificate": {"scheme": "a2a:mutualTLS", "description": "Of the house."},
            "one_of_1": {"scheme": "combo", "oneOf": ["key", "code", "certificate"]},
        })
    );
    assert_eq!(thing["security"], "one_of_1");
    assert_eq!(forms(&thing, "fetch-document")[0]["scopes"], json!(["read"]));
}

#[test]
fn several_flows_of_one_scheme_are_alternatives() {
    let thing = thing_of("every_scheme_0_3");
    let definitions = &thing["securityDefinitions"];
    assert_eq!(
        definitions["oauth"],
        json!({"scheme": "combo", "oneOf": ["oauth_authorizationCode", "oauth_clientCredentials"]})
    );
    assert_eq!(definitions["oauth_clientCredentials"]["flow"], "client");
    assert_eq!(definitions["oauth_clientCredentials"]["a2a:scheme"], "oauth");
    assert_eq!(definitions["all_of_1"], json!({"scheme": "combo", "allOf": ["certificate", "key"]}));
    assert_eq!(definitions["one_of_2"], json!({"scheme": "combo", "oneOf": ["oauth", "all_of_1"]}));
    assert_eq!(thing["security"], "one_of_2");
}

#[test]
fn requirements_of_skills_are_those_of_their_forms() {
    let thing = thing_of("and_or_security_1_0");
    let definitions = &thing["securityDefinitions"];
    let security = |action| forms(&thing, action)[0]["security"].clone();
    assert_eq!(thing["security"], security("read"));
    assert_eq!(definitions[security("read").as_str().unwrap()]["oneOf"][1], "login");
    assert_eq!(security("book"), json!(["certificate", "login"]));
    assert_eq!(forms(&thing, "book")[0]["scopes"], json!(["book"]));
    assert_eq!(definitions[security("rates").as_str().unwrap()]["oneOf"], json!(["nosec_sc", "key"]));
    assert_eq!(definitions["nosec_sc"]["scheme"], "nosec");
}

#[test]
fn definitions_of_our_own_never_take_the_name_of_a_scheme() {
    let mut odd = json(&fixture("every_scheme_0_3"));
    let key = |name: &str| json!({"type": "apiKey", "in": "header", "name": name});
    for name in ["nosec_sc", "one_of_2", "oauth_implicit", "oauth_clientCredentials"] {
        odd["securitySchemes"][name] = key(name);
    }
    odd["security"] = json!([{}, {"oauth": []}, {"one_of_2": [], "nosec_sc": []}, {"all_of_1": []}]);
    let (thing, warnings) = thing_with(&card(&odd), &Options::default());
    let definitions = &thing["securityDefinitions"];
    for name in ["nosec_sc", "one_of_2", "oauth_implicit", "oauth_clientCredentials"] {
        assert_eq!(definitions[name]["name"], name);
    }
    assert_eq!(definitions["oauth"]["oneOf"], json!(["oauth_authorizationCode", "oauth_clientCredentials_"]));
    let options = &definitions[thing["security"].as_str().unwrap()]["oneOf"];
    assert_eq!(definitions[options[0].as_str().unwrap()]["scheme"], "nosec");
    assert_eq!(definitions[options[2].as_str().unwrap()]["allOf"], json!(["nosec_sc", "one_of_2"]));
    assert_eq!(definitions[options[3].as_str().unwrap()]["scheme"], "auto");
    assert!(found(&warnings).contains(&("security-undefined", "/security")));
    let again = from_thing(&thing, Generation::V0).unwrap();
    assert_eq!(json(&again.bytes)["security"], odd["security"]);
}

#[test]
fn a_card_that_requires_nothing_is_open() {
    let thing = thing_of("plain_0_2");
    assert_eq!(thing["security"], "nosec_sc");
    assert_eq!(thing["securityDefinitions"], json!({"nosec_sc": {"scheme": "nosec"}}));
}

#[test]
fn security_that_is_not_said_is_left_open_and_reported() {
    let mut plain = json(&fixture("plain_0_2"));
    plain["authentication"] = json!({"schemes": ["apiKey"]});
    let (open, warnings) = thing_with(&card(&plain), &Options::default());
    assert_eq!(open["securityDefinitions"][open["security"].as_str().unwrap()]["scheme"], "auto");
    assert!(found(&warnings).contains(&("security-open", "/authentication")));
    plain["security"] = json!([{"missing": []}]);
    let (undefined, warnings) = thing_with(&card(&plain), &Options::default());
    assert_eq!(undefined["securityDefinitions"]["missing"]["scheme"], "auto");
    assert!(found(&warnings).contains(&("security-undefined", "/security")));
    let mut unread = json(&fixture("plain_0_2"));
    unread["security"] = json!([5]);
    let (unread, warnings) = thing_with(&card(&unread), &Options::default());
    assert_eq!(unread["securityDefinitions"], json!({"auto_sc": {"scheme": "auto"}}));
    assert!(found(&warnings).contains(&("requirement", "/security")));
}

#[test]
fn an_api_key_without_a_name_is_reported() {
    let mut odd = json(&fixture("every_scheme_0_3"));
    odd["securitySchemes"]["key"].as_object_mut().unwrap().remove("name");
    let (thing, warnings) = thing_with(&card(&odd), &Options::default());
    assert_eq!(found(&warnings), [("scheme-name", "/securitySchemes/key")]);
    assert_eq!(thing["securityDefinitions"]["key"]["scheme"], "auto");
}

#[test]
fn only_schemes_of_oauth_have_flows() {
    let mut odd = json(&fixture("every_scheme_0_3"));
    odd["securitySchemes"]["key"]["flows"] = odd["securitySchemes"]["oauth"]["flows"].clone();
    assert_eq!(thing(&card(&odd))["securityDefinitions"]["key"]["scheme"], "apikey");
    let new = super::rendition(&card(&odd), Generation::V1);
    assert_eq!(new["securitySchemes"]["key"]["apiKeySecurityScheme"]["name"], "X-Vault-Key");
    assert!(new["securitySchemes"].get("key_clientCredentials").is_none());
}

#[test]
fn what_only_looks_like_a_grpc_target_has_no_form() {
    let mut odd = json(&fixture("every_scheme_0_3"));
    odd["additionalInterfaces"][2]["url"] = "vault]example:50051".into();
    let (thing, warnings) = thing_with(&card(&odd), &Options::default());
    assert_eq!(found(&warnings), [("url-broken", "/additionalInterfaces/2/url")]);
    assert_eq!(forms(&thing, "fetch-document").len(), 2);
}

#[test]
fn unsafe_urls_become_neither_forms_nor_links() {
    let mut odd = json(&fixture("every_scheme_0_3"));
    odd["url"] = "javascript:alert(1)".into();
    odd["additionalInterfaces"] = json!([{"url": "https:///nowhere", "transport": "JSONRPC"}]);
    odd["documentationUrl"] = "javascript:alert(2)".into();
    odd["iconUrl"] = "data:image/png;base64,AAAA".into();
    odd["provider"]["url"] = "javascript:alert(3)".into();
    odd["securitySchemes"]["oauth"]["flows"]["authorizationCode"]["authorizationUrl"] = "javascript:alert(4)".into();
    let (thing, warnings) = thing_with(&card(&odd), &Options::default());
    assert!(!thing.to_string().contains("javascript") && thing.get("links").is_none());
    assert!(thing.get("actions").is_none() && thing.get("events").is_none());
    assert_eq!(thing["lmos:capabilities"][0]["lmos:id"], "fetch-document");
    let mut unsafe_: Vec<_> = found(&warnings).into_iter().filter(|(rule, _)| *rule == "url-unsafe").collect();
    unsafe_.sort_unstable();
    let places = [
        "/additionalInterfaces/0/url",
        "/documentationUrl",
        "/iconUrl",
        "/provider/url",
        "/securitySchemes/oauth/flows/authorizationCode/authorizationUrl",
        "/url",
    ];
    assert_eq!(unsafe_, places.map(|place| ("url-unsafe", place)));
}

#[test]
fn unsafe_urls_for_readers_of_0_3_are_left_out_with_a_warning() {
    let mut both = json(&fixture("for_both"));
    both["url"] = "javascript:alert(1)".into();
    let (thing, warnings) = thing_with(&card(&both), &Options::default());
    assert_eq!(found(&warnings), [("url-unsafe", "/url")]);
    assert!(thing.get("a2a:url").is_none() && thing["a2a:supportedInterfaces"] == both["supportedInterfaces"]);
}

#[test]
fn a_relative_url_is_resolved_or_no_form() {
    let mut odd = json(&fixture("plain_0_2"));
    odd["url"] = "/a2a".into();
    let card = card(&odd);
    let (thing, warnings) = thing_with(&card, &Options { id: Some("urn:example:echo".into()), base: None });
    assert!(thing.get("actions").is_none());
    assert!(found(&warnings).contains(&("url-relative", "/url")));
    let base = Some("https://echo.example/.well-known/agent.json".to_owned());
    let (thing, _) = thing_with(&card, &Options { id: None, base });
    assert_eq!(forms(&thing, "echo")[0]["href"], "https://echo.example/a2a");
}

#[test]
fn the_same_agent_keeps_its_id() {
    let id = |card: &Value| thing(&super::card(card))["id"].clone();
    let plain = json(&fixture("plain_0_2"));
    let mut changed = plain.clone();
    changed["description"] = "Something else".into();
    changed["url"] = "http://LOCALHOST:9999?session=1#top".into();
    assert_eq!(id(&plain), id(&changed));
    assert!(id(&plain).as_str().unwrap().starts_with("urn:uuid:"));
    changed["name"] = "Other".into();
    assert_ne!(id(&plain), id(&changed));
    let mut ferry = json(&fixture("several_interfaces_1_0"));
    let before = id(&ferry);
    ferry["supportedInterfaces"][0]["tenant"] = "south".into();
    assert_ne!(id(&ferry), before);
}

#[test]
fn skills_without_an_id_of_their_own_are_capabilities() {
    let mut odd = json(&fixture("plain_0_2"));
    let skill = |id: &str, name: &str| json!({"id": id, "name": name, "description": "d", "tags": []});
    odd["skills"] = json!([skill("a", "First"), skill("a", "Second"), skill("", "Third"), skill("", "")]);
    let (thing, warnings) = thing_with(&card(&odd), &Options::default());
    let actions: Vec<_> = thing["actions"].as_object().unwrap().keys().collect();
    assert_eq!(actions, ["Third", "a"]);
    assert_eq!(thing["actions"]["a"]["title"], "First");
    assert_eq!(thing["lmos:capabilities"].as_array().unwrap().len(), 3);
    let found = found(&warnings);
    assert!(found.contains(&("skill-repeated", "/skills/1")) && found.contains(&("skill-id", "/skills/3")));
}
