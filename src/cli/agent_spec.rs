//! What the commands share about Open Agent Spec: how a configuration is read, and what is made of it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::document::FileDocument;
use crate::convert::{
    Syntax,
    agent_spec::{self, Configuration},
};

/// The rules that a configuration is checked by.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(super) enum Profile {
    /// What the language demands
    #[default]
    Spec,
    /// What its reference implementation accepts
    Sdk,
}

impl From<Profile> for agent_spec::Profile {
    fn from(profile: Profile) -> agent_spec::Profile {
        match profile {
            Profile::Spec => agent_spec::Profile::Spec,
            Profile::Sdk => agent_spec::Profile::Sdk,
        }
    }
}

/// How agents are called at their base.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(super) enum Protocol {
    /// A POST of the inputs as JSON
    #[default]
    Http,
    /// The A2A protocol over JSON-RPC
    A2a,
}

impl From<Protocol> for agent_spec::Protocol {
    fn from(protocol: Protocol) -> agent_spec::Protocol {
        match protocol {
            Protocol::Http => agent_spec::Protocol::Http,
            Protocol::A2a => agent_spec::Protocol::A2a,
        }
    }
}

/// How a configuration is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Open Agent Spec")]
pub(super) struct Reading {
    /// The validation profile
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,
    /// A file with components that the documents refer to; may be repeated
    #[arg(long = "component", value_name = "FILE")]
    pub components: Vec<PathBuf>,
}

/// What is made of a configuration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Open Agent Spec")]
pub(super) struct AgentSpecMapping {
    #[command(flatten)]
    pub reading: Reading,
    /// How agents are called at `--base`
    #[arg(long, value_enum, default_value_t)]
    pub protocol: Protocol,
    /// The namespace of ids that are not UUIDs: urn:agentspec:NAME:ID
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub publisher: String,
    /// Make nested agents Things of their own
    #[arg(long)]
    pub nested: bool,
    /// Make tools that can be reached Things of their own
    #[arg(long)]
    pub tools: bool,
    /// Store and index prompts, instead of replacing them by references
    #[arg(long)]
    pub publish_prompts: bool,
}

impl AgentSpecMapping {
    /// The same as options of the converter.
    pub(super) fn options(&self, base: Option<String>, thing_model: bool) -> agent_spec::Options {
        agent_spec::Options {
            profile: self.reading.profile.into(),
            base,
            protocol: self.protocol.into(),
            publisher: self.publisher.clone(),
            nested: self.nested,
            tools: self.tools,
            publish_prompts: self.publish_prompts,
            thing_model,
        }
    }

    /// The same as parameters of the REST API.
    pub(super) fn parameters(&self) -> Vec<(&'static str, &str)> {
        let profile = match self.reading.profile {
            Profile::Spec => "spec",
            Profile::Sdk => "sdk",
        };
        let flags = [("nested", self.nested), ("tools", self.tools), ("publish_prompts", self.publish_prompts)];
        let flags = flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| (name, "true"));
        let protocol = agent_spec::Protocol::from(self.protocol).name();
        [("profile", profile), ("protocol", protocol), ("publisher", &self.publisher)]
            .into_iter()
            .chain(flags)
            .collect()
    }
}

/// The components that files name, each read once for all documents.
pub(super) fn read_components(files: &[PathBuf]) -> anyhow::Result<Vec<FileDocument>> {
    let read = |file: &PathBuf| {
        FileDocument::read(file).map_err(|error| anyhow::anyhow!("the component {}: {error}", file.display()))
    };
    files.iter().map(read).collect()
}

/// A configuration from what files hold.
pub(super) fn parse(document: &FileDocument, components: &[FileDocument]) -> crate::Result<Configuration> {
    let components: Vec<(&[u8], Syntax)> =
        components.iter().map(|component| (component.bytes.as_slice(), component.syntax)).collect();
    Configuration::parse(&document.bytes, document.syntax, &components)
}
