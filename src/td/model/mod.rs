//! Thing Descriptions as plain structures, for programs that build or read them: the whole vocabulary
//! of TD 1.1, and that of LMOS.
//!
//! Nothing is lost: a member that no field stands for, or whose value its field can't hold, is preserved
//! in `members` with its exact text, numbers included. A field that is set wins over a member of its
//! name. Reading is not validating: [`validate`](super::validate) and [`admit`](super::admit) say what
//! is wrong with a description.
//!
//! ```
//! use agentdex::td::{Document, Identity, Strictness, admit, model::{ActionAffordance, Form, SecurityScheme, Thing}};
//!
//! let mut thing = Thing::new("Weather agent");
//! thing.id = Some("urn:example:weather".into());
//! thing.security = "open".into();
//! thing.security_definitions.insert("open", SecurityScheme::new("nosec"));
//! let mut action = ActionAffordance::default();
//! action.description = Some("Says how the weather will be.".into());
//! action.forms.push(Form::new("https://weather.example/forecast"));
//! thing.actions.insert("forecast", action);
//!
//! let document = Document::parse(thing.to_json().as_bytes())?;
//! let admission = admit(document, Identity::Own, Strictness::Strict)?;
//! let read = Thing::parse(admission.thing.text())?;
//! assert_eq!(read.actions.get("forecast").unwrap().forms[0].href, "https://weather.example/forecast");
//! # Ok::<(), agentdex::Error>(())
//! ```

#[macro_use]
mod object;

mod affordance;
mod data_schema;
mod hypermedia;
mod lmos;
mod security;
mod thing;
mod values;

pub use affordance::{ActionAffordance, EventAffordance, PropertyAffordance};
pub use data_schema::{DataSchema, DataType};
pub use hypermedia::{AdditionalExpectedResponse, ExpectedResponse, Form, Link, Operation};
pub use lmos::{DataPrivacy, Interaction, LanguageModel, LmosCapability, Metadata, Vendor};
pub use security::SecurityScheme;
pub use thing::{Context, Thing, VersionInfo};
pub use values::{Named, Number, OneOrMany};
