//! `Condition`: whether an edge of a chain is taken (SACP, section 4.1).
//!
//! A condition is an expression in CEL over `response`, with the words `and`, `or` and `not` for `&&`,
//! `||` and `!`, and `exists(path)` for `has(path)`. Each expression reads the response at most once
//! through (one comprehension at most), so that the data of an agent can't make it expensive.

use std::{fmt, str::FromStr};

use cel::{
    Context, ExecutionError, Program, Value as CelValue,
    common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr},
};

use super::response::Response;

/// The longest condition in bytes.
const MAX_BYTES: usize = 1024;
/// How deep brackets may nest in the text, and operators, members and calls in what it means: the parser and
/// the interpreter call themselves for each level.
const MAX_NESTING: usize = 16;
const MAX_DEPTH: usize = 24;
/// Address space only; pages are taken as they are touched.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// A compiled condition.
///
/// ```
/// use agentdex::sacp::{Condition, read};
/// let condition: Condition = r#"response.status == "success" and response.data.score > 0.8"#.parse().unwrap();
/// let sure = read(r#"{"thought": "", "status": "success", "data": {"score": 1}, "message": ""}"#).response;
/// assert_eq!(condition.holds(&sure), Ok(true));
/// ```
#[derive(Debug)]
pub struct Condition {
    text: String,
    program: Program,
}

/// Why a condition can't be compiled or decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("condition `{condition}`: {reason}")]
pub struct ConditionError {
    /// The condition as written, shortened where it is long.
    pub condition: String,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let refuse = |reason: String| ConditionError { condition: text.chars().take(120).collect(), reason };
        if text.len() > MAX_BYTES {
            return Err(refuse(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let expression = Expression::translate(text);
        if expression.nesting > MAX_NESTING {
            return Err(refuse(format!("its brackets nest deeper than {MAX_NESTING}")));
        }
        let program = compile(&expression.text).map_err(refuse)?;
        let shape = Shape::of(program.expression());
        if shape.depth > MAX_DEPTH {
            return Err(refuse(format!("its operators and members nest deeper than {MAX_DEPTH}")));
        }
        if shape.comprehensions > 1 {
            return Err(refuse("only one of all, exists, exists_one, map and filter may be used".to_owned()));
        }
        // The variable of a comprehension is not a reference to the outside.
        let references = program.references();
        let unknown = references.variables().into_iter().find(|name| *name != "response");
        if let Some(unknown) = unknown.filter(|_| shape.comprehensions == 0) {
            return Err(refuse(format!(
                "`{unknown}` is not known; conditions are about `response`, for example response.data.score > 0.8"
            )));
        }
        Ok(Condition { text: text.to_owned(), program })
    }
}

impl Condition {
    /// Whether it holds for a response. A path that the response doesn't have makes it false.
    ///
    /// # Errors
    /// If its value is not a boolean, or it compares what can't be compared.
    pub fn holds(&self, response: &Response) -> Result<bool, ConditionError> {
        let refuse = |reason: String| ConditionError { condition: self.text.clone(), reason };
        let mut context = Context::default();
        context
            .add_variable("response", response.to_value())
            .map_err(|error| refuse(format!("the response can't be read: {error}")))?;
        match self.program.execute(&context) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(other) => Err(refuse(format!("its value is {:?}, not true or false", other.type_of()))),
            Err(ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_)) => Ok(false),
            Err(error) => Err(refuse(error.to_string())),
        }
    }

    /// The condition as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compiles on a stack of its own: the generated parser takes ten calls for each bracket.
fn compile(text: &str) -> Result<Program, String> {
    std::thread::scope(|scope| {
        let compiling = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || Program::compile(text).map_err(|error| error.to_string()))
            .map_err(|error| format!("no thread to compile it on: {error}"))?;
        compiling.join().unwrap_or_else(|_| Err("the parser gave up on it".to_owned()))
    })
}

/// How large what a condition means is.
#[derive(Default)]
struct Shape {
    depth: usize,
    comprehensions: usize,
}

impl Shape {
    fn of(expression: &IdedExpr) -> Shape {
        let children: Vec<&IdedExpr> = match &expression.expr {
            Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
            Expr::Select(select) => vec![&select.operand],
            Expr::List(list) => list.elements.iter().collect(),
            Expr::Comprehension(each) => {
                vec![&each.iter_range, &each.accu_init, &each.loop_cond, &each.loop_step, &each.result]
            }
            Expr::Map(map) => map.entries.iter().flat_map(parts).collect(),
            Expr::Struct(structure) => structure.entries.iter().flat_map(parts).collect(),
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        };
        let mut shape = Shape::default();
        for child in children {
            let inner = Shape::of(child);
            shape.depth = shape.depth.max(inner.depth);
            shape.comprehensions += inner.comprehensions;
        }
        shape.depth += 1;
        shape.comprehensions += usize::from(matches!(expression.expr, Expr::Comprehension(_)));
        shape
    }
}

fn parts(entry: &IdedEntryExpr) -> Vec<&IdedExpr> {
    match &entry.expr {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// A condition in CEL.
struct Expression {
    text: String,
    nesting: usize,
}

impl Expression {
    /// Replaces the words outside of strings.
    fn translate(text: &str) -> Expression {
        let mut expression = Expression { text: String::with_capacity(text.len()), nesting: 0 };
        let (mut rest, mut open) = (text, 0_usize);
        while let Some(character) = rest.chars().next() {
            let end = match character {
                '"' | '\'' => end_of_string(rest, character),
                _ if is_name(character) => rest.find(|next| !is_name(next)).unwrap_or(rest.len()),
                _ => character.len_utf8(),
            };
            match character {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            expression.nesting = expression.nesting.max(open);
            let (token, after) = rest.split_at(end);
            expression.push(token, after);
            rest = after;
        }
        expression
    }

    fn push(&mut self, token: &str, after: &str) {
        let is_member = self.text.trim_end().ends_with('.');
        let is_call = after.trim_start().starts_with('(');
        self.text.push_str(match token {
            "and" if !is_member => "&&",
            "or" if !is_member => "||",
            "not" if !is_member => "!",
            "exists" if !is_member && is_call => "has",
            token => token,
        });
    }
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn end_of_string(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (offset, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return offset + 1,
            _ => {}
        }
    }
    text.len()
}
