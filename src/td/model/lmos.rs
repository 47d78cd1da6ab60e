//! The vocabulary of the LMOS protocol.

object! {
    /// Facts about an agent or tool.
    pub struct Metadata {
        /// Who made it.
        vendor: Option<Vendor> = "lmos:vendor",
    }
}

object! {
    /// Who made an agent or tool.
    pub struct Vendor {
        /// The name.
        name: Option<String> = "lmos:name",
        /// The web site.
        url: Option<String> = "lmos:url",
    }
}

object! {
    /// What an agent can do, as control planes describe it.
    pub struct LmosCapability {
        /// The id, such as `urn:telekom:capability:billing:view`.
        id: Option<String> = "id",
        /// The name.
        name: Option<String> = "name",
        /// The version.
        version: Option<String> = "version",
        /// What it does.
        description: Option<String> = "description",
        /// What a user might say.
        examples: Vec<String> = "examples",
    }
}

object! {
    /// The language model behind an agent.
    pub struct LanguageModel {
        /// Its name.
        name: Option<String> = "name",
        /// Who provides it.
        provider: Option<String> = "provider",
    }
}

object! {
    /// What happens with data.
    pub struct DataPrivacy {
        /// How long it is stored.
        retention_period: Option<String> = "dataRetentionPeriod",
        /// How it is made anonymous.
        anonymization_method: Option<String> = "anonymizationMethod",
    }
}

object! {
    /// How an agent is talked to.
    pub struct Interaction {
        /// In which languages.
        supported_languages: Vec<String> = "supportedLanguages",
        /// In which ways, such as `text` and `voice`.
        interaction_modes: Vec<String> = "interactionMode",
    }
}
