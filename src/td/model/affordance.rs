//! Interaction affordances (TD 1.1, sections 5.3.1.2 to 5.3.1.5).

use super::{DataSchema, Form, Named, OneOrMany};

object! {
    /// State that a Thing exposes: it is described by a data schema, which has all members of the
    /// property but these.
    pub struct PropertyAffordance + schema: DataSchema {
        /// How it is read, written and observed.
        forms: Vec<Form> = "forms",
        /// The variables of its URI templates.
        uri_variables: Named<DataSchema> = "uriVariables",
        /// Whether it can be observed.
        observable: Option<bool> = "observable",
    }
}

object! {
    /// Something that a Thing can do.
    pub struct ActionAffordance {
        /// Semantic tags.
        types: OneOrMany<String> = "@type",
        /// A title in the default language.
        title: Option<String> = "title",
        /// The title by language.
        titles: Named<String> = "titles",
        /// A description in the default language.
        description: Option<String> = "description",
        /// The description by language.
        descriptions: Named<String> = "descriptions",
        /// How it is invoked.
        forms: Vec<Form> = "forms",
        /// The variables of its URI templates.
        uri_variables: Named<DataSchema> = "uriVariables",
        /// What it takes.
        input: Option<DataSchema> = "input",
        /// What it gives.
        output: Option<DataSchema> = "output",
        /// Whether it changes nothing.
        safe: Option<bool> = "safe",
        /// Whether repeating it changes nothing more.
        idempotent: Option<bool> = "idempotent",
        /// Whether the answer comes when the action is done.
        synchronous: Option<bool> = "synchronous",
    }
}

object! {
    /// Something that a Thing notifies of.
    pub struct EventAffordance {
        /// Semantic tags.
        types: OneOrMany<String> = "@type",
        /// A title in the default language.
        title: Option<String> = "title",
        /// The title by language.
        titles: Named<String> = "titles",
        /// A description in the default language.
        description: Option<String> = "description",
        /// The description by language.
        descriptions: Named<String> = "descriptions",
        /// How it is subscribed to.
        forms: Vec<Form> = "forms",
        /// The variables of its URI templates.
        uri_variables: Named<DataSchema> = "uriVariables",
        /// What a subscription takes.
        subscription: Option<DataSchema> = "subscription",
        /// What comes with each event.
        data: Option<DataSchema> = "data",
        /// What a consumer answers.
        data_response: Option<DataSchema> = "dataResponse",
        /// What a cancellation takes.
        cancellation: Option<DataSchema> = "cancellation",
    }
}
