//! Open Agent Spec: configurations of agents, flows and tools.
//!
//! A [`Configuration`] is read into a graph of its components, by one table of the types that there are,
//! and validated in one of two [`Profile`]s: by the text of the language, or by what its SDK accepts.

mod casting;
mod coercion;
mod components;
mod conversion;
mod cursor;
mod document;
mod effort;
mod export;
mod faults;
mod fields;
mod findings;
mod format;
mod graph;
mod identity;
mod inference;
mod json_schema;
mod marks;
mod pattern;
mod placeholders;
mod places;
mod property;
mod reader;
mod references;
mod rules;
mod scan;
mod sdk_types;
mod secrets;
mod source;
mod stored;
mod thing;
mod types;
mod version;
mod yaml_text;

pub(super) use self::format::FORMAT;
pub use self::{
    export::from_thing,
    thing::{AGENT_SPEC_CONTEXT, AGENT_SPEC_NAMESPACE},
};
use self::{findings::Findings, graph::Graph, source::Source};
use crate::{Result, convert::Syntax, td::Report};

/// What a configuration is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The text of the language.
    #[default]
    Spec,
    /// What the language's SDK for Python (pyagentspec 26.3.1) accepts.
    Sdk,
}

/// How an agent is called at the base that it is deployed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// A POST of its inputs as JSON.
    #[default]
    Http,
    /// The A2A protocol, version 1.0, over JSON-RPC.
    A2a,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 2] = [Protocol::Http, Protocol::A2a];

    /// Its name in parameters and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::A2a => "a2a",
        }
    }
}

/// How Things are made of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What the configuration must be valid by.
    pub profile: Profile,
    /// The address of the agent, such as `https://host/agents/weather`. `{id}` and `{name}` in it are filled
    /// in, which several agents need.
    pub base: Option<String>,
    /// How it is called there.
    pub protocol: Protocol,
    /// Who publishes the configuration: part of the ids that are made of ids that are no UUIDs.
    pub publisher: String,
    /// Nested agents become Things of their own.
    pub nested: bool,
    /// Nested tools that can be reached become Things of their own.
    pub tools: bool,
    /// Prompts are handed out with the configuration, and are searched.
    pub publish_prompts: bool,
    /// Thing Models are made where no endpoint is known.
    pub thing_model: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            profile: Profile::default(),
            base: None,
            protocol: Protocol::default(),
            publisher: "local".to_owned(),
            nested: false,
            tools: false,
            publish_prompts: false,
            thing_model: false,
        }
    }
}

/// A configuration as it came; nothing is said about its validity yet.
#[derive(Debug)]
pub struct Configuration {
    main: Source,
    /// The documents of components.
    beside: Vec<Source>,
}

impl Configuration {
    /// Reads a configuration, and the documents of components that are given beside it.
    ///
    /// # Errors
    /// Those of [`Syntax::to_json`], and [`crate::Error::LimitExceeded`] where it is nested too deep.
    pub fn parse(main: &[u8], syntax: Syntax, components: &[(&[u8], Syntax)]) -> Result<Configuration> {
        let main = Source::parse(main, syntax)?;
        let beside = components.iter().map(|(bytes, syntax)| Source::parse(bytes, *syntax)).collect::<Result<_>>()?;
        Ok(Configuration { main, beside })
    }

    /// Everything that is wrong with the configuration by a profile.
    ///
    /// ```
    /// use agentdex::convert::{Syntax, agent_spec::{Configuration, Profile}};
    ///
    /// let text = br#"{"component_type": "ServerTool", "name": "clock", "agentspec_version": "25.4.1"}"#;
    /// let configuration = Configuration::parse(text, Syntax::Json, &[])?;
    /// assert!(configuration.validate(Profile::Spec).is_valid());
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    pub fn validate(&self, profile: Profile) -> Report {
        self.with_way_out(self.judge(profile), profile)
    }

    fn judge(&self, profile: Profile) -> Report {
        let mut findings = Findings::default();
        let graph = Graph::read(&self.main, &self.beside, profile, &mut findings);
        rules::check(&graph, &mut findings);
        findings.into_report()
    }

    /// The report, which says so if only the text of the language demands something.
    fn with_way_out(&self, mut report: Report, profile: Profile) -> Report {
        if profile == Profile::Spec
            && let Some(first) = report.violations.first_mut()
            && self.judge(Profile::Sdk).is_valid()
        {
            first.message = format!(
                "{} (only the text of the language demands this: `--profile sdk`, `?profile=sdk`, takes the configuration \
                 as the language's SDK does)",
                first.message
            );
        }
        report
    }
}
