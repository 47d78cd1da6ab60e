//! `agentdex context`: registries by name.

use std::{io::Write, path::PathBuf, process::ExitCode};

use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    contexts::{Context, Contexts},
    output::{INDENT, Style, print_json, visible},
    remote::Remote,
    terminal::stdout,
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Save the registry at --url, with its API key and certificates.
    #[command(
        after_help = "The API key is read from --api-key or from the variable AGENTDEX_API_KEY, and stored in a file \
        that only you can read. The first context that you add becomes the current context."
    )]
    Add {
        /// Name of the context
        #[arg(value_parser = name)]
        name: String,
        /// Select this context for later commands
        #[arg(long = "use")]
        is_used: bool,
        /// Replace a context of the same name
        #[arg(long)]
        force: bool,
        /// Print the context as JSON, without its key
        #[arg(long)]
        json: bool,
    },
    /// Select the context that later commands use.
    Use {
        /// Name of the context
        name: String,
        /// Print the context as JSON, without its key
        #[arg(long)]
        json: bool,
    },
    /// List all contexts.
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Remove a context, with its API key.
    Remove {
        /// Name of the context
        name: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Reads a name that needs no quotes in a shell.
fn name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character));
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("a name consists of ASCII letters, digits, hyphens, underscores, and dots, and can't start with a hyphen"
            .to_owned())
    }
}

pub(super) fn run(arguments: &Arguments, remote: &Remote) -> anyhow::Result<ExitCode> {
    let mut contexts = Contexts::load()?;
    match &arguments.action {
        Action::Add { name, is_used, force, json } => {
            if contexts.find(name).is_some() && !force {
                bail!("context {name:?} already exists; use --force to replace it");
            }
            contexts.set(name, remote.to_context()?);
            if *is_used || contexts.current().is_none() {
                contexts.select(name);
            }
            contexts.save()?;
            let is_current = contexts.current() == Some(name.as_str());
            let hint = if is_current { "it is the current context" } else { "`agentdex context use` selects it" };
            print_one(&contexts, name, *json, &format!("added {name}; {hint}"))?;
        }
        Action::Use { name, json } => {
            contexts.get(name)?;
            contexts.select(name);
            contexts.save()?;
            print_one(&contexts, name, *json, &format!("using {name}"))?;
        }
        Action::List { json } => match json {
            true => print_json(&contexts.names().map(|name| to_json(&contexts, name)).collect::<Vec<_>>())?,
            false => print_all(&contexts)?,
        },
        Action::Remove { name, json } => {
            contexts.get(name)?;
            contexts.remove(name);
            contexts.save()?;
            match json {
                true => print_json(&json!({"name": name, "effect": "removed"}))?,
                false => writeln!(stdout(), "removed {name}")?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_one(contexts: &Contexts, name: &str, as_json: bool, text: &str) -> anyhow::Result<()> {
    match as_json {
        true => print_json(&to_json(contexts, name)),
        false => Ok(writeln!(stdout(), "{text}")?),
    }
}

/// A context without its key.
fn to_json(contexts: &Contexts, name: &str) -> Value {
    let Some(Context { url, api_key, ca, client_cert }) = contexts.find(name) else { return Value::Null };
    json!({
        "name": name, "url": without_password(url), "current": contexts.current() == Some(name), "apiKey": api_key.is_some(),
        "ca": ca, "clientCert": client_cert,
    })
}

/// A URL as it is shown.
fn without_password(url: &str) -> String {
    agentdex_client::RegistryClient::new(url).map_or_else(|_| url.to_owned(), |client| client.url().to_owned())
}

fn print_all(contexts: &Contexts) -> anyhow::Result<()> {
    let (style, mut out) = (Style::stdout(), stdout());
    let mut is_empty = true;
    for name in contexts.names() {
        is_empty = false;
        let Some(Context { url, api_key, ca, client_cert }) = contexts.find(name) else { continue };
        let current = if contexts.current() == Some(name) { " (current)" } else { "" };
        writeln!(out, "{}{current}", style.bold(name))?;
        writeln!(out, "{INDENT}{}", visible(&without_password(url)))?;
        let file = |what: &str, path: &Option<PathBuf>| path.as_ref().map(|path| format!("{what} {}", path.display()));
        let key = api_key.as_ref().map(|_| "with an API key".to_owned());
        let details = key.into_iter().chain(file("authorities in", ca)).chain(file("certificate in", client_cert));
        let details = details.collect::<Vec<_>>().join(", ");
        if !details.is_empty() {
            writeln!(out, "{INDENT}{}", visible(&details))?;
        }
    }
    if is_empty {
        writeln!(out, "No contexts. `agentdex context add NAME --url URL` saves one.")?;
    }
    Ok(())
}
