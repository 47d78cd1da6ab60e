//! Credentials in registered descriptions: they are flagged, replaced, or refused.

use crate::{
    Error, Result,
    convert::Credentials,
    td::{self, Admission, Document, Identity, Report, Strictness},
};

/// Treatment of credentials in registered descriptions, including edits of imported agents. Credentials in documents
/// of other formats are always replaced on import.
///
/// ```
/// use agentdex::{Error, Registry, registry::{Options, Redaction}, td::Description};
///
/// # let directory = tempfile::tempdir()?;
/// let options = Options::default().redaction(Redaction::Refuse);
/// let registry = Registry::builder(directory.path()).options(options).open()?;
/// let agent = Description::new("Rates").id("urn:example:rates").description("GET https://joe:hunter2@rates.example/");
/// match registry.register(agent) {
///     Err(Error::CredentialInDescription(report)) => assert_eq!(report.violations[0].pointer, "/description"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Redaction {
    /// Store credentials unchanged, each with a warning, and set the flag `credential` of the description.
    #[default]
    Flag,
    /// Replace credentials before storing the description, each with a warning.
    Replace,
    /// Refuse descriptions with credentials.
    Refuse,
}

impl Redaction {
    /// Applies the policy to the credentials of a description before it is stored.
    ///
    /// # Errors
    /// [`Error::CredentialInDescription`] if credentials are refused, or if replacing them would make the description
    /// invalid or change its id.
    #[doc(hidden)]
    pub fn apply(self, mut admission: Admission, strictness: Strictness) -> Result<Admission> {
        let credentials = Credentials::find(admission.thing.text(), admission.thing.value());
        match self {
            _ if credentials.is_empty() => {}
            Redaction::Flag => admission.warnings.extend(credentials.warnings()),
            Redaction::Replace => {
                let replaced = credentials.replaced(admission.thing.text())?;
                let replaced = td::admit(replaced, Identity::Addressed(admission.thing.id()), strictness);
                admission.thing = replaced.map_err(|_| refusal(&credentials))?.thing;
                admission.warnings.extend(credentials.replacements());
            }
            Redaction::Refuse => return Err(refusal(&credentials)),
        }
        Ok(admission)
    }

    /// Returns the text of a description as it would be stored.
    ///
    /// # Errors
    /// Same as [`Document::parse`].
    #[doc(hidden)]
    pub fn stored_text(self, description: &Document) -> Result<String> {
        let text = description.text();
        match self {
            Redaction::Replace => Ok(Credentials::find(text, description.value()).replaced(text)?.text().to_owned()),
            Redaction::Flag | Redaction::Refuse => Ok(text.to_owned()),
        }
    }
}

fn refusal(credentials: &Credentials) -> Error {
    Error::CredentialInDescription(Report { violations: credentials.violations().collect(), ..Report::default() })
}
