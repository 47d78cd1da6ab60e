//! Validation of JSON Schemas against the meta-schema of draft 2020-12.
//!
//! The meta-schema only constrains the value of each keyword, which a table can express. Checking a schema against the
//! table takes linear time and follows no references, at a fraction of the cost of a general validator.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    keywords::{Keyword, Shape, TYPES},
    td::internal::push_token,
};

use super::pattern;

/// A place in a schema that the meta-schema doesn't allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    /// A JSON Pointer from the schema.
    pub(super) pointer: String,
    /// The flaw, or what is expected instead.
    pub(super) message: String,
}

/// More flaws than this of one schema help nobody.
const MAX_FLAWS: usize = 20;

/// Finds the flaws of `schema`, up to `MAX_FLAWS`; none if it is a JSON Schema.
pub(super) fn find_flaws(schema: &Value) -> Vec<Flaw> {
    let mut walk = Walk { path: Vec::new(), flaws: Vec::new() };
    walk.schema(schema);
    walk.flaws
}

#[derive(Clone, Copy)]
enum Token<'v> {
    Name(&'v str),
    Index(usize),
}

struct Walk<'v> {
    path: Vec<Token<'v>>,
    flaws: Vec<Flaw>,
}

impl<'v> Walk<'v> {
    fn schema(&mut self, schema: &'v Value) {
        match schema {
            Value::Object(members) => {
                for (name, value) in members {
                    let Some(Keyword { shape, .. }) = Keyword::find(name) else { continue };
                    self.at(Token::Name(name), |walk| walk.keyword(shape, value));
                }
            }
            Value::Bool(_) => {}
            _ => self.flaw("a schema must be an object or a boolean"),
        }
    }

    fn keyword(&mut self, shape: Shape, value: &'v Value) {
        match shape {
            Shape::Schema => self.schema(value),
            Shape::Schemas => self.schemas(value),
            Shape::NamedSchemas => self.each_member(value, Walk::schema),
            Shape::PatternSchemas => {
                value.as_object().into_iter().flatten().for_each(|(name, _)| self.pattern(name));
                self.each_member(value, Walk::schema);
            }
            Shape::Types => self.types(value),
            Shape::Pattern if value.is_string() => self.pattern(value.as_str().unwrap_or_default()),
            Shape::NamedNames => self.each_member(value, Walk::names),
            Shape::Dependencies => self.each_member(value, |walk, dependency| match dependency {
                Value::Array(_) => walk.names(dependency),
                schema => walk.schema(schema),
            }),
            Shape::Vocabulary => self.each_member(value, |walk, needed| walk.keyword(Shape::Flag, needed)),
            simple => simple.flaw(value).into_iter().for_each(|message| self.flaw(message)),
        }
    }

    fn names(&mut self, value: &'v Value) {
        self.keyword(Shape::Names, value);
    }

    fn types(&mut self, value: &'v Value) {
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        match value {
            Value::Array(types) => {
                let distinct: HashSet<_> = types.iter().take(TYPES.len() + 1).filter_map(Value::as_str).collect();
                let valid = !types.is_empty() && types.iter().all(is_type) && distinct.len() == types.len();
                self.expect(valid, "expected a list of one or more distinct types");
            }
            one => {
                let valid = is_type(one);
                self.expect_with(valid, || format!("expected one of {}, or a list of them", TYPES.join(", ")));
            }
        }
    }

    fn schemas(&mut self, value: &'v Value) {
        match value.as_array().map(Vec::as_slice) {
            None | Some([]) => self.flaw("expected a list of one or more schemas"),
            Some(schemas) => {
                for (index, schema) in schemas.iter().enumerate() {
                    self.at(Token::Index(index), |walk| walk.schema(schema));
                }
            }
        }
    }

    fn pattern(&mut self, pattern: &str) {
        if let Err(reason) = pattern::check(pattern) {
            self.expect_with(false, || format!("not a regular expression: {reason}"));
        }
    }

    fn each_member(&mut self, value: &'v Value, mut visit: impl FnMut(&mut Self, &'v Value)) {
        let Some(members) = value.as_object() else { return self.flaw("expected an object") };
        for (name, member) in members {
            self.at(Token::Name(name), |walk| visit(walk, member));
        }
    }

    fn at(&mut self, token: Token<'v>, visit: impl FnOnce(&mut Self)) {
        if self.flaws.len() < MAX_FLAWS {
            self.path.push(token);
            visit(self);
            self.path.pop();
        }
    }

    fn flaw(&mut self, message: &str) {
        self.expect(false, message);
    }

    fn expect(&mut self, valid: bool, message: &str) {
        self.expect_with(valid, || message.to_owned());
    }

    fn expect_with(&mut self, valid: bool, message: impl FnOnce() -> String) {
        if valid || self.flaws.len() >= MAX_FLAWS {
            return;
        }
        let mut pointer = String::new();
        for token in &self.path {
            match token {
                Token::Name(name) => push_token(&mut pointer, name),
                Token::Index(index) => push_token(&mut pointer, &index.to_string()),
            }
        }
        self.flaws.push(Flaw { pointer, message: message() });
    }
}
