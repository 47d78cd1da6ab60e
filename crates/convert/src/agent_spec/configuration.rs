//! `Configuration`: the documents of a configuration, and their validation.

use super::{Profile, findings::Findings, reading, rules, source::Source};
use crate::{Result, Syntax, td::Report};

/// A configuration as received, which may be invalid.
#[derive(Debug)]
pub struct Configuration {
    pub(super) main: Source,
    /// The documents of components.
    pub(super) beside: Vec<Source>,
}

impl Configuration {
    /// Parses a configuration and its component documents.
    ///
    /// # Errors
    /// The errors of [`Syntax::to_json`]; [`crate::Error::LimitExceeded`] if a document is nested too deeply.
    pub fn parse(main: &[u8], syntax: Syntax, components: &[(&[u8], Syntax)]) -> Result<Configuration> {
        Configuration::parse_for(main, syntax, components, Profile::Spec)
    }

    /// Like [`Configuration::parse`], for a profile. In the profile of the SDK, plain YAML scalars are interpreted as
    /// by PyYAML.
    ///
    /// # Errors
    /// Same as [`Configuration::parse`].
    pub fn parse_for(
        main: &[u8],
        syntax: Syntax,
        components: &[(&[u8], Syntax)],
        profile: Profile,
    ) -> Result<Configuration> {
        let read = |bytes: &[u8], syntax: Syntax| Source::parse(bytes, syntax, profile);
        let main = read(main, syntax)?;
        let beside = components.iter().map(|(bytes, syntax)| read(bytes, *syntax)).collect::<Result<_>>()?;
        Ok(Configuration { main, beside })
    }

    /// Returns all violations of a profile in the configuration.
    ///
    /// ```
    /// use agentdex_convert::{Syntax, agent_spec::{Configuration, Profile}};
    ///
    /// let text = br#"{"component_type": "ServerTool", "name": "clock", "agentspec_version": "25.4.1"}"#;
    /// let configuration = Configuration::parse(text, Syntax::Json, &[])?;
    /// assert!(configuration.validate(Profile::Spec).is_valid());
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    pub fn validate(&self, profile: Profile) -> Report {
        self.with_edits_of_export(self.with_way_out(self.judge(profile), profile))
    }

    /// True if the component defined by the configuration has an id, or if no component is defined.
    pub fn has_id(&self, profile: Profile) -> bool {
        let graph = reading::read(&self.main, &self.beside, profile, &mut Findings::default());
        graph.root().is_none_or(|root| graph.id(root).is_some_and(|id| !id.is_empty()))
    }

    fn judge(&self, profile: Profile) -> Report {
        let mut findings = Findings::default();
        let graph = reading::read(&self.main, &self.beside, profile, &mut findings);
        rules::check(&graph, &mut findings);
        findings.into_report()
    }

    /// The report, which says so if only the text of the language demands something.
    pub(super) fn with_way_out(&self, mut report: Report, profile: Profile) -> Report {
        if profile == Profile::Spec
            && let Some(first) = report.violations.first_mut()
            && self.judge(Profile::Sdk).is_valid()
        {
            first.message = format!(
                "{} (required only by the text of the specification; to apply the rules of the SDK instead, use \
                 `--profile sdk` or `?profile=sdk`)",
                first.message
            );
        }
        report
    }
}
