//! Checks on a query after parsing.
//!
//! [`meter`](super::meter) limits the evaluation by the number of terms in results. Everything without terms is
//! limited here: results without bound variables, and texts that grow within the evaluation of a single expression.

use std::collections::HashSet;

use oxrdf::Variable;
use spargebra::{
    Query,
    algebra::{AggregateExpression, Expression, Function, GraphPattern, OrderExpression, PropertyPathExpression},
    term::{NamedNodePattern, TermPattern},
};

use crate::{Error, Result};

/// Maximum number of results without reading statements: those of `VALUES` and `UNION`, multiplied.
const MAX_GIVEN_RESULTS: u64 = 10_000;
/// The most variables.
const MAX_VARIABLES: usize = 32;
/// Maximum length in bytes of a text that an expression may create from texts of 64 KiB.
const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;
const VARIABLE_BYTES: u64 = 64 * 1024;

/// Checks a query.
pub(super) fn check(query: &Query) -> Result<()> {
    if query.dataset().is_some() {
        let message = "FROM is not supported; the default graph contains the statements of all Things; GRAPH <id> \
            { … } selects the statements of a single Thing";
        return Err(invalid(message));
    }
    let pattern = match query {
        Query::Select { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. } => pattern,
    };
    let mut check = Check::default();
    check.pattern(pattern, true)?;
    if check.variables.len() > MAX_VARIABLES {
        return Err(Error::LimitExceeded {
            what: "number of variables in a SPARQL query",
            maximum: MAX_VARIABLES as u64,
        });
    }
    Ok(())
}

#[derive(Default)]
struct Check {
    variables: HashSet<Variable>,
}

/// Bounds of the results of a pattern.
struct Shape {
    /// Maximum number of results for each statement that is read.
    given: u64,
    /// Variables that each result binds.
    bound: HashSet<Variable>,
}

impl Check {
    fn pattern(&mut self, pattern: &GraphPattern, is_outermost: bool) -> Result<Shape> {
        let shape = match pattern {
            GraphPattern::Bgp { patterns } => {
                let mut bound = HashSet::new();
                for triple in patterns {
                    bound.extend(variable_of(&triple.subject));
                    bound.extend(variable_of(&triple.object));
                    if let NamedNodePattern::Variable(variable) = &triple.predicate {
                        bound.insert(variable.clone());
                    }
                }
                Shape { given: 1, bound }
            }
            GraphPattern::Path { subject, path, object } => {
                let bound: HashSet<Variable> = variable_of(subject).into_iter().chain(variable_of(object)).collect();
                Shape { given: if bound.is_empty() { ways(path) } else { 1 }, bound }
            }
            GraphPattern::Join { left, right } => {
                let (left, right) = (self.pattern(left, false)?, self.pattern(right, false)?);
                Shape { given: left.given.saturating_mul(right.given), bound: &left.bound | &right.bound }
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                let (left, right) = (self.pattern(left, false)?, self.pattern(right, false)?);
                expression.iter().try_for_each(|expression| self.expression(expression).map(drop))?;
                Shape { given: left.given.saturating_mul(right.given), bound: left.bound }
            }
            GraphPattern::Filter { expr, inner } => {
                self.expression(expr)?;
                self.pattern(inner, is_outermost)?
            }
            GraphPattern::Union { left, right } => {
                let (left, right) = (self.pattern(left, false)?, self.pattern(right, false)?);
                Shape { given: left.given.saturating_add(right.given), bound: &left.bound & &right.bound }
            }
            GraphPattern::Graph { name, inner } => {
                let mut shape = self.pattern(inner, false)?;
                if let NamedNodePattern::Variable(variable) = name {
                    shape.bound.insert(variable.clone());
                }
                shape
            }
            GraphPattern::Extend { inner, variable, expression } => {
                self.expression(expression)?;
                self.variables.insert(variable.clone());
                self.pattern(inner, is_outermost)?
            }
            GraphPattern::Minus { left, right } => {
                self.pattern(right, false)?;
                self.pattern(left, false)?
            }
            GraphPattern::Values { variables, bindings } => {
                let always = |place: usize| bindings.iter().all(|row| row.get(place).is_some_and(Option::is_some));
                let bound = variables.iter().enumerate().filter(|(place, _)| always(*place));
                let bound = bound.map(|(_, variable)| variable.clone()).collect();
                Shape { given: bindings.len().max(1) as u64, bound }
            }
            GraphPattern::OrderBy { inner, expression } => {
                for order in expression {
                    let (OrderExpression::Asc(expression) | OrderExpression::Desc(expression)) = order;
                    self.expression(expression)?;
                }
                self.pattern(inner, is_outermost)?
            }
            GraphPattern::Project { inner, variables } => self.projection(inner, variables, is_outermost)?,
            GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => self.pattern(inner, is_outermost)?,
            GraphPattern::Slice { inner, .. } => self.pattern(inner, is_outermost)?,
            GraphPattern::Group { inner, variables, aggregates } => {
                let inner = self.pattern(inner, false)?;
                for (variable, aggregate) in aggregates {
                    self.variables.insert(variable.clone());
                    if let AggregateExpression::FunctionCall { expr, .. } = aggregate {
                        self.expression(expr)?;
                    }
                }
                let mut bound: HashSet<Variable> =
                    variables.iter().filter(|variable| inner.bound.contains(*variable)).cloned().collect();
                // One result for each group: its values need not be bound for that.
                bound.extend(aggregates.iter().map(|(variable, _)| variable.clone()));
                Shape { given: inner.given, bound }
            }
            GraphPattern::Service { name, .. } => {
                return Err(invalid(&format!(
                    "SERVICE {name} is not supported: this registry doesn't query other endpoints"
                )));
            }
        };
        self.variables.extend(shape.bound.iter().cloned());
        if shape.given > MAX_GIVEN_RESULTS {
            let message = format!(
                "its VALUES and UNIONs combine to more than {MAX_GIVEN_RESULTS} results; use fewer, or connect them \
                 by shared variables"
            );
            return Err(Error::QueryTooCostly { message });
        }
        Ok(shape)
    }

    /// Checks a part whose results may bind no variable: it could have any number of results without terms.
    fn projection(&mut self, inner: &GraphPattern, variables: &[Variable], is_outermost: bool) -> Result<Shape> {
        let shape = self.pattern(inner, is_outermost)?;
        self.variables.extend(variables.iter().cloned());
        let bound: HashSet<Variable> =
            variables.iter().filter(|variable| shape.bound.contains(*variable)).cloned().collect();
        if bound.is_empty() && !is_outermost && !shape.bound.is_empty() {
            let message = "a subquery must select at least one variable that its patterns always bind; variables \
                bound only by OPTIONAL or BIND don't count";
            return Err(invalid(message));
        }
        Ok(Shape { given: shape.given, bound })
    }

    /// Checks an expression, and returns the maximum length of the text that it makes, in bytes.
    fn expression(&mut self, expression: &Expression) -> Result<u64> {
        let length = match expression {
            Expression::NamedNode(node) => node.as_str().len() as u64,
            Expression::Literal(literal) => literal.value().len() as u64,
            Expression::Variable(variable) | Expression::Bound(variable) => {
                self.variables.insert(variable.clone());
                VARIABLE_BYTES
            }
            Expression::Or(left, right)
            | Expression::And(left, right)
            | Expression::Equal(left, right)
            | Expression::SameTerm(left, right)
            | Expression::Greater(left, right)
            | Expression::GreaterOrEqual(left, right)
            | Expression::Less(left, right)
            | Expression::LessOrEqual(left, right)
            | Expression::Add(left, right)
            | Expression::Subtract(left, right)
            | Expression::Multiply(left, right)
            | Expression::Divide(left, right) => self.expression(left)?.max(self.expression(right)?).min(64),
            Expression::In(left, list) => {
                list.iter().try_for_each(|item| self.expression(item).map(drop))?;
                self.expression(left)?.min(64)
            }
            Expression::UnaryPlus(inner) | Expression::UnaryMinus(inner) | Expression::Not(inner) => {
                self.expression(inner)?.min(64)
            }
            Expression::Exists(pattern) => {
                self.pattern(pattern, false)?;
                8
            }
            Expression::If(condition, then, otherwise) => {
                self.expression(condition)?;
                self.expression(then)?.max(self.expression(otherwise)?)
            }
            Expression::Coalesce(choices) => self.longest(choices)?,
            Expression::FunctionCall(function, arguments) => self.function(function, arguments)?,
        };
        if length > MAX_TEXT_BYTES {
            let message =
                "an expression may produce a string of more than 4 MiB; concatenate or replace less".to_owned();
            return Err(Error::QueryTooCostly { message });
        }
        Ok(length)
    }

    fn function(&mut self, function: &Function, arguments: &[Expression]) -> Result<u64> {
        let longest = self.longest(arguments)?;
        Ok(match function {
            Function::Concat => arguments
                .iter()
                .try_fold(0_u64, |sum, argument| Ok::<_, Error>(sum.saturating_add(self.expression(argument)?)))?,
            // A pattern can match nothing between any two characters, and `$0` stands for what was matched.
            Function::Replace => {
                let text = arguments.first().map_or(Ok(0), |text| self.expression(text))?;
                let replacement = arguments.get(2).map_or(Ok(0), |text| self.expression(text))?;
                text.saturating_add(1).saturating_mul(replacement.saturating_add(1)).max(longest)
            }
            Function::EncodeForUri => longest.saturating_mul(3),
            Function::UCase | Function::LCase => longest.saturating_mul(3),
            _ => longest,
        })
    }

    fn longest(&mut self, expressions: &[Expression]) -> Result<u64> {
        expressions.iter().try_fold(0, |longest: u64, expression| Ok(longest.max(self.expression(expression)?)))
    }
}

/// Returns the maximum number of ways by which a path can lead from one place to another, according to its structure.
fn ways(path: &PropertyPathExpression) -> u64 {
    match path {
        PropertyPathExpression::Alternative(left, right) => ways(left).saturating_add(ways(right)),
        PropertyPathExpression::Sequence(left, right) => ways(left).saturating_mul(ways(right)),
        PropertyPathExpression::Reverse(inner) => ways(inner),
        PropertyPathExpression::NegatedPropertySet(_) => 100,
        PropertyPathExpression::NamedNode(_)
        | PropertyPathExpression::ZeroOrMore(_)
        | PropertyPathExpression::OneOrMore(_)
        | PropertyPathExpression::ZeroOrOne(_) => 1,
    }
}

fn variable_of(term: &TermPattern) -> Option<Variable> {
    match term {
        TermPattern::Variable(variable) => Some(variable.clone()),
        // Blank nodes of a query are variables that have no name.
        TermPattern::BlankNode(node) => Variable::new(node.as_str()).ok(),
        _ => None,
    }
}

fn invalid(message: &str) -> Error {
    Error::InvalidQuery { message: message.to_owned() }
}
