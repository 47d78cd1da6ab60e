//! Conversion of a configuration to Things, and the parts of the configuration to be stored.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use super::{
    Configuration, Options,
    findings::{Findings, Spot},
    graph::{Graph, Key},
    inference::Inference,
    reading, rules,
    secrets::Secrets,
    stored,
    thing::{Base, Mapper},
};
use crate::casting::effort::Effort;
use crate::{
    Conversion, ConvertedThing, Error, Format, MAX_SOURCE_BYTES, Result,
    redaction::without_credentials,
    td::{self, LmosKind, Report, Violation},
};

impl Configuration {
    /// Creates Things from the configuration: one from the component that it defines and, depending on the options,
    /// more from nested components. The result contains no secrets, and contains prompts only if they are published.
    ///
    /// ```
    /// # if !cfg!(feature = "yaml") { return Ok(()); }
    /// use agentdex_convert::{Syntax, agent_spec::{Configuration, Options}};
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
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidSource`] if the configuration is invalid, if (rule `no-thing`) it defines nothing that can be
    /// called, or if (rule `invalid-base`) the base URL can't be used in forms; [`Error::LimitExceeded`] if a Thing
    /// Description exceeds the size limit, or all of them together do.
    pub fn to_things(&self, options: &Options) -> Result<Conversion> {
        let Configuration { main, beside } = self;
        let base = options.base.as_deref().map(Base::parse).transpose().map_err(|message| {
            let message = format!("invalid `base`: {message}");
            refusal(Violation::new("", "invalid-base", message), Vec::new())
        })?;
        let mut findings = Findings::default();
        let graph = reading::read(main, beside, options.profile, &mut findings);
        let inference = rules::check(&graph, &mut findings);
        if !findings.is_valid() {
            let report = self.with_way_out(findings.into_report(), options.profile);
            return Err(Error::InvalidSource { format: Format::AgentSpec.name(), report });
        }
        let secrets = Secrets::of(main, beside, options.publish_prompts);
        secrets.report(&mut findings);
        if let Some(thing) = self.exported_thing(&secrets, options, &mut findings)? {
            let (things, warnings) = (vec![thing], findings.into_report().warnings);
            return Ok(Conversion { things, warnings, ..Conversion::default() });
        }
        let Some(clean) = secrets.documents_without(main, beside)? else {
            return self.map(
                &Prepared { graph: &graph, inference: &inference, secrets: &secrets, base },
                options,
                findings,
            );
        };
        let (main, beside) = &clean;
        // What was sent is valid, so that nothing about the document without its secrets is news.
        let graph = reading::read(main, beside, options.profile, &mut Findings::default());
        let inference = rules::check(&graph, &mut Findings::default());
        self.map(&Prepared { graph: &graph, inference: &inference, secrets: &secrets, base }, options, findings)
    }

    /// Makes Things of a configuration that is valid and has no secrets any more.
    fn map(&self, prepared: &Prepared<'_, '_>, options: &Options, mut findings: Findings) -> Result<Conversion> {
        let Prepared { graph, inference, secrets, base } = prepared;
        let Configuration { main, beside } = self;
        let mut mapper = Mapper {
            graph,
            inference,
            hidden: secrets.hidden(),
            sent: &main.value,
            options,
            base: base.clone(),
            registered: HashSet::new(),
            spec_version: main.version(),
            effort: Effort::for_document(),
            ids: RefCell::default(),
        };
        let Some((root, kind)) = graph.root().and_then(|root| Some((root, mapper.kind(root)?))) else {
            return Err(no_thing(graph, findings.into_report().warnings));
        };
        if !beside.is_empty() {
            let message = "component documents passed with the configuration are not stored; keep them, because \
                the exported configuration refers to them";
            findings.warning(|| Spot { pointer: String::new(), document: 0 }, "components-not-stored", || message);
        }
        if let Some(id) = &options.id {
            mapper.ids.borrow_mut().insert(root, td::normalize_id(id)?.into_owned());
        }
        let mut parts = vec![(root, kind)];
        parts.extend(mapper.nested_things(root));
        mapper.check_effort()?;
        parts = without_repetition(&mapper, parts)?;
        mapper.registered = parts.iter().map(|(key, _)| *key).collect();
        check_addresses(&mapper, &parts, &mut findings)?;
        let things = self.things(&mapper, &parts, secrets, &mut findings)?;
        Ok(Conversion { things, warnings: findings.into_report().warnings, ..Conversion::default() })
    }

    /// The Things of components, the first of which is what the configuration is about.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where a description would be larger than the registry takes, or they would all
    /// be: many parts may refer to the same large one.
    fn things(
        &self,
        mapper: &Mapper<'_, '_>,
        parts: &[(Key, LmosKind)],
        secrets: &Secrets,
        findings: &mut Findings,
    ) -> Result<Vec<ConvertedThing>> {
        let documents = if parts.len() > 1 { secrets.stored_values(&self.main, &self.beside)? } else { Vec::new() };
        let mut bytes = 0;
        let mut things = Vec::with_capacity(parts.len());
        for (index, (key, kind)) in parts.iter().copied().enumerate() {
            let source = match index {
                0 => stored::document(&self.main, secrets)?,
                _ => stored::excerpt(mapper.graph, &documents, key, &self.main)?,
            };
            let thing = mapper.describe(key, kind, source, findings)?;
            if index > 0 {
                bytes += thing.description.text().len() + thing.source.bytes.len();
            }
            if bytes > MAX_SOURCE_BYTES {
                let what = "total size in bytes of the converted Things and their sources";
                return Err(Error::LimitExceeded { what, maximum: MAX_SOURCE_BYTES as u64 });
            }
            things.push(thing);
        }
        Ok(things)
    }
}

/// The parts without those that are there again.
///
/// # Errors
/// [`Error::InvalidSource`] where two different ones would be the same Thing.
fn without_repetition(mapper: &Mapper<'_, '_>, parts: Vec<(Key, LmosKind)>) -> Result<Vec<(Key, LmosKind)>> {
    let mut known: HashMap<String, Key> = HashMap::new();
    let mut single = Vec::with_capacity(parts.len());
    for (key, kind) in parts {
        let id = mapper.thing_id(key)?;
        let Some(first) = known.get(&id).copied() else {
            known.insert(id, key);
            single.push((key, kind));
            continue;
        };
        if mapper.graph.component(first).members != mapper.graph.component(key).members {
            let message = format!(
                "this component has the same id as the component at {:?}, so both would be the same Thing; change one \
                 of the ids",
                mapper.graph.pointer(first),
            );
            return Err(refusal(Violation::new(mapper.graph.pointer(key), "repeated-id", message), Vec::new()));
        }
    }
    Ok(single)
}

/// Warns once where nothing says how Things are called.
///
/// # Errors
/// [`Error::InvalidSource`] where several agents would have the same address.
fn check_addresses(mapper: &Mapper<'_, '_>, parts: &[(Key, LmosKind)], findings: &mut Findings) -> Result<()> {
    let deployed = || parts.iter().filter(|(key, _)| !mapper.is_reached(*key)).count();
    if mapper.base.as_ref().is_some_and(Base::is_shared) && deployed() > 1 {
        let message = "several agents would have the address in `base`; include `{id}` or `{name}` in it, such as \
             https://host/agents/{id}";
        return Err(refusal(Violation::new("", "invalid-base", message), Vec::new()));
    }
    let mut missing = parts.iter().map(|(key, _)| *key).filter(|key| mapper.has_no_target(*key));
    if let Some(first) = missing.next() {
        let message = || {
            let more = match missing.count() {
                0 => String::new(),
                1 => " (as is 1 other)".to_owned(),
                more => format!(" (as are {more} others)"),
            };
            match mapper.relative_url(first) {
                Some(url) => format!(
                    "the URL {:?} is relative and has no base, so this component is described by capabilities instead \
                     of an action{more}; use an absolute URL, or give the address of the agent as `base` (`--base`)",
                    without_credentials(url)
                ),
                None => format!(
                    "the address is missing, so this component is described by capabilities instead of an \
                     action{more}; give the URL of the agent as `base` (`--base`)"
                ),
            }
        };
        findings.warning(|| mapper.graph.at(first), "no-endpoint", message);
    }
    Ok(())
}

/// A configuration without its secrets, and what is known of it.
struct Prepared<'p, 'd> {
    graph: &'p Graph<'d>,
    inference: &'p Inference<'d>,
    secrets: &'p Secrets,
    base: Option<Base>,
}

fn refusal(violation: Violation, warnings: Vec<Violation>) -> Error {
    let report = Report { version: None, violations: vec![violation], warnings };
    Error::InvalidSource { format: Format::AgentSpec.name(), report }
}

fn no_thing(graph: &Graph<'_>, warnings: Vec<Violation>) -> Error {
    let what = |root: Key| format!("the configuration defines a component of the type {}", graph.type_name(root));
    let found =
        graph.root().map_or_else(|| "the document only defines components for other documents".to_owned(), what);
    let message =
        format!("{found}; only agents, flows, and callable tools (RemoteTool, MCPTool, MCPToolBox) can become Things");
    refusal(Violation::new("", "no-thing", message), warnings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relative_url_is_named() {
        let warning = |document: serde_json::Value| {
            let configuration = Configuration::parse(document.to_string().as_bytes(), crate::Syntax::Json, &[])
                .expect("a configuration");
            let conversion = configuration.to_things(&Options::default()).expect("a Thing");
            let found = conversion.warnings.into_iter().find(|warning| warning.rule == "no-endpoint");
            found.map(|found| found.message).unwrap_or_default()
        };
        let named = |members: serde_json::Value| {
            let mut document = json!({
                "id": "t", "name": "t", "description": "d", "inputs": [], "outputs": [], "agentspec_version": "25.4.2",
            });
            document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            document
        };
        let transport = json!({"component_type": "SSETransport", "id": "c", "name": "c", "url": "/relative/x"});
        for members in [
            json!({"component_type": "RemoteTool", "url": "/relative/x", "http_method": "POST"}),
            json!({"component_type": "MCPTool", "client_transport": transport}),
        ] {
            let message = warning(named(members.clone()));
            assert!(
                message.contains("\"/relative/x\" is relative") && message.contains("--base"),
                "{members}: {message}"
            );
        }
    }
}
