//! From a configuration to Things, with what is kept of it.

use std::{cell::RefCell, collections::HashSet};

use super::{
    Configuration, Options,
    effort::Effort,
    findings::{Findings, Spot},
    graph::{Graph, Key},
    kept,
    redaction::Redaction,
    rules,
    source::Source,
    thing::{Mapper, checked_base},
};
use crate::{
    Error, Result,
    convert::{Conversion, ConvertedThing, Format, MAX_SOURCE_BYTES},
    td::{Document, Report, Violation},
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
    /// talked to or called, or (`invalid-base`) the base isn't one for forms; [`Error::LimitExceeded`] where
    /// a Thing Description would be larger than the registry takes, or all of them together.
    pub fn to_things(&self, options: &Options) -> Result<Conversion> {
        let Configuration { main, beside } = self;
        let base = options.base.as_deref().map(checked_base).transpose().map_err(|message| {
            let message = format!("the base can't be that of forms: {message}");
            refusal(Violation::new("", "invalid-base", message), Vec::new())
        })?;
        let mut findings = Findings::default();
        let graph = Graph::read(main, beside, options.profile, &mut findings);
        let inference = rules::check(&graph, &mut findings);
        if !findings.is_valid() {
            return Err(Error::InvalidSource { format: Format::AgentSpec.name(), report: findings.into_report() });
        }
        let redaction = Redaction::of(&main.value, beside.iter().map(|source| &source.value), options.publish_prompts);
        let mapper = Mapper {
            graph: &graph,
            inference: &inference,
            redaction: &redaction,
            options,
            base,
            spec_version: main.version(),
            effort: Effort::for_document(),
            ids: RefCell::default(),
        };
        let Some((root, kind)) = graph.root().and_then(|root| Some((root, mapper.kind(root)?))) else {
            return Err(no_thing(&graph, findings.into_report().warnings));
        };
        if !beside.is_empty() {
            let message = "the documents of components given beside the configuration aren't kept with it; \
                           whoever exports it needs them again";
            findings.warning(|| Spot { pointer: String::new(), document: 0 }, "components-not-kept", || message);
        }
        let id = mapper.thing_id(root)?;
        let description = Document::parse(mapper.describe(root, kind, true, &mut findings)?.as_bytes())?;
        let mut things = vec![ConvertedThing { id, description, source: kept::document(main, &redaction) }];
        things.extend(parts(&mapper, root, main, &mut findings)?);
        Ok(Conversion { things, warnings: findings.into_report().warnings })
    }
}

/// The Things of the parts of `root` that the options ask for.
///
/// # Errors
/// [`Error::LimitExceeded`] where a description would be larger than the registry takes, or they would all
/// be: many parts may refer to the same large one.
fn parts(mapper: &Mapper<'_, '_>, root: Key, main: &Source, findings: &mut Findings) -> Result<Vec<ConvertedThing>> {
    let nested = mapper.nested_things(root);
    mapper.check_effort()?;
    let mut known = HashSet::from([mapper.thing_id(root)?]);
    let mut bytes = 0;
    let mut things = Vec::new();
    for (key, kind) in nested {
        let id = mapper.thing_id(key)?;
        if !known.insert(id.clone()) {
            let message = "another component before this one gives a Thing of the same id, so that this one gives none";
            findings.warning(|| mapper.graph.at(key), "thing-id-repeated", || message);
            continue;
        }
        let description = Document::parse(mapper.describe(key, kind, false, findings)?.as_bytes())?;
        let source = kept::excerpt(mapper.graph, mapper.redaction, key, main);
        bytes += description.text().len() + source.bytes.len();
        if bytes > MAX_SOURCE_BYTES {
            let what = "length in bytes of the Things of the configuration's parts with what is kept of them";
            return Err(Error::LimitExceeded { what, maximum: MAX_SOURCE_BYTES as u64 });
        }
        things.push(ConvertedThing { id, description, source });
    }
    Ok(things)
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
