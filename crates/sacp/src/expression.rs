//! `Expression`: a condition over facts, for edges of SACP chains and for policies.
//!
//! An expression is one in CEL, with the words `and`, `or` and `not` for `&&`, `||` and `!`, and `exists(path)` for
//! `has(path)`.
//!
//! What the data of an agent can make an expression cost is bounded: facts have at most [`MAX_VALUES`] values, an expression
//! goes through them at most once (one comprehension), each round of it checks whether the time of its [`Facts`] is over,
//! and a pattern of `matches` stands in the expression itself.

use std::{
    fmt,
    time::{Duration, Instant},
};

use serde_json::Value;

use cel::{
    Context, ExecutionError, Program, Value as CelValue,
    common::ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, MapExpr, operators,
    },
};

/// The longest expression in bytes.
const MAX_BYTES: usize = 1024;
/// Maximum nesting depth of brackets in the text; [`MAX_DEPTH`] is that of operators, members and calls in the syntax
/// tree. The parser and the interpreter call themselves for each level.
const MAX_NESTING: usize = 16;
const MAX_DEPTH: usize = 24;
/// Maximum number of values in all facts: members, elements, and the values that contain them.
pub const MAX_VALUES: usize = 50_000;
/// Time budget of all expressions over the same facts together, unless [`Facts::within`] sets another.
pub const BUDGET: Duration = Duration::from_millis(100);
/// The most bytes that a pattern of `matches` takes once it is compiled.
const MAX_PATTERN_BYTES: usize = 512 * 1024;
/// The function that ends what takes too long. No expression can name it, nor the other functions here: `@` starts no name.
const TICK: &str = "@tick";
/// The functions that read a value as what it is compared with: see [`Expression::with_types_of_literals`].
const AS_NUMBER: &str = "@as_number";
const AS_BOOLEAN: &str = "@as_boolean";
const AS_TEXT: &str = "@as_text";
/// Address space only; pages are taken as they are touched.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// The facts that an expression may use, and the words for it in messages.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// The noun for the expression, such as `condition`.
    pub noun: &'static str,
    /// The names of the facts.
    pub facts: &'static [&'static str],
    /// An expression about them, which errors show.
    pub example: &'static str,
}

/// A compiled expression.
///
/// ```
/// use agentdex_sacp::expression::{Expression, Facts, Scope};
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
    /// The syntax tree, with a check of the time in each round of a comprehension.
    meaning: IdedExpr,
}

/// The facts that expressions use, by name, with the time budget of their evaluation.
pub struct Facts {
    context: Context<'static, 'static>,
    values: usize,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts::within(BUDGET)
    }
}

impl Facts {
    /// Creates empty facts, for expressions that may take [`BUDGET`] in total, starting now.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Creates empty facts, for expressions that may take this long in total, starting now.
    pub fn within(budget: Duration) -> Facts {
        let mut context = Context::default();
        let started = Instant::now();
        let tick = move || match started.elapsed() <= budget {
            true => Ok(true),
            false => Err(ExecutionError::function_error("all, exists, exists_one, map or filter", "it took too long")),
        };
        // An error: the name is taken, but no overload has it.
        let _ = context.add_function(TICK, tick);
        for (name, read) in
            [(AS_NUMBER, as_number as fn(CelValue) -> CelValue), (AS_BOOLEAN, as_boolean), (AS_TEXT, as_text)]
        {
            let _ = context.add_function(name, read);
        }
        Facts { context, values: 0 }
    }

    /// Adds a fact.
    ///
    /// # Errors
    /// What of it no expression can read, or that there are more than [`MAX_VALUES`] values.
    pub fn with(mut self, name: &str, fact: &Value) -> Result<Facts, String> {
        self.values += values_of(fact, MAX_VALUES - self.values.min(MAX_VALUES));
        if self.values > MAX_VALUES {
            return Err(format!("expressions can read at most {MAX_VALUES} values, but `{name}` exceeds this limit"));
        }
        self.context.add_variable(name, fact).map_err(|error| format!("`{name}` can't be read: {error}"))?;
        Ok(self)
    }
}

/// Returns the number of values in a value, itself included; one more than `most` where there are more.
fn values_of(value: &Value, most: usize) -> usize {
    let mut count = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        count += 1;
        if count > most {
            break;
        }
        match value {
            Value::Array(elements) => open.extend(elements),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    count
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
            return Err(format!("its brackets are nested more than {MAX_NESTING} levels deep"));
        }
        let program = compile(&translation.text)?;
        let shape = Shape::of(program.expression());
        if shape.depth > MAX_DEPTH {
            return Err(format!("its operators and members are nested more than {MAX_DEPTH} levels deep"));
        }
        if shape.comprehensions > 1 {
            return Err("all, exists, exists_one, map, and filter can be used only once in total".to_owned());
        }
        check_patterns(program.expression())?;
        // The variable of a comprehension is not a reference to the outside.
        let references = program.references();
        let unknown = references.variables().into_iter().find(|name| !scope.facts.contains(name));
        if let Some(unknown) = unknown.filter(|_| shape.comprehensions == 0) {
            let facts: Vec<String> = scope.facts.iter().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "`{unknown}` is unknown; {}s can refer to {}, for example {}",
                scope.noun,
                facts.join(", "),
                scope.example
            ));
        }
        let mut meaning = program.expression().clone();
        meter(&mut meaning);
        Ok(Expression { text: text.to_owned(), meaning })
    }

    /// Reads what is compared with a literal as one of its type, where it can only be one: the text `"0.9"` as a number,
    /// `"true"` as a boolean, the number 7 as the text `"7"`. Everything else stays as it is.
    pub(crate) fn with_types_of_literals(mut self) -> Expression {
        compare_by_type(&mut self.meaning);
        self
    }

    /// True if it holds. A path that the facts don't have makes it false.
    ///
    /// # Errors
    /// If its value is not a boolean, it compares what can't be compared, or takes too long.
    pub fn holds(&self, facts: &Facts) -> Result<bool, String> {
        match CelValue::resolve(&self.meaning, &facts.context) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("its result is of type {:?}, not true or false", other.type_of())),
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
            .map_err(|error| format!("can't start a thread to compile it: {error}"))?;
        compiling.join().unwrap_or_else(|_| Err("the parser failed unexpectedly".to_owned()))
    })
}

/// Size of a syntax tree.
#[derive(Default)]
struct Shape {
    depth: usize,
    comprehensions: usize,
}

impl Shape {
    fn of(expression: &IdedExpr) -> Shape {
        let mut shape = Shape::default();
        for child in children(expression) {
            let inner = Shape::of(child);
            shape.depth = shape.depth.max(inner.depth);
            shape.comprehensions += inner.comprehensions;
        }
        shape.depth += 1;
        shape.comprehensions += usize::from(matches!(expression.expr, Expr::Comprehension(_)));
        shape
    }
}

fn children(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Comprehension(each) => {
            vec![&each.iter_range, &each.accu_init, &each.loop_cond, &each.loop_step, &each.result]
        }
        Expr::Map(map) => map.entries.iter().flat_map(parts).collect(),
        Expr::Struct(structure) => structure.entries.iter().flat_map(parts).collect(),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn parts(entry: &IdedEntryExpr) -> Vec<&IdedExpr> {
    match &entry.expr {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Refuses patterns that come from the facts, whose author isn't that of the expression, and those that are large.
fn check_patterns(expression: &IdedExpr) -> Result<(), String> {
    if let Expr::Call(call) = &expression.expr
        && call.func_name == "matches"
    {
        let Some(Expr::Literal(LiteralValue::String(pattern))) = call.args.last().map(|pattern| &pattern.expr) else {
            return Err("the pattern of `matches` must be a string literal".to_owned());
        };
        let compiled = regex::RegexBuilder::new(pattern.inner()).size_limit(MAX_PATTERN_BYTES).build();
        compiled.map_err(|error| format!("the pattern {:?} of `matches` is invalid: {error}", pattern.inner()))?;
    }
    children(expression).into_iter().try_for_each(check_patterns)
}

fn children_mut(expression: &mut IdedExpr) -> Vec<&mut IdedExpr> {
    match &mut expression.expr {
        Expr::Call(call) => call.target.as_deref_mut().into_iter().chain(&mut call.args).collect(),
        Expr::Select(select) => vec![&mut select.operand],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Comprehension(each) => {
            vec![&mut each.iter_range, &mut each.accu_init, &mut each.loop_cond, &mut each.loop_step, &mut each.result]
        }
        Expr::Map(map) => map.entries.iter_mut().flat_map(parts_mut).collect(),
        Expr::Struct(structure) => structure.entries.iter_mut().flat_map(parts_mut).collect(),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn parts_mut(entry: &mut IdedEntryExpr) -> Vec<&mut IdedExpr> {
    match &mut entry.expr {
        EntryExpr::StructField(field) => vec![&mut field.value],
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
    }
}

/// Lets each round of a comprehension check whether the time is over.
fn meter(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Comprehension(each) => {
            meter(&mut each.iter_range);
            ticking(round_of(each));
        }
        _ => children_mut(expression).into_iter().for_each(meter),
    }
}

/// Passes each value that is compared with a literal through the function that reads it as one of the literal's type.
fn compare_by_type(expression: &mut IdedExpr) {
    children_mut(expression).into_iter().for_each(compare_by_type);
    let Expr::Call(CallExpr { func_name, args, .. }) = &mut expression.expr else { return };
    let is_equality = matches!(func_name.as_str(), operators::EQUALS | operators::NOT_EQUALS);
    let is_order = matches!(
        func_name.as_str(),
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS
    );
    let [left, right] = args.as_mut_slice() else { return };
    if func_name == operators::IN {
        if let Some(reader) = reader_of_elements(right) {
            let own = std::mem::take(left);
            *left = call(reader, vec![own]);
        }
        return;
    }
    let (value, reader) = match (reader_of(left), reader_of(right)) {
        (None, Some(reader)) => (left, reader),
        (Some(reader), None) => (right, reader),
        _ => return,
    };
    if is_equality || is_order && reader == AS_NUMBER {
        let own = std::mem::take(value);
        *value = call(reader, vec![own]);
    }
}

/// Returns the function that reads a value as one of the type of a literal; `None` if the expression isn't a number, a text
/// or a boolean.
fn reader_of(literal: &IdedExpr) -> Option<&'static str> {
    match &literal.expr {
        Expr::Literal(LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_)) => Some(AS_NUMBER),
        Expr::Literal(LiteralValue::Boolean(_)) => Some(AS_BOOLEAN),
        Expr::Literal(LiteralValue::String(_)) => Some(AS_TEXT),
        _ => None,
    }
}

/// Returns the function for the elements of a list of literals; `None` unless all are of one type.
fn reader_of_elements(list: &IdedExpr) -> Option<&'static str> {
    let Expr::List(list) = &list.expr else { return None };
    let mut readers = list.elements.iter().map(reader_of);
    let first = readers.next()??;
    readers.all(|reader| reader == Some(first)).then_some(first)
}

/// Reads a text that is a number in JSON.
fn as_number(value: CelValue) -> CelValue {
    let CelValue::String(text) = &value else { return value };
    let Ok(number) = serde_json::from_str::<serde_json::Number>(text) else { return value };
    let integer = number.as_i64().map(CelValue::Int).or_else(|| number.as_u64().map(CelValue::UInt));
    integer.or_else(|| number.as_f64().map(CelValue::Float)).unwrap_or(value)
}

fn as_boolean(value: CelValue) -> CelValue {
    match &value {
        CelValue::String(text) => text.parse().map_or(value, CelValue::Bool),
        _ => value,
    }
}

/// Reads a number or a boolean as its text in JSON.
fn as_text(value: CelValue) -> CelValue {
    let text = match &value {
        CelValue::Int(number) => number.to_string(),
        CelValue::UInt(number) => number.to_string(),
        CelValue::Float(number) => Value::from(*number).to_string(),
        CelValue::Bool(value) => value.to_string(),
        _ => return value,
    };
    CelValue::String(text.into())
}

/// Returns the part of a comprehension that is evaluated in each round and whose error ends it: the condition of
/// `filter` and `exists_one`, the element of `map`, otherwise (`all` and `exists`, which go on after an error of
/// theirs) the condition to go on. The form by which the interpreter recognizes `map` and `filter` stays.
fn round_of(each: &mut ComprehensionExpr) -> &mut IdedExpr {
    let is = |step: &IdedExpr, name| matches!(&step.expr, Expr::Call(call) if call.func_name == name);
    if is(&each.loop_step, operators::CONDITIONAL) || is(&each.loop_step, operators::ADD) {
        let is_append = is(&each.loop_step, operators::ADD);
        if let Expr::Call(step) = &mut each.loop_step.expr {
            let place = match is_append {
                true => step.args.last_mut().and_then(|list| match &mut list.expr {
                    Expr::List(list) => list.elements.first_mut(),
                    _ => None,
                }),
                false => step.args.first_mut(),
            };
            if let Some(place) = place {
                return place;
            }
        }
    }
    &mut each.loop_cond
}

/// `expression` becomes `@tick() ? expression : {}`.
fn ticking(expression: &mut IdedExpr) {
    let own = std::mem::take(expression);
    let nothing = IdedExpr { id: 0, expr: Expr::Map(MapExpr::default()) };
    *expression = call(operators::CONDITIONAL, vec![call(TICK, Vec::new()), own, nothing]);
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
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
