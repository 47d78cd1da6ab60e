//! `agentdex keys`: API keys of a registry that runs, or in the directory of one that is stopped.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use serde_json::json;

use super::terminal::stdout;
use super::{
    moments, output,
    remote::{Done, for_each},
};
use agentdex::{
    access::{ApiKey, NewKey, Owner, Role},
    registry::{self, Keys},
    store::Store,
};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Use the data directory of a stopped registry instead of a running server, for example to create the first key
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Create a key and print it. It can't be shown again.
    Create {
        /// Permissions of the key
        #[arg(long, value_name = "read|register|admin")]
        role: Role,
        /// Team, service, or person that the key is for
        #[arg(long, value_name = "NAME")]
        owner: Owner,
        /// Validity period of the key, such as 90d, 12h, 30min, or 60s [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = seconds)]
        expires: Option<u64>,
        /// Print the key and its permissions as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the keys, without their secrets.
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Revoke keys. Requests with them are refused from then on.
    Revoke {
        /// Ids of the keys, or the keys themselves
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Print a line of JSON for each key
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(action: &Action, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    match action {
        Action::Create { role, owner, expires, json } => {
            let new = NewKey { role: *role, owner: owner.clone(), ttl: *expires };
            print_new(&client.create_key(&new).await?, *json)
        }
        Action::List { json } => print_all(&client.keys().await?, *json),
        Action::Revoke { ids, json } => {
            let ids: Vec<String> = ids.iter().map(|text| id_of(text).to_owned()).collect();
            for_each(&ids, *json, async |id| Ok(client.revoke_key(id).await.map(|()| revoked(id))?)).await
        }
    }
}

/// The same in the data directory of a registry that is stopped.
pub(super) fn run_in(directory: &Path, action: &Action) -> anyhow::Result<ExitCode> {
    match action {
        Action::Create { role, owner, expires, json } => {
            let new = NewKey { role: *role, owner: owner.clone(), ttl: *expires };
            print_new(&in_directory(directory, |keys| keys.create(new))?, *json)
        }
        Action::List { json } => print_all(&in_directory(directory, |keys| Ok(keys.list()))?, *json),
        Action::Revoke { ids, json } => revoke_in(directory, ids, *json),
    }
}

/// True if the directory of a stopped registry has keys, or agents that not everybody may see.
pub(super) fn are_needed(directory: &Path) -> anyhow::Result<bool> {
    in_store(directory, |store| Ok(store.has_restricted() || !Keys::open(store)?.list().is_empty()))
}

/// Does something with the keys in the directory of a registry that is stopped.
fn in_directory<T>(directory: &Path, act: impl FnOnce(&Keys) -> agentdex::Result<T>) -> anyhow::Result<T> {
    in_store(directory, |store| act(&Keys::open(store)?))
}

fn in_store<T>(directory: &Path, act: impl FnOnce(&Store) -> agentdex::Result<T>) -> anyhow::Result<T> {
    let options = agentdex::store::Options::default().followed(registry::followed(directory));
    let store = Store::open(directory, options)?;
    let done = act(&store);
    store.close();
    Ok(done?)
}

fn print_new((key, text): &(ApiKey, String), as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let mut json = json!(key);
        json["key"] = text.as_str().into();
        output::print_json(&json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let until = key.expires.map_or_else(|| "until it is revoked".to_owned(), |moment| format!("until {moment}"));
    // Only the key goes to standard output, for `KEY=$(agentdex keys create …)`.
    let place = match io::stdout().is_terminal() {
        true => "the key is shown only once:",
        false => "the key was written to standard output, and can't be shown again",
    };
    output::complain(&format!(
        "key {} of {} with the role {}, valid {until}; {place}",
        key.id,
        output::visible(key.owner.as_str()),
        key.role
    ));
    writeln!(stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

fn print_all(keys: &[ApiKey], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::print_json(&keys)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    print_each(&mut out, keys)?;
    writeln!(out, "{} {}", keys.len(), if keys.len() == 1 { "key" } else { "keys" })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a line for each key.
pub(super) fn print_each(out: &mut impl Write, keys: &[ApiKey]) -> io::Result<()> {
    let widest = keys.iter().map(|key| key.owner.as_str().chars().count()).max().unwrap_or_default();
    keys.iter().try_for_each(|key| print(out, key, widest))
}

fn print(out: &mut impl Write, key: &ApiKey, widest_owner: usize) -> io::Result<()> {
    let used = key.last_used.map_or_else(|| "never used".to_owned(), |used| format!("used {}", moments::shown(used)));
    let expires = match key.expires {
        Some(expires) if expires <= agentdex::Timestamp::now() => format!("expired {}", moments::shown(expires)),
        Some(expires) => format!("expires {}", moments::shown(expires)),
        None => "does not expire".to_owned(),
    };
    let created = moments::shown(key.created);
    let owner = output::visible(key.owner.as_str());
    let revoking = if key.is_revoking {
        ", REVOKED (the key is rejected, but the revocation can't be stored while the disk is full)"
    } else {
        ""
    };
    writeln!(
        out,
        "{}  {:8}  {owner:widest_owner$}  created {created}, {expires}, {used}{revoking}",
        key.id,
        key.role.as_str()
    )
}

/// The result of revoking a key.
fn revoked(id: &str) -> Done {
    Done { text: format!("revoked: {id}"), json: json!({"id": id, "effect": "revoked"}) }
}

fn revoke_in(directory: &Path, ids: &[String], as_json: bool) -> anyhow::Result<ExitCode> {
    let ids = ids.iter().map(|text| id_of(text));
    let revoke = |keys: &Keys| ids.map(|id| Ok((id, keys.revoke(id)?))).collect::<agentdex::Result<Vec<_>>>();
    let (mut outcome, mut results) = (ExitCode::SUCCESS, output::Results::default());
    for (id, is_revoked) in in_directory(directory, revoke)? {
        let done = revoked(id);
        match (is_revoked, as_json) {
            (true, true) => results.print(&done.json.to_string()),
            (true, false) => results.print(&done.text),
            (false, _) => outcome = ExitCode::FAILURE,
        }
        let unknown = "there is no such key; `agentdex keys list --data DIR` lists the keys";
        match (is_revoked, as_json) {
            (true, _) => {}
            (false, true) => results.print(&json!({"id": id, "error": unknown}).to_string()),
            (false, false) => {
                output::complain(&format!("{} {}: {unknown}", output::red_on_stderr("error:"), output::visible(id)));
            }
        }
    }
    Ok(results.finish(outcome)?)
}

/// The id in a key, or the text itself.
fn id_of(text: &str) -> &str {
    agentdex::access::Token::parse(text).map_or(text, |token| token.id)
}

/// Reads a duration such as `90d` as seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = match text.get(digits.len()..) {
        Some("s") => Some(1),
        Some("min") => Some(60),
        Some("h") => Some(60 * 60),
        Some("d") => Some(24 * 60 * 60),
        _ => None,
    };
    let seconds = unit.and_then(|unit| digits.parse::<u64>().ok()?.checked_mul(unit));
    seconds.ok_or_else(|| format!("{text:?} is not a duration; for example 90d, 12h, 30min, or 60s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(["90d", "12h", "30min", "60s"].map(seconds), [Ok(7_776_000), Ok(43_200), Ok(1800), Ok(60)]);
        for other in ["", "90", "d", "-1d", "1.5h", "1m", "99999999999999999999d", "1 d"] {
            assert!(seconds(other).is_err(), "{other:?}");
        }
    }
}
