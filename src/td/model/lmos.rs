//! The vocabulary of the LMOS protocol.

use serde_json::value::RawValue;

use super::object::{Json, Object, ObjectWriter};

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

/// What an agent can do, as control planes describe it.
///
/// Its members are written with the prefix `lmos:`, without which JSON-LD takes some for others (`id` for that of
/// the node), and read in both spellings.
#[derive(Debug, Clone, Default)]
pub struct LmosCapability {
    /// The id, such as `urn:telekom:capability:billing:view`: `lmos:id`.
    pub id: Option<String>,
    /// The name: `lmos:name`.
    pub name: Option<String>,
    /// The version: `lmos:version`.
    pub version: Option<String>,
    /// What it does: `lmos:description`.
    pub description: Option<String>,
    /// Words to find it by: `lmos:tags`.
    pub tags: Vec<String>,
    /// What a user might say: `lmos:examples`.
    pub examples: Vec<String>,
    /// Which of these members are written without the prefix, by their names without it.
    pub unprefixed: Vec<String>,
    /// All other members: those that no field stands for, or whose value its field can't hold.
    pub members: Vec<(String, Box<RawValue>)>,
}

impl Object for LmosCapability {
    fn take(&mut self, name: &str, text: &str) {
        let own = name.strip_prefix("lmos:").unwrap_or(name);
        let is_taken = match own {
            "id" => take(&mut self.id, text),
            "name" => take(&mut self.name, text),
            "version" => take(&mut self.version, text),
            "description" => take(&mut self.description, text),
            "tags" => take(&mut self.tags, text),
            "examples" => take(&mut self.examples, text),
            _ => false,
        };
        match is_taken {
            true if own == name => self.unprefixed.push(own.to_owned()),
            true => {}
            false => self.members.take(name, text),
        }
    }

    fn write_members<'a>(&'a self, writer: &mut ObjectWriter<'a>) {
        let spelled = |name: &'static str| {
            let own = name.trim_start_matches("lmos:");
            if self.unprefixed.iter().any(|known| known == own) { own } else { name }
        };
        writer.field(spelled("lmos:id"), &self.id);
        writer.field(spelled("lmos:name"), &self.name);
        writer.field(spelled("lmos:version"), &self.version);
        writer.field(spelled("lmos:description"), &self.description);
        writer.field(spelled("lmos:tags"), &self.tags);
        writer.field(spelled("lmos:examples"), &self.examples);
        self.members.write_members(writer);
    }
}

object!(@traits LmosCapability);

/// Reads a field that has no value yet; whether it holds the value now.
fn take<T: Json>(field: &mut T, text: &str) -> bool {
    let value = T::read(text).filter(|value| field.is_absent() && !value.is_absent());
    let is_read = value.is_some();
    value.into_iter().for_each(|value| *field = value);
    is_read
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
