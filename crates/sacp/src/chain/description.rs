//! Chains as they are written.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The name under which links refer to the input of the chain.
pub(super) const INPUT: &str = "input";

/// A node of a chain: the task, its input, and the used parts of its answer.
///
/// One of `agent` (or `thing`), `capability`, `answer`, `ask`, `chain` and `chains` says what is done.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// The id of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The Thing Description of the agent, if none is registered under its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thing: Option<Value>,
    /// The capability by which an agent is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// The action to invoke; without it, the agent is sent a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// True if the agent is instructed to answer in SACP (section 3.2): the instructions are appended to its system
    /// prompt, and an answer without a response is a failure (section 7.2). `use_standard_protocol`, the name in
    /// section 5, is also accepted.
    #[serde(alias = "use_standard_protocol", skip_serializing_if = "std::ops::Not::not")]
    pub sacp: bool,
    /// True if the user confirmed the call at an earlier node, for an action that requires
    /// confirmation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// The answer that the node itself gives: `data`, `message`, `status`, and `branch`, with references. By
    /// default, its data is its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// The question to the user. The answer is the message of the response; if the node has exactly one output, the
    /// answer is also its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Value>,
    /// One of the document's `chains`, which is run with the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Several of the document's `chains`, which are run in parallel with the same input. Their data
    /// is combined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chains: Option<Vec<String>>,
    /// Runs `chain` for each element of members of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// Choice of the next branch, by a member of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<Choose>,
    /// Its input, with references to earlier results. Without this and without links, the input of the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The request to the agent, with references such as `{{given.city}}` to the input of the node; by default, that
    /// whole input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The members of the data that are used, by name. A missing member without a default is a failure. A single
    /// member gets the whole answer if the answer doesn't name it.
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
    /// The members of the input that are lists, all of the same length. Every run gets an element of each, and the
    /// other members unchanged.
    pub over: Vec<String>,
    /// Maximum number of simultaneous runs; by default, they run one after the other.
    #[serde(default = "one")]
    pub parallel: usize,
    /// Reduction of a member of the data over all runs, by its name; by default, a list of all values.
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
    /// A list of all values.
    Append,
    /// Their sum.
    Sum,
    /// Their average.
    #[serde(alias = "avg")]
    Average,
    /// Their maximum.
    Max,
    /// Their minimum.
    Min,
}

/// A choice between branches by a value.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// The member of the data whose value chooses the branch; values that aren't strings are
    /// compared as JSON.
    pub by: String,
    /// The branch for each value; `default` is for all others.
    pub branches: BTreeMap<String, String>,
}

/// A member of a node's data.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its value if the answer has none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A value that is given, even if it is null.
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
    /// The [`Condition`](crate::Condition) under which this edge is taken, regardless of the status. Without a
    /// condition, it is taken after success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The branch of the node for which this edge is taken. Without it, the edge is for all branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// True if it is taken after a failure for which no condition holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_error: bool,
}

/// A data flow: a member of the data of one node becomes a member of the input of another. If several links lead to
/// the same member, the one from the node that ran last counts.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The node that provides the data; `input` is the input of the chain.
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
