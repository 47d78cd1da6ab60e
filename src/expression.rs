//! `Expression`: a condition over facts, for edges of SACP chains and for policies.
//!
//! An expression is one in CEL, with the words `and`, `or` and `not` for `&&`, `||` and `!`, and `exists(path)` for
//! `has(path)`. Each reads the facts at most once through (one comprehension at most), so that the data of an agent
//! can't make it expensive.

use std::fmt;

use serde_json::Value;

use cel::{
    Context, ExecutionError, Program, Value as CelValue,
    common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr},
};

/// The longest expression in bytes.
const MAX_BYTES: usize = 1024;
/// How deep brackets may nest in the text, and operators, members and calls in what it means: the parser and
/// the interpreter call themselves for each level.
const MAX_NESTING: usize = 16;
const MAX_DEPTH: usize = 24;
/// Address space only; pages are taken as they are touched.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// What an expression may be about.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// What its author calls it, such as `condition`.
    pub noun: &'static str,
    /// The names of the facts.
    pub facts: &'static [&'static str],
    /// An expression about them, which errors show.
    pub example: &'static str,
}

/// A compiled expression.
///
/// ```
/// use agentdex::expression::{Expression, Facts, Scope};
/// use serde_json::json;
///
/// let scope = Scope { noun: "condition", facts: &["step"], example: "step.cost > 1" };
/// let expression = Expression::compile("step.cost > 10 and exists(step.user)", scope).unwrap();
/// let facts = Facts::new().with("step", &json!({"cost": 12, "user": "ada"})).unwrap();
/// assert_eq!(expression.holds(&facts), Ok(true));
/// ```
#[derive(Debug)]
pub struct Expression {
    text: String,
    program: Program,
}

/// What expressions are about, by name.
#[derive(Default)]
pub struct Facts(Context<'static, 'static>);

impl Facts {
    /// Nothing yet.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Adds a fact.
    ///
    /// # Errors
    /// What of it no expression can read.
    pub fn with(mut self, name: &str, fact: &Value) -> Result<Facts, String> {
        self.0.add_variable(name, fact).map_err(|error| format!("`{name}` can't be read: {error}"))?;
        Ok(self)
    }
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn compile(text: &str, scope: Scope) -> Result<Expression, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        let translation = Translation::of(text);
        if translation.nesting > MAX_NESTING {
            return Err(format!("its brackets nest deeper than {MAX_NESTING}"));
        }
        let program = compile(&translation.text)?;
        let shape = Shape::of(program.expression());
        if shape.depth > MAX_DEPTH {
            return Err(format!("its operators and members nest deeper than {MAX_DEPTH}"));
        }
        if shape.comprehensions > 1 {
            return Err("only one of all, exists, exists_one, map and filter may be used".to_owned());
        }
        // The variable of a comprehension is not a reference to the outside.
        let references = program.references();
        let unknown = references.variables().into_iter().find(|name| !scope.facts.contains(name));
        if let Some(unknown) = unknown.filter(|_| shape.comprehensions == 0) {
            let facts: Vec<String> = scope.facts.iter().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "`{unknown}` is not known; {}s are about {}, for example {}",
                scope.noun,
                facts.join(", "),
                scope.example
            ));
        }
        Ok(Expression { text: text.to_owned(), program })
    }

    /// Whether it holds. A path that the facts don't have makes it false.
    ///
    /// # Errors
    /// If its value is not a boolean, or it compares what can't be compared.
    pub fn holds(&self, facts: &Facts) -> Result<bool, String> {
        match self.program.execute(&facts.0) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("its value is {:?}, not true or false", other.type_of())),
            Err(ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_)) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Expression {
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

/// How large what an expression means is.
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

/// An expression in plain CEL.
struct Translation {
    text: String,
    nesting: usize,
}

impl Translation {
    /// Replaces the words outside of strings.
    fn of(text: &str) -> Translation {
        let mut expression = Translation { text: String::with_capacity(text.len()), nesting: 0 };
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
