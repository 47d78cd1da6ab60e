//! Names of agents on the command line: an id or a title.

use anyhow::bail;

use super::output::visible;
use agentdex_client::RegistryClient;
use agentdex_consumer::Agent;

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
    let answer = client.search(&parameters).await?;
    let is_called = |title: &Option<String>| title.as_deref().is_some_and(|title| title.eq_ignore_ascii_case(name));
    let ids: Vec<&str> = answer.hits.iter().filter(|hit| is_called(&hit.title)).map(|hit| hit.id.as_str()).collect();
    match ids.as_slice() {
        [id] => Ok((*id).to_owned()),
        // Ids that aren't URIs were made ones when they were registered.
        [] if client.find(name).await?.is_some() => Ok(name.to_owned()),
        [] => bail!("there is no agent {name:?} at {}\n  `agentdex list` shows what there is", client.url()),
        ids => bail!("{} agents are called {name:?}; give the id of one:\n  {}", ids.len(), ids.join("\n  ")),
    }
}

/// The question which property, event, … of an agent is meant, with those that it has.
pub(super) fn which_of<'n>(agent: &Agent, one: &str, many: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(visible).collect();
    match names.as_slice() {
        [] => format!("{} has no {many}; `agentdex get {}` prints its description", visible(agent.title()), agent.id()),
        names => format!("which {one} of {}? It has {}", visible(agent.id()), names.join(", ")),
    }
}
