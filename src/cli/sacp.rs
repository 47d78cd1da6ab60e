//! `agentdex sacp`: the instructions that make an agent answer in SACP, and what is wrong with an answer.

use std::{
    fs,
    io::{self, Read, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::agent_name::no_agent;
use super::output::{complain, print_json, red_on_stderr};
use super::terminal::stdout;
use agentdex::sacp::{self, DataContract, Expected, Found, Given};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print instructions to append to a system prompt.
    Prompt {
        /// Id of an agent; the instructions then list the members of `data` that its action declares
        id: Option<String>,
        #[command(flatten)]
        action: Action,
        /// Print the instructions as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check whether an answer follows SACP.
    Check {
        /// File with the answer of the agent, or - for standard input
        file: PathBuf,
        /// Id of the agent that answered; the data of the answer is checked against the output declared by its action
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Print a JSON object with the SACP response, its place in the answer, repairs, and violations
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        action: Action,
    },
}

#[derive(Debug, Args)]
struct Action {
    /// Action to use; required if several actions of the agent answer in SACP
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
}

/// `registry` makes the client where an agent is named.
pub(super) async fn run(
    arguments: &Arguments,
    registry: impl FnOnce() -> anyhow::Result<RegistryClient>,
) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Prompt { id, action, json } => {
            let contract = action.contract(id.as_deref(), registry).await?;
            let instructions = sacp::instructions(contract.as_ref());
            match json {
                true => print_json(&json!({"instructions": instructions}))?,
                false => write!(stdout(), "{instructions}")?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Check { file, agent, json, action } => {
            let contract = action.contract(agent.as_deref(), registry).await?;
            let text = read(file).with_context(|| format!("reading {}", file.display()))?;
            check(&text, contract, *json)
        }
    }
}

fn read(file: &PathBuf) -> io::Result<String> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().read_to_end(&mut bytes)?;
    } else {
        bytes = fs::read(file)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn check(text: &str, contract: Option<DataContract>, as_json: bool) -> anyhow::Result<ExitCode> {
    let answer = sacp::read_answer(&Given::text(text), &Expected::response(contract));
    let mut out = stdout();
    if as_json {
        print_json(&answer.report())?;
    } else {
        writeln!(out, "{}: {}", answer.response.status, answer.response.message)?;
        match answer.found() {
            Found::Whole => {}
            Found::Fenced => writeln!(out, "  the response is in a code fence; it should be the entire text")?,
            Found::Embedded => {
                writeln!(out, "  the response is surrounded by other text; it should be the entire text")?
            }
            Found::Nowhere => {
                writeln!(out, "  the answer contains no SACP response; it was read as the response above")?
            }
        }
        for repair in &answer.repairs {
            writeln!(out, "  repaired: {repair}")?;
        }
        for violation in answer.violations.iter().chain(&answer.mismatches) {
            complain(&format!("{} {violation}", red_on_stderr("error:")));
        }
    }
    Ok(if answer.is_valid() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Action {
    /// The data that the action of an agent declares, if one is given.
    async fn contract(
        &self,
        id: Option<&str>,
        registry: impl FnOnce() -> anyhow::Result<RegistryClient>,
    ) -> anyhow::Result<Option<DataContract>> {
        let Some(id) = id else { return Ok(None) };
        let client = registry()?;
        let Some(thing) = client.find(id).await? else {
            return Err(no_agent(&client, id).await);
        };
        let thing: Value = serde_json::from_str(&thing).context("reading the agent's description")?;
        let actions = thing["actions"].as_object().into_iter().flatten();
        let mut contracts = Vec::new();
        for (name, action) in actions.filter(|(name, _)| self.action.as_ref().is_none_or(|wanted| wanted == *name)) {
            let contract = DataContract::of_action(action).with_context(|| format!("action {name:?} of {id}"))?;
            contracts.extend(contract.map(|contract| (name.clone(), contract)));
        }
        match contracts.len() {
            0 => {
                let fault = match &self.action {
                    Some(action) => format!("{id:?} has no action {action:?} that declares SACP responses"),
                    None => format!("no action of {id:?} declares SACP responses"),
                };
                bail!("{fault}; an `output` must have \"@type\": \"sacp:Response\"")
            }
            1 => Ok(Some(contracts.remove(0).1)),
            _ => {
                let names: Vec<String> = contracts.into_iter().map(|(name, _)| name).collect();
                bail!(
                    "several actions of {id:?} declare SACP responses; choose one with --action: {}",
                    names.join(", ")
                )
            }
        }
    }
}
