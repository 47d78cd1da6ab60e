//! The root of a Thing Description (TD 1.1, section 5.3.1.1).

use serde_json::value::RawValue;

use super::{
    ActionAffordance, DataPrivacy, DataSchema, EventAffordance, Form, Interaction, LanguageModel, Link, LmosCapability,
    Metadata, Named, OneOrMany, PropertyAffordance, SecurityScheme, object::Json,
};
use crate::{
    Error, Result,
    td::{CONTEXT_1_1, Document, check},
};

/// An entry of `@context`.
#[derive(Debug, Clone)]
pub enum Context {
    /// A context by its URI.
    Uri(String),
    /// Terms and prefixes.
    Terms(Named<Box<RawValue>>),
}

impl Json for Context {
    fn read(text: &str) -> Option<Context> {
        match text.starts_with('{') {
            true => Named::read(text).map(Context::Terms),
            false => String::read(text).map(Context::Uri),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Context::Uri(uri) => uri.write(out),
            Context::Terms(terms) => terms.write(out),
        }
    }
}

object! {
    /// The version of a Thing.
    pub struct VersionInfo {
        /// The version of the description.
        instance: String = "instance",
        /// The version of the Thing Model behind it.
        model: Option<String> = "model",
    }
}

object! {
    /// A Thing Description.
    pub struct Thing {
        /// The contexts; the first is that of TD 1.1 (or 1.0).
        context: OneOrMany<Context> = "@context",
        /// Semantic tags, such as `lmos:Agent`.
        types: OneOrMany<String> = "@type",
        /// The id: an absolute URI.
        id: Option<String> = "id",
        /// The title in the default language.
        title: String = "title",
        /// The title by language.
        titles: Named<String> = "titles",
        /// The description in the default language.
        description: Option<String> = "description",
        /// The description by language.
        descriptions: Named<String> = "descriptions",
        /// The version.
        version: Option<VersionInfo> = "version",
        /// When the Thing was created: RFC 3339.
        created: Option<String> = "created",
        /// When it was last changed: RFC 3339.
        modified: Option<String> = "modified",
        /// Where to turn to, such as `mailto:…`.
        support: Option<String> = "support",
        /// What relative references are resolved against.
        base: Option<String> = "base",
        /// The profiles that it conforms to.
        profile: OneOrMany<String> = "profile",
        /// Who made the Thing, and other facts about an LMOS agent or tool.
        metadata: Option<Metadata> = "lmos:metadata",
        /// What an LMOS agent can do.
        capabilities: Vec<LmosCapability> = "lmos:capabilities",
        /// The language model behind an LMOS agent.
        language_model: Option<LanguageModel> = "lmos:model",
        /// What an LMOS agent does with data.
        data_privacy: Option<DataPrivacy> = "lmos:dataPrivacy",
        /// How an LMOS agent is talked to.
        interaction: Option<Interaction> = "lmos:interaction",
        /// What services an LMOS agent is integrated with.
        service_integration: Option<Box<RawValue>> = "lmos:serviceIntegration",
        /// The rules that an LMOS agent keeps.
        compliance: Option<Box<RawValue>> = "lmos:compliance",
        /// The state that is exposed.
        properties: Named<PropertyAffordance> = "properties",
        /// What the Thing can do.
        actions: Named<ActionAffordance> = "actions",
        /// What it notifies of.
        events: Named<EventAffordance> = "events",
        /// Links to other resources.
        links: Vec<Link> = "links",
        /// Forms for all properties, actions or events together.
        forms: Vec<Form> = "forms",
        /// The names of the security definitions that apply.
        security: OneOrMany<String> = "security",
        /// How access is granted, by name.
        security_definitions: Named<SecurityScheme> = "securityDefinitions",
        /// Data schemas by name, for additional responses.
        schema_definitions: Named<DataSchema> = "schemaDefinitions",
        /// The variables of URI templates.
        uri_variables: Named<DataSchema> = "uriVariables",
    }
}

impl Thing {
    /// A Thing with that title and the context of TD 1.1.
    pub fn new(title: impl Into<String>) -> Thing {
        let context = OneOrMany::One(Context::Uri(CONTEXT_1_1.into()));
        Thing { context, title: title.into(), ..Thing::default() }
    }

    /// Reads a Thing Description; what doesn't fit a field is stored in `members`.
    ///
    /// # Errors
    /// Those of [`Document::parse`]; [`Error::Invalid`] where the text is not an object.
    pub fn parse(json: &str) -> Result<Thing> {
        let document = Document::parse(json.as_bytes())?;
        Thing::read(document.text()).ok_or_else(|| Error::Invalid(check::not_an_object(document.value())))
    }

    /// Writes the Thing Description as compact JSON, unless preserved texts have white space.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }
}
