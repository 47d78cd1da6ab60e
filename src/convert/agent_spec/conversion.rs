//! From a configuration to Things, with what is kept of it.

use std::cell::RefCell;

use super::{
    Configuration, Options,
    findings::Findings,
    graph::{Graph, Key},
    kept,
    redaction::Redaction,
    rules,
    thing::{Mapper, checked_base},
};
use crate::{
    Error, Result,
    convert::{Conversion, ConvertedThing, Format, MAX_SOURCE_BYTES},
    td::{Report, Violation},
};

impl Configuration {
    /// Makes Things of the configuration: one of the component that it is about, and by the options more
    /// of those within. Secrets are nowhere in what is returned, and prompts only if they are published.
    ///
    /// ```
    /// use agentdex::convert::{Syntax, agent_spec::{Configuration, Options}};
    ///
    /// let yaml = b"component_type: A2AAgent
    /// id: weather
    /// name: Weather agent
    /// agent_url: https://weather.example/a2a
    /// connection_config: {component_type: A2AConnectionConfig, id: c, name: connection}
    /// agentspec_version: 25.4.2
    /// ";
    /// let configuration = Configuration::parse(yaml, Syntax::Yaml, &[])?;
    /// let conversion = configuration.to_things(&Options::default())?;
    /// assert_eq!(conversion.things[0].id, "urn:agentspec:local:weather");
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidSource`] where it is invalid, or (rule `no-thing`) is about nothing that can be
    /// talked to or called, or (`invalid-base`) the base isn't one for forms; [`Error::LimitExceeded`] where a Thing Description would be larger than the registry takes.
    pub fn to_things(&self, options: &Options) -> Result<Conversion> {
        let Some((main, beside)) = self.sources.split_first() else { return Ok(nothing()) };
        let base = options.base.as_deref().map(checked_base).transpose().map_err(|message| {
            let message = format!("the base can't be that of forms: {message}");
            refusal(Violation::new("", "invalid-base", message), Vec::new())
        })?;
        let mut findings = Findings::default();
        let graph = Graph::read(&self.sources, options.profile, &mut findings);
        let inference = rules::check(&graph, &mut findings);
        let report = findings.into_report();
        if !report.is_valid() {
            return Err(Error::InvalidSource { format: Format::AgentSpec.name(), report });
        }
        let redaction = Redaction::of(&main.value, beside.iter().map(|source| &source.value), options.publish_prompts);
        let spec_version = main.version();
        let mapper = Mapper {
            graph: &graph,
            inference: &inference,
            redaction: &redaction,
            options,
            base,
            spec_version,
            content_ids: RefCell::default(),
        };
        let mut warnings = report.warnings;
        let Some(root) = graph.root().filter(|root| mapper.kind(*root).is_some()) else {
            return Err(no_thing(&graph, warnings));
        };
        if !beside.is_empty() {
            let message = "the documents of components given beside the configuration aren't kept with it; \
                           whoever exports it needs them again";
            warnings.push(Violation::new("", "components-not-kept", message));
        }
        let mut bytes = 0;
        let mut things = Vec::new();
        for mapped in mapper.things(root, &mut warnings)? {
            let source = match mapped.key == root {
                true => kept::document(main, &redaction),
                false => kept::excerpt(&graph, &redaction, mapped.key, main),
            };
            bytes += source.bytes.len();
            if things.len() > 1 && bytes > MAX_SOURCE_BYTES {
                let what = "length in bytes of the configuration with those of its parts";
                return Err(Error::LimitExceeded { what, maximum: MAX_SOURCE_BYTES as u64 });
            }
            things.push(ConvertedThing { id: mapped.id, description: mapped.description, source });
        }
        Ok(Conversion { things, warnings })
    }
}

fn nothing() -> Conversion {
    Conversion { things: Vec::new(), warnings: Vec::new() }
}

fn refusal(violation: Violation, warnings: Vec<Violation>) -> Error {
    let report = Report { version: None, violations: vec![violation], warnings };
    Error::InvalidSource { format: Format::AgentSpec.name(), report }
}

fn no_thing(graph: &Graph<'_>, warnings: Vec<Violation>) -> Error {
    let what = |root: Key| format!("the configuration is about a {}", graph.type_name(root));
    let found = graph.root().map_or_else(|| "the document only defines components for others".to_owned(), what);
    let message = format!(
        "{found}, which gives no Thing: that takes an agent, a flow, or a tool that can be reached (a RemoteTool, \
         or an MCPTool or MCPToolBox whose transport has a URL)"
    );
    refusal(Violation::new("", "no-thing", message), warnings)
}
