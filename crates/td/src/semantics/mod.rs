//! Semantic checks, which a JSON Schema can't express.
//!
//! Sections are of TD 1.1 unless said otherwise.
//!
//! | rule | what is found | source | |
//! |---|---|---|---|
//! | `duplicate-member` | a member name repeated in its object | RFC 8259, 4; JSON-LD 1.1, 9 | SHOULD be unique; readers disagree, so an error |
//! | `context-order` | the contexts of 1.0 and 1.1 not as first and second entry | 5.3.1.1 | MUST |
//! | `thing-model` | a Thing Model instead of a Thing Description | 9.2 | MUST (that `@type` denotes a model) |
//! | `id-not-uri`, `id-too-long` | an `id` that is not an absolute URI or over 1 KiB | 5.3.1.1 (`anyURI`); the length is ours | MUST |
//! | `security-undefined` | a security name that is used (root, form, combo) but not defined | 5.3.1.1, 5.3.3.4, 5.3.4.2 | MUST |
//! | `uri-variable-clash` | a URI variable of an API key that is declared as another variable too | 5.3.3.1 | MUST |
//! | `several-type-links` | more than one link with rel `type` | 5.3.4.1, table 25 (0..1) | MUST |
//! | `not-a-uri` | `base` or an `href` that is not a URI reference, URI templates expanded | 5.3.1.1, 5.3.4.1, 5.3.4.2 (`anyURI`) | MUST |
//! | `schema-properties` | `properties` of a data schema that is not an object | 5.3.2.6 (Map) | MUST |
//! | `registration`, `registration-ttl`, `registration-expires` | a `registration` that is not an object, or times in it that are none | WoT Discovery, 7.3.1 | MUST |
//!
//! Warnings:
//!
//! | rule | what is found | source | |
//! |---|---|---|---|
//! | `languages-differ` | multi-language maps with different sets of languages | 6.3.2 | SHOULD |
//! | `title-not-in-titles`, `description-not-in-descriptions` | a default text that isn't among the translations | 6.3.2 | SHOULD |
//! | `language-tag` | a language that is no BCP 47 tag | 5.3.1.7, 6.3.2 | MUST; harmless to readers, so a warning |
//! | `oauth2-flow` | an OAuth 2.0 flow without the endpoints that it needs | 5.3.3.10 | MUST; common, and what is there may do |
//! | `relative-without-base` | a relative `href` in a description that has no `base` | 5.3.1.1 (`base`) | its meaning depends on where it is read |
//! | `id-not-ascii` | an `id` with characters outside ASCII | 5.3.1.1 (`anyURI`, which allows IRIs) | the TD schema says `format: uri`, by which node-wot refuses it |
//! | `lmos-context-missing` | an LMOS type or member without the vocabulary in `@context` | LMOS agent description format | mandatory there; without it the type means nothing |
//! | `lmos-type-missing` | the LMOS vocabulary in `@context`, and no `@type` | LMOS agent description format | mandatory there, for agents |
//! | `schema-undefined` | an additional response whose `schema` isn't defined | 5.3.4.4 | MUST; harmless to readers, so a warning |

mod affordances;
mod languages;
mod security;
mod uris;

use percent_encoding::{CONTROLS, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{
    CONTEXT_1_0, CONTEXT_1_1, LMOS_NAMESPACE, LmosKind, MAX_ID_BYTES, RegistrationRequest, Report, Violation,
    identity::is_absolute_uri, lmos, path::Path, report::has_room,
};

type Object = Map<String, Value>;

/// Checks `thing`, whose shape need not be right; `duplicates` are pointers to repeated members.
pub(super) fn check(thing: &Value, duplicates: &[String], report: &mut Report) {
    let Value::Object(members) = thing else {
        return;
    };
    report.violations.extend(duplicates.iter().map(|pointer| {
        let message = "the member name is repeated; keep one of the members";
        Violation::new(pointer.clone(), "duplicate-member", message)
    }));
    let mut walk = Walk { thing: members, translations: None, report };
    walk.check_context();
    walk.check_model();
    walk.check_id();
    walk.check_lmos();
    walk.check_base();
    walk.check_registration();
    walk.check_security();
    walk.check_uri_variables();
    walk.check_links();
    walk.check_affordances();
}

fn add(findings: &mut Vec<Violation>, path: &Path<'_>, rule: &'static str, message: String) {
    if has_room(findings) {
        findings.push(Violation::new(path.to_pointer(), rule, message));
    }
}

/// Names in a message; beyond some, only how many more.
fn listed(names: &Object) -> String {
    const MOST: usize = 10;
    let first: Vec<_> = names.keys().take(MOST).map(String::as_str).collect();
    match names.len() {
        0 => "none".into(),
        count if count > MOST => format!("{} and {} more", first.join(", "), count - MOST),
        _ => first.join(", "),
    }
}

/// One pass over a description.
struct Walk<'a> {
    thing: &'a Object,
    /// The first multi-language map, which all others are compared with.
    translations: Option<&'a Object>,
    report: &'a mut Report,
}

impl<'a> Walk<'a> {
    fn violation(&mut self, path: &Path<'_>, rule: &'static str, message: String) {
        add(&mut self.report.violations, path, rule, message);
    }

    fn warning(&mut self, path: &Path<'_>, rule: &'static str, message: String) {
        add(&mut self.report.warnings, path, rule, message);
    }

    /// Removes the schema's findings that a check here describes better.
    fn retract_schema(&mut self, rule: &str, place: &str) {
        self.report.violations.retain(|found| found.rule != rule || !found.pointer.starts_with(place));
    }

    /// Contexts are never fetched: terms that only an unknown one defines have no meaning as RDF.
    #[cfg(feature = "json-ld")]
    fn check_contexts_are_known(&mut self) {
        let context = self.thing.get("@context");
        let path = Path::ROOT.member("@context");
        let contexts = context.and_then(Value::as_array).into_iter().flatten();
        let several = contexts.enumerate().map(|(index, context)| (path.index(index), context));
        let unknown: Vec<_> = several
            .chain(context.filter(|context| context.is_string()).map(|context| (path, context)))
            .filter_map(|(path, context)| Some((path, context.as_str()?)))
            .filter(|(_, url)| !super::json_ld::is_known_context(url))
            .collect();
        for (path, url) in unknown {
            let message = format!(
                "the context {url:?} is unknown and is not fetched; it is stored, but terms defined only in this \
                 context have no meaning in RDF and SPARQL"
            );
            self.warning(&path, "unknown-context", message);
        }
    }

    fn check_context(&mut self) {
        #[cfg(feature = "json-ld")]
        self.check_contexts_are_known();
        let Some(Value::Array(contexts)) = self.thing.get("@context") else {
            return;
        };
        let path = Path::ROOT.member("@context");
        let position = |uri| contexts.iter().position(|context| context.as_str() == Some(uri));
        if let (Some(old), Some(new)) = (position(CONTEXT_1_0), position(CONTEXT_1_1))
            && (old, new) != (0, 1)
        {
            let message = format!("{CONTEXT_1_0:?} must come first, and {CONTEXT_1_1:?} second, if both are present");
            self.retract_schema("schema/not", "/@context");
            self.violation(&path, "context-order", message);
        }
        for (index, context) in contexts.iter().enumerate() {
            if let Some(Value::String(tag)) = context.get("@language") {
                self.check_language_tag(&path.index(index).member("@language"), tag);
            }
        }
    }

    fn check_model(&mut self) {
        let is_model = |name: &Value| name.as_str() == Some("tm:ThingModel");
        let found = match self.thing.get("@type") {
            Some(Value::Array(types)) => types.iter().any(is_model),
            Some(one) => is_model(one),
            None => false,
        };
        if found {
            let message = "Thing Models can't be registered, because they are only templates for Thing Descriptions; \
                           derive a Thing Description from this model (TD 1.1, section 9.4)";
            self.retract_schema("schema/not", "/@type");
            self.violation(&Path::ROOT.member("@type"), "thing-model", message.into());
        }
    }

    fn check_id(&mut self) {
        let Some(Value::String(id)) = self.thing.get("id") else {
            return;
        };
        let path = Path::ROOT.member("id");
        if id.len() > MAX_ID_BYTES {
            let message = format!("the id has {} bytes, but at most {MAX_ID_BYTES} are allowed", id.len());
            self.violation(&path, "id-too-long", message);
        } else if !is_absolute_uri(id) {
            let message = format!("the id {id:?} is not an absolute URI, such as urn:uuid:… or https://…");
            self.violation(&path, "id-not-uri", message);
        } else if !id.is_ascii() {
            let encoded = utf8_percent_encode(id, CONTROLS);
            let message = format!(
                "the id contains non-ASCII characters; clients that enforce `format: uri` of the TD schema, such as \
                 node-wot, reject the description. Write {:?}",
                encoded.to_string()
            );
            self.warning(&path, "id-not-ascii", message);
        }
    }

    /// Reports a description that looks like one of an LMOS agent, and isn't recognized as one. What is recognized is compared
    /// with the LMOS profile, which also asks for the vocabulary.
    fn check_lmos(&mut self) {
        if LmosKind::of_members(self.thing).is_some() {
            return;
        }
        let types = match self.thing.get("@type") {
            Some(Value::Array(types)) => types.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let names_vocabulary = lmos::names_vocabulary(self.thing);
        let path = Path::ROOT.member("@type");
        if names_vocabulary && !self.thing.contains_key("@type") {
            let message = "`@context` contains the LMOS vocabulary, but `@type` is missing; use \"lmos:Agent\" for \
                an agent, or \"lmos:Tool\" for a tool";
            self.warning(&path, "lmos-type-missing", message.into());
        } else if let Some(name) = types.iter().filter_map(Value::as_str).find(|name| matches!(*name, "Agent" | "Tool"))
        {
            let message = format!(
                "{name:?} is an LMOS type only with the LMOS vocabulary; add {{\"lmos\": {LMOS_NAMESPACE:?}}} to \
                 `@context`"
            );
            self.warning(&path, "lmos-context-missing", message);
        } else if let Some(name) = self.thing.keys().find(|name| !names_vocabulary && name.starts_with("lmos:")) {
            let message = format!(
                "the prefix of {name:?} is not declared, so it has no meaning in RDF; add {{\"lmos\": \
                 {LMOS_NAMESPACE:?}}} to `@context`"
            );
            self.warning(&Path::ROOT.member(name), "lmos-context-missing", message);
        }
    }

    fn check_registration(&mut self) {
        if let Some(registration) = self.thing.get("registration") {
            RegistrationRequest::read(registration, &mut self.report.violations);
        }
    }
}
