//! The facts about an agent that decisions need: extracted once from its description, which isn't read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::{rule::Modes, verdict::MOST_FINDINGS};

/// State of an agent's registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is registered.
    Live,
    /// It is registered, but its source no longer confirms it.
    Stale,
    /// It was registered, until it expired.
    Expired,
}

impl Standing {
    /// The word in expressions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Live => "live",
            Standing::Stale => "stale",
            Standing::Expired => "expired",
        }
    }
}

/// The facts about an agent that decisions need.
#[derive(Debug, Clone)]
pub struct Description {
    /// The id of its Thing.
    pub id: String,
    /// Its title, for people.
    pub title: String,
    /// Its version.
    pub version: Option<String>,
    /// State of its registration.
    pub standing: Standing,
    /// The vendor of the agent.
    pub vendor: Option<String>,
    /// Words by which it is found.
    pub tags: Vec<String>,
    /// Its tools.
    pub tools: Tools,
    /// The ids of its resources.
    pub resources: BTreeSet<String>,
    /// Its MCP servers, each with its version.
    pub mcp_servers: BTreeSet<(String, String)>,
    /// The mode of each rule for this agent.
    pub modes: Modes,
}

/// Tools, by their ids and names.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    list: Vec<Tool>,
    by_key: HashMap<String, usize>,
}

impl Tools {
    /// Adds a tool. If another tool already has its name, it is found only by its id.
    pub fn add(&mut self, tool: Tool) {
        let index = self.list.len();
        self.by_key.insert(tool.id.clone(), index);
        self.by_key.entry(tool.name.clone()).or_insert(index);
        self.list.push(tool);
    }

    /// The tool of that id or name.
    pub fn find(&self, key: &str) -> Option<&Tool> {
        self.list.get(*self.by_key.get(key)?)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.list.iter()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// The declared arguments of a tool.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// By their names.
    list: Vec<Argument>,
    /// The places of those that have an id.
    by_id: BTreeMap<String, usize>,
    /// True if others may be given too.
    is_open: bool,
}

#[derive(Debug, Clone)]
struct Argument {
    name: String,
    /// Types that its value may have; empty: any.
    types: Vec<Type>,
    is_required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
    Null,
}

impl Type {
    fn named(name: &str) -> Option<Type> {
        Some(match name {
            "string" => Type::String,
            "number" => Type::Number,
            "integer" => Type::Integer,
            "boolean" => Type::Boolean,
            "object" => Type::Object,
            "array" => Type::Array,
            "null" => Type::Null,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Type::String => "string",
            Type::Number => "number",
            Type::Integer => "integer",
            Type::Boolean => "boolean",
            Type::Object => "object",
            Type::Array => "array",
            Type::Null => "null",
        }
    }

    fn is_that_of(self, value: &Value) -> bool {
        match self {
            Type::String => value.is_string(),
            Type::Number => value.is_number(),
            Type::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Type::Boolean => value.is_boolean(),
            Type::Object => value.is_object(),
            Type::Array => value.is_array(),
            Type::Null => value.is_null(),
        }
    }
}

/// A value that is given for an argument.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The name of the argument.
    pub name: &'a str,
    /// Its id.
    pub id: Option<&'a str>,
    /// The value.
    pub value: &'a Value,
}

impl Arguments {
    /// Returns arguments that accept anything.
    pub fn open() -> Arguments {
        Arguments { is_open: true, ..Arguments::default() }
    }

    /// Returns an empty list of arguments.
    pub fn none() -> Arguments {
        Arguments::default()
    }

    /// Returns the arguments that a data schema of an object declares; for other schemas, arguments
    /// that accept anything.
    pub fn of_schema(schema: &Value) -> Arguments {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Arguments::open() };
        let required: BTreeSet<&str> = texts(schema.get("required")).into_iter().collect();
        let argument = |(name, schema): (&String, &Value)| Argument {
            name: name.clone(),
            types: types(schema),
            is_required: required.contains(name.as_str()),
        };
        let is_open = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
        let mut list: Vec<Argument> = properties.iter().map(argument).collect();
        list.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Arguments { list, is_open, ..Arguments::default() }
    }

    /// Adds an id by which an argument is also known.
    pub fn identify(&mut self, name: &str, id: &str) {
        if let Some(index) = self.position(name) {
            self.by_id.insert(id.to_owned(), index);
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.list.binary_search_by(|argument| argument.name.as_str().cmp(name)).ok()
    }

    /// Compares arguments with the declared ones, and returns the first 20 faults.
    pub fn check<'g>(&self, given: impl Iterator<Item = Given<'g>>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut is_given = vec![false; self.list.len()];
        for given in given {
            if wrong.len() >= MOST_FINDINGS {
                wrong.truncate(MOST_FINDINGS);
                return wrong;
            }
            let identified = || self.by_id.get(given.id?).copied();
            let Some(index) = self.position(given.name).or_else(identified) else {
                if !self.is_open {
                    wrong.push(format!("`{}` is not one of its arguments{}", shown(given.name), self.known()));
                }
                continue;
            };
            if std::mem::replace(&mut is_given[index], true) {
                wrong.push(format!("`{}` is given twice", shown(given.name)));
            }
            let types = &self.list[index].types;
            if !types.is_empty() && !types.iter().any(|kind| kind.is_that_of(given.value)) {
                let types: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
                wrong.push(format!(
                    "`{}` is {}; its type must be {}",
                    shown(given.name),
                    noun(given.value),
                    types.join(" or ")
                ));
            }
        }
        let missing = self.list.iter().zip(is_given).filter(|(argument, is_given)| argument.is_required && !is_given);
        let missing = missing.map(|(argument, _)| format!("`{}` is missing", shown(&argument.name)));
        wrong.extend(missing.take(MOST_FINDINGS.saturating_sub(wrong.len())));
        wrong
    }

    fn known(&self) -> String {
        let names: Vec<&str> = self.list.iter().take(10).map(|argument| shown(&argument.name)).collect();
        if names.is_empty() {
            "; it has no arguments".to_owned()
        } else {
            format!("; its arguments are {}", names.join(", "))
        }
    }
}

fn types(schema: &Value) -> Vec<Type> {
    match schema.get("type") {
        Some(Value::String(name)) => Type::named(name).into_iter().collect(),
        // One that is unknown may be any.
        Some(Value::Array(names)) => {
            let named: Option<Vec<Type>> = names.iter().map(|name| Type::named(name.as_str()?)).collect();
            named.unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

pub(super) fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A name that a client or a description gave, as messages show it.
pub(super) fn shown(name: &str) -> &str {
    name.char_indices().nth(100).map_or(name, |(end, _)| &name[..end])
}

/// Returns the arguments of an MCP tool call, one for each member.
pub(super) fn given_members(arguments: &Map<String, Value>) -> impl Iterator<Item = Given<'_>> {
    arguments.iter().map(|(name, value)| Given { name, id: None, value })
}
