//! IRIs that descriptions have as RDF: those in namespaces of the W3C are terms of its ontologies or contexts.

use std::{collections::BTreeSet, fs, path::PathBuf};

use agentdex::{search::rdf::Syntax, td::json_ld::Expander};
use serde_json::{Map, Value, json};

/// Namespaces of the W3C for Things, and the names in the ontologies and contexts that it publishes for them.
const TERMS: [(&str, &str); 6] = [
    (
        "https://www.w3.org/2019/wot/hypermedia#",
        "AdditionalExpectedResponse ExpectedResponse Form Link additionalReturns forContentCoding \
         forContentType forSubProtocol hasAdditionalOutputSchema hasAnchor hasHreflang hasOperationType \
         hasRelationType hasSizes hasTarget hintsAtMediaType isSuccess returns",
    ),
    (
        "https://www.w3.org/2019/wot/json-schema#",
        "ArraySchema BooleanSchema DataSchema IntegerSchema NullSchema NumberSchema ObjectSchema StringSchema \
         allOf anyOf const contentEncoding contentMediaType default enum exclusiveMaximum exclusiveMinimum \
         format items maxItems maxLength maximum minItems minLength minimum multipleOf name oneOf pattern \
         properties propertyName readOnly required writeOnly",
    ),
    (
        "https://www.w3.org/2019/wot/security#",
        "APIKeySecurityScheme AutoSecurityScheme BasicSecurityScheme BearerSecurityScheme CertSecurityScheme \
         ComboSecurityScheme DigestSecurityScheme NoSecurityScheme OAuth2SecurityScheme PSKSecurityScheme \
         PoPSecurityScheme PublicSecurityScheme SecurityScheme alg allOf apikeyIn authorization flow format \
         identity in name oneOf proxy qop refresh scopes token",
    ),
    (
        "https://www.w3.org/2019/wot/td#",
        "ActionAffordance EventAffordance InteractionAffordance OperationType PropertyAffordance Thing \
         VersionInfo baseURI cancelAction definesSecurityScheme description descriptionInLanguage \
         followsProfile hasActionAffordance hasCancellationSchema hasEventAffordance hasForm hasInputSchema \
         hasInstanceConfiguration hasInteractionAffordance hasLink hasNotificationResponseSchema \
         hasNotificationSchema hasOutputSchema hasPropertyAffordance hasSecurityConfiguration \
         hasSubscriptionSchema hasUriTemplateSchema instance invokeAction isIdempotent isObservable isSafe \
         isSynchronous model name observeAllProperties observeProperty queryAction queryAllActions \
         readAllProperties readMultipleProperties readProperty schemaDefinitions subscribeAllEvents \
         subscribeEvent supportContact title titleInLanguage unobserveAllProperties unobserveProperty \
         unsubscribeAllEvents unsubscribeEvent uriVariables versionInfo writeAllProperties \
         writeMultipleProperties writeProperty",
    ),
    ("https://www.w3.org/2019/wot/tm#", "ThingModel Version hasVersion model optional ref required versionInfo"),
    (
        "https://www.w3.org/2022/wot/discovery-ontology#",
        "RegistrationInformation ThingCollection ThingDirectory ThingLink WotDirectoryDIDService \
         WotThingDIDService contains dateCreated dateModified expires hasCollectionMember \
         hasRegistrationInformation nextThingCollection retrieved ttl",
    ),
];
/// Namespaces of other terms.
const OTHERS: [&str; 8] = [
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/2011/http#",
    "http://purl.org/dc/terms/",
    "http://schema.org/",
    "https://eclipse.dev/lmos/protocol/v1#",
    "urn:agentdex:",
];

/// True for an IRI of another namespace, and for terms of the W3C.
fn is_known(iri: &str) -> bool {
    let name = TERMS.iter().find_map(|(namespace, names)| Some((iri.strip_prefix(namespace)?, names)));
    match name {
        Some((name, names)) => name.is_empty() || names.split_whitespace().any(|known| known == name),
        None => OTHERS.iter().any(|namespace| iri.starts_with(namespace)),
    }
}

/// The IRIs that the terms of a context stand for, with their types, contexts in it included.
struct Context {
    prefixes: Map<String, Value>,
    found: BTreeSet<String>,
}

impl Context {
    fn of(context: &Value) -> BTreeSet<String> {
        let mut read = Context { prefixes: context.as_object().unwrap().clone(), found: BTreeSet::new() };
        read.add_all(context, "");
        read.found
    }

    fn add_all(&mut self, context: &Value, vocabulary: &str) {
        let vocabulary = context["@vocab"].as_str().unwrap_or(vocabulary);
        for (name, definition) in context.as_object().into_iter().flatten() {
            match definition {
                Value::String(iri) => self.add(iri, vocabulary),
                Value::Object(members) if !name.starts_with('@') => {
                    let iri = members.get("@id").and_then(Value::as_str).unwrap_or(name);
                    let of_term = ["@type", "@index"].into_iter().filter_map(|member| members.get(member)?.as_str());
                    of_term.chain([iri]).for_each(|iri| self.add(iri, vocabulary));
                }
                _ => {}
            }
            let scoped = definition.get("@context").into_iter();
            scoped
                .flat_map(|scoped| scoped.as_array().cloned().unwrap_or_else(|| vec![scoped.clone()]))
                .for_each(|scoped| self.add_all(&scoped, vocabulary));
        }
    }

    fn add(&mut self, iri: &str, vocabulary: &str) {
        let prefix = |prefix: &str| {
            let named = self.prefixes.get(prefix)?;
            named.as_str().or_else(|| named["@id"].as_str()).map(str::to_owned)
        };
        let whole = match iri.split_once(':') {
            Some((start, name)) => prefix(start).map_or_else(|| iri.to_owned(), |namespace| namespace + name),
            None if iri.starts_with('@') => return,
            None => format!("{vocabulary}{iri}"),
        };
        self.found.insert(whole);
    }
}

#[test]
fn iris_of_the_contexts_are_those_of_the_w3c() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas/contexts");
    let mut read = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let context: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let found = Context::of(&context["@context"]);
        let unknown: Vec<&String> = found.iter().filter(|iri| !is_known(iri)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:#?}", path.display());
        read += found.len();
    }
    assert!(read > 150, "{read}");
}

#[test]
fn iris_of_a_description_with_every_member_are_those_of_the_w3c() {
    let schema = json!({
        "type": "object", "title": "T", "titles": {"en": "T"}, "description": "D", "descriptions": {"en": "D"},
        "properties": {"a": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "a", "format": "f", "enum": ["a"],
            "contentEncoding": "base64", "contentMediaType": "image/png", "const": "a", "default": "a", "unit": "https://a.example/unit"}},
        "required": ["a"], "readOnly": false, "writeOnly": false,
        "oneOf": [
            {"type": "number", "minimum": 1, "maximum": 2, "exclusiveMinimum": 0, "exclusiveMaximum": 3, "multipleOf": 0.5},
            {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}}, {"type": "null"}, {"type": "boolean"},
        ],
    });
    let form = |op: Value| {
        json!({
            "href": "/x", "op": op, "contentType": "application/json", "contentCoding": "gzip", "subprotocol": "sse",
            "security": "all", "scopes": ["a"], "response": {"contentType": "text/plain"},
            "additionalResponses": [{"success": false, "contentType": "text/plain", "schema": "s"}],
        })
    };
    let url = "https://a.example/";
    let thing = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"@language": "en"}], "@type": "Thing", "id": "urn:x",
        "title": "T", "titles": {"en": "T"}, "description": "D", "descriptions": {"en": "D"}, "support": "mailto:a@a.example",
        "base": url, "created": "2026-01-01T00:00:00Z", "modified": "2026-01-01T00:00:00Z", "profile": url,
        "version": {"instance": "1", "model": "1"}, "schemaDefinitions": {"s": schema}, "uriVariables": {"v": schema},
        "links": [{"href": url, "rel": "icon", "type": "image/png", "anchor": url, "sizes": "1x1", "hreflang": "en"}],
        "forms": [form(json!(["readallproperties", "writeallproperties", "readmultipleproperties", "writemultipleproperties",
            "observeallproperties", "unobserveallproperties", "queryallactions", "subscribeallevents", "unsubscribeallevents"]))],
        "properties": {"p": {"type": "object", "properties": {"q": schema}, "observable": true, "uriVariables": {"v": schema},
            "forms": [form(json!(["readproperty", "writeproperty", "observeproperty", "unobserveproperty"]))]}},
        "actions": {"a": {"input": schema, "output": schema, "safe": true, "idempotent": true, "synchronous": true,
            "forms": [form(json!(["invokeaction", "queryaction", "cancelaction"]))]}},
        "events": {"e": {"subscription": schema, "data": schema, "dataResponse": schema, "cancellation": schema,
            "forms": [form(json!(["subscribeevent", "unsubscribeevent"]))]}},
        "security": "all",
        "securityDefinitions": {
            "all": {"scheme": "combo", "oneOf": ["basic", "digest"]}, "nosec": {"scheme": "nosec"}, "auto": {"scheme": "auto"},
            "both": {"scheme": "combo", "allOf": ["key", "bearer"]}, "basic": {"scheme": "basic", "in": "header", "name": "n"},
            "digest": {"scheme": "digest", "qop": "auth", "proxy": url, "description": "D"}, "key": {"scheme": "apikey", "in": "query"},
            "bearer": {"scheme": "bearer", "alg": "ES256", "format": "jwt", "authorization": url},
            "psk": {"scheme": "psk", "identity": "i"},
            "oauth2": {"scheme": "oauth2", "flow": "code", "authorization": url, "token": url, "refresh": url, "scopes": ["a"]},
        },
    });
    let statements = Expander::new().read(&thing.to_string()).unwrap();
    let text = String::from_utf8(Syntax::NQuads.write(&statements).unwrap()).unwrap();
    let iris: BTreeSet<&str> = text.split('<').skip(1).filter_map(|rest| rest.split('>').next()).collect();
    let is_data = |iri: &str| {
        iri.starts_with("urn:x") || ["https://a.example", "mailto:"].iter().any(|start| iri.starts_with(start))
    };
    let unknown: Vec<&&str> = iris.iter().filter(|iri| !is_data(iri) && !is_known(iri)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    let of_w3c = iris.iter().filter(|iri| TERMS.iter().any(|(namespace, _)| iri.starts_with(namespace)));
    assert!(of_w3c.count() > 100, "{iris:#?}");
}
