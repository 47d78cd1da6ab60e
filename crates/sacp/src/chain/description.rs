//! Chains as they are written.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The name under which links refer to the input of the chain.
pub(super) const INPUT: &str = "input";

/// A node of a chain: what is done, with what, and what is taken of its answer.
///
/// One of `agent` (or `thing`), `capability`, `answer`, `ask`, `chain` and `chains` says what is done.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// The id of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The Thing Description of the agent, for where none is registered under its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thing: Option<Value>,
    /// The capability that the agent must have, by which one is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// The action to invoke; where there is none, the agent is sent a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// True if the agent is instructed to answer in SACP (section 3.2): the instructions are appended to its system prompt, and an
    /// answer that is no response is a failure (section 7.2). Also read as `use_standard_protocol`, as section 5 calls it.
    #[serde(alias = "use_standard_protocol", skip_serializing_if = "std::ops::Not::not")]
    pub sacp: bool,
    /// True if the user agreed to the call at an earlier node, for an action that requires it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// The answer that the node gives by itself: `data`, `message`, `status`, `branch`, with references. Its data is
    /// its input unless it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// The question to the user. The answer is the message of the response; where the node has exactly one output, it
    /// is the value of that, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Value>,
    /// One of `chains` of the document, which is run with the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Several of them, which are run side by side with the same input. The data of all is the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chains: Option<Vec<String>>,
    /// Runs `chain` for each element of members of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// Choice of the next branch, by a member of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<Choose>,
    /// Its input, with references to what came before; the input of the chain where there is neither this nor a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The request to the agent, with references such as `{{given.city}}` to the input of the node; that whole input
    /// unless it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The members of the data that count, by name. One that is missing and has no default is a failure; a single one
    /// is the whole of an answer that doesn't name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<BTreeMap<String, Output>>,
    /// The answer in place of a failure, in the form of `answer`; `{{given.failure}}` is the reason of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Value>,
}

/// Runs a chain for each element of lists.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Each {
    /// The members of the input that are lists, all of one length; every run is given an element of each, and the other
    /// members as they are.
    pub over: Vec<String>,
    /// The most runs at the same time; one after the other unless it is given.
    #[serde(default = "one")]
    pub parallel: usize,
    /// Reduction of a member of the data over all runs, by its name; a list of all values unless it is given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reduce: BTreeMap<String, Reduction>,
}

fn one() -> usize {
    1
}

/// A function that reduces the results of several runs to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// All in a list.
    Append,
    /// Their sum.
    Sum,
    /// Their average.
    #[serde(alias = "avg")]
    Average,
    /// The greatest.
    Max,
    /// The least.
    Min,
}

/// A choice between branches by a value.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// The member of the data whose value chooses; what isn't text is compared as JSON.
    pub by: String,
    /// The branch of each value; `default` is that of all others.
    pub branches: BTreeMap<String, String>,
}

/// A member of a node's data.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its value where the answer has none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A value that is given, also if it is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A transition from one node to the next.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The node that has answered.
    pub from: String,
    /// The node that comes next.
    pub to: String,
    /// The [`Condition`](crate::Condition) under which this edge is taken, whatever the status. Without one it is taken after
    /// success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The branch that it is, of those that the node may take. Without one it is that of all branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// True if it is taken after a failure for which no condition holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_error: bool,
}

/// A data flow: a member of the data of one node becomes a member of the input of another. Of several links to the same
/// member, the one from the node that was run last counts.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The node that has the data; `input` is the input of the chain.
    pub from: String,
    /// The member of its data.
    pub output: String,
    /// The node that gets it.
    pub to: String,
    /// The member of its input.
    pub input: String,
}

/// A chain as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    pub(super) start: String,
    pub(super) max_steps: Option<u32>,
    pub(super) nodes: BTreeMap<String, Node>,
    #[serde(default)]
    pub(super) edges: Vec<Edge>,
    #[serde(default)]
    pub(super) links: Vec<Link>,
    #[serde(default)]
    pub(super) chains: BTreeMap<String, Description>,
}

impl Node {
    /// The names of the chains that it consists of.
    pub(super) fn parts(&self) -> Vec<&str> {
        self.chain.iter().chain(self.chains.iter().flatten()).map(String::as_str).collect()
    }
}
