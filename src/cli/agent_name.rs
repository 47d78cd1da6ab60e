//! Names of agents on the command line: an id or a title.

use anyhow::{anyhow, bail};

use super::output::visible;
use agentdex_client::{RegistryClient, SearchHit};
use agentdex_consumer::Agent;

/// Maximum number of agents that are suggested for a name.
const MOST_SIMILAR: &str = "3";

/// The id of an agent: what looks like one is taken as it is, also where the agent is gone; a title stands for the only
/// agent that has it.
///
/// # Errors
/// Neither an id nor the title of exactly one agent.
pub(super) async fn id_of(client: &RegistryClient, name: &str) -> anyhow::Result<String> {
    if name.contains(':') && !name.contains(char::is_whitespace) {
        return Ok(name.to_owned());
    }
    let query = format!("title:\"{}\"", name.replace('"', " "));
    let parameters = [("q", query.as_str()), ("mode", "lexical"), ("limit", "100"), ("consistent", "true")];
    let is_unavailable =
        |error: &agentdex_client::Error| error.problem().is_some_and(|problem| problem.code == "log-unavailable");
    let answer = match client.search(&parameters).await {
        // A node of a cluster without etcd still answers other searches.
        Err(error) if is_unavailable(&error) => client.search(&parameters[..3]).await?,
        answer => answer?,
    };
    let is_called = |title: &Option<String>| title.as_deref().is_some_and(|title| title.eq_ignore_ascii_case(name));
    let ids: Vec<&str> = answer.hits.iter().filter(|hit| is_called(&hit.title)).map(|hit| hit.id.as_str()).collect();
    match ids.as_slice() {
        [id] => Ok((*id).to_owned()),
        // Ids that aren't URIs were made ones when they were registered.
        [] if client.find(name).await?.is_some() => Ok(name.to_owned()),
        [] => Err(no_agent(client, name).await),
        ids => bail!("{} agents are called {name:?}; pass an id instead:\n  {}", ids.len(), ids.join("\n  ")),
    }
}

/// The error for an agent that isn't there, with those that were probably meant.
pub(super) async fn no_agent(client: &RegistryClient, name: &str) -> anyhow::Error {
    let similar = similar(client, name).await;
    let meant = match similar.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        several => format!("; did you mean one of these?\n  {}", several.join("\n  ")),
    };
    anyhow!("there is no agent {name:?} at {}{meant}\n  `agentdex list` lists the agents", client.url())
}

/// Returns the titles and ids of agents that a search finds by the words of a name. A search that fails finds none: what is
/// reported is the agent that isn't there.
async fn similar(client: &RegistryClient, name: &str) -> Vec<String> {
    // In an id, the words are behind the last colon.
    let words = name.rsplit(':').next().unwrap_or(name);
    let words = words.replace(|character: char| !character.is_alphanumeric(), " ");
    if words.trim().is_empty() {
        return Vec::new();
    }
    // The last word may be the beginning of one.
    let parameters = [("q", words.as_str()), ("mode", "lexical"), ("typing", "true"), ("limit", MOST_SIMILAR)];
    let Ok(answer) = client.search(&parameters).await else { return Vec::new() };
    let named =
        |hit: SearchHit| format!("{} ({})", visible(hit.title.as_deref().unwrap_or("(no title)")), visible(&hit.id));
    answer.hits.into_iter().map(named).collect()
}

/// The question which property, event, … of an agent is meant, with those that it has.
pub(super) fn which_of<'n>(agent: &Agent, one: &str, many: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(visible).collect();
    match names.as_slice() {
        [] => format!("{} has no {many}; `agentdex get {}` prints its description", visible(agent.title()), agent.id()),
        names => format!("specify {one} of {}: {}", visible(agent.id()), names.join(", ")),
    }
}
