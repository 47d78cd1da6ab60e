//! What is made of documents in other formats: flags as options of the converters, and as parameters of
//! the REST API.

use anyhow::bail;
use clap::Args;

use super::agent_spec;
use crate::convert::{Format, a2a, lmos_capabilities};

/// What is made of documents in other formats.
#[derive(Debug, Args)]
#[command(next_help_heading = "Documents in other formats")]
pub(super) struct Mapping {
    /// The id of the agent that an agent card or capability file is about; else it is made of the document
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Where the agent is deployed (agent-spec), or where the document is from (lmos-capabilities, and a2a in td)
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    #[command(flatten)]
    pub agent_spec: agent_spec::AgentSpecMapping,
}

impl Mapping {
    /// Refuses an id that would be given to several agents.
    pub(super) fn check_number(&self, documents: usize) -> anyhow::Result<()> {
        if self.id.is_some() && documents > 1 {
            bail!("--id is the id of one agent, and there are {documents} documents");
        }
        Ok(())
    }

    /// Refuses an id where there is no place for one.
    pub(super) fn check_format(&self, format: Format) -> anyhow::Result<()> {
        match format {
            Format::ThingDescription | Format::AgentSpec if self.id.is_some() => {
                bail!(
                    "--id is for agent cards and capability files; a document of the format {format} has its id in it"
                )
            }
            _ => Ok(()),
        }
    }

    pub(super) fn agent_spec(&self, thing_model: bool) -> crate::convert::agent_spec::Options {
        self.agent_spec.options(self.base.clone(), thing_model)
    }

    pub(super) fn a2a(&self) -> a2a::Options {
        a2a::Options { id: self.id.clone(), base: self.base.clone() }
    }

    pub(super) fn lmos_capabilities(&self) -> lmos_capabilities::Options {
        lmos_capabilities::Options { id: self.id.clone(), base: self.base.clone() }
    }

    /// The same as parameters of `POST /import/{format}` for a document. Cards are taken without a base:
    /// what they say of their agent is absolute, or comes from where the registry fetches them.
    pub(super) fn parameters(&self, format: Format) -> Vec<(&'static str, &str)> {
        let base = self.base.as_deref().map(|base| ("base", base));
        match format {
            Format::ThingDescription => Vec::new(),
            Format::AgentSpec => self.agent_spec.parameters().into_iter().chain(base).collect(),
            Format::A2a => self.parameters_of_url(),
            Format::LmosCapabilities => self.parameters_of_url().into_iter().chain(base).collect(),
        }
    }

    /// The same for a document that the registry fetches.
    pub(super) fn parameters_of_url(&self) -> Vec<(&'static str, &str)> {
        self.id.iter().map(|id| ("id", id.as_str())).collect()
    }
}
