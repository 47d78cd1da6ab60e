//! Detection of credentials in Thing Descriptions, which should describe how to authenticate but not contain the
//! credentials.

use serde_json::Value;

use crate::{
    Result,
    redaction::{Hidden, Mark, Marks, Node, Place, Redacted, is_schema, may_have_secrets},
    td::{Document, Flag, FlagKind, Violation},
};

/// The most flags of a description for its credentials.
const MAX_FLAGS: usize = 20;

/// The credentials in a Thing Description: values that look like a key, a token, or a password, in any member. Names
/// and example values in schemas, placeholders, hashes, and ids don't count.
///
/// ```
/// use agentdex_convert::Credentials;
/// use agentdex_td::Document;
///
/// let thing = Document::parse(br#"{"title": "Rates", "base": "https://joe:hunter2@rates.example/"}"#)?;
/// let credentials = Credentials::find(thing.text(), thing.value());
/// assert_eq!(credentials.flags()[0].pointer, "/base");
/// assert_eq!(credentials.replaced(thing.text())?.value()["base"], "https://rates.example/");
/// # Ok::<(), agentdex_convert::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Credentials(Redacted);

impl Credentials {
    /// Finds the credentials of a description, given as text and as the parsed value.
    pub fn find(text: &str, thing: &Value) -> Credentials {
        if !may_have_secrets(thing) {
            return Credentials::default();
        }
        Credentials(Redacted::of(&Node::parse(text), &ThingMarks))
    }

    /// True if the description contains no credentials.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text of the description with its credentials replaced by placeholders. All other text is unchanged.
    ///
    /// # Errors
    /// The errors of [`Document::parse`].
    pub fn replaced(&self, text: &str) -> Result<Document> {
        let replaced = self.0.text(text);
        Ok(Document::parse(replaced.as_deref().unwrap_or(text).as_bytes())?)
    }

    /// Returns a flag for each credential, up to twenty. A flag contains the kind of the credential, but no part of it.
    pub fn flags(&self) -> Vec<Flag> {
        let flag = |found: &Hidden| Flag {
            kind: FlagKind::Credential,
            pointer: found.pointer.clone(),
            found: found.rule.name().to_owned(),
        };
        self.0.hidden.iter().take(MAX_FLAGS).map(flag).collect()
    }

    /// Returns a warning for each credential, about 1,000 at most, for use if the credentials are stored.
    pub fn warnings(&self) -> impl Iterator<Item = Violation> {
        self.0.hidden.iter().map(|found| {
            let message = format!(
                "anyone who can read the description can read {}; remove and revoke this credential, and declare the \
                 authentication in `securityDefinitions`",
                found.rule.noun()
            );
            Violation::new(&*found.pointer, FlagKind::Credential.name(), message)
        })
    }

    /// Returns a warning for each credential, for use if the credentials are replaced.
    pub fn replacements(&self) -> impl Iterator<Item = Violation> {
        self.0.warnings()
    }

    /// Returns a violation for each credential, for use if the description is refused.
    pub fn violations(&self) -> impl Iterator<Item = Violation> {
        self.0.hidden.iter().map(|found| {
            let message = format!("{} must not be in a description", found.rule.noun());
            Violation::new(&*found.pointer, found.rule.name(), message)
        })
    }
}

/// Members of a Thing with affordances, by their names.
const AFFORDANCES: [&str; 3] = ["properties", "actions", "events"];

/// Redaction marks for the members of a Thing Description (TD 1.1, section 5.3): no member is there for a secret, and data
/// schemas only describe values. A property is a schema with forms, of which its own members are read all the same.
struct ThingMarks;

impl Marks for ThingMarks {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        let mut names = member.names();
        let path = [names.next(), names.next(), names.next(), names.next()];
        match path {
            // Terms and their IRIs.
            [Some("@context"), None, ..] => Mark::Described,
            [Some("uriVariables" | "schemaDefinitions"), None, ..] => Mark::Described,
            [Some("lmos:input" | "lmos:output"), ..] => Mark::Described,
            [Some(name), Some(_), Some(kind), None] if AFFORDANCES.contains(&kind) && is_of_schema(name) => {
                Mark::Described
            }
            _ => Mark::None,
        }
    }

    fn is_schema(&self, place: &Place<'_, '_>) -> bool {
        let mut names = place.names();
        let is_of_thing = match [names.next(), names.next(), names.next()] {
            [None, ..] => true,
            [Some(_), Some(kind), None] => AFFORDANCES.contains(&kind) || kind == "securityDefinitions",
            [Some(""), Some("forms" | "links"), _] => true,
            _ => false,
        };
        !is_of_thing && is_schema(place.value)
    }
}

/// True for a member of an affordance that is a data schema, or that describes values as one.
fn is_of_schema(name: &str) -> bool {
    const NAMES: [&str; 20] = [
        "uriVariables",
        "input",
        "output",
        "subscription",
        "data",
        "dataResponse",
        "cancellation",
        "const",
        "default",
        "enum",
        "examples",
        "format",
        "pattern",
        "properties",
        "required",
        "items",
        "oneOf",
        "anyOf",
        "allOf",
        "$defs",
    ];
    NAMES.contains(&name)
}
