//! `Place`: where a value is in a document, which becomes the name of a reference only when one is needed.

use std::{borrow::Cow, cell::OnceCell};

use serde_json::json;
use uuid::Uuid;

use super::{edit::Edit, urls::scrubbed};
use crate::convert::agent_spec::references::REFERENCE;

/// The most bytes of a name that what is within goes on with.
const LONGEST_NAME: usize = 256;
/// The most bytes of an id, or of the name of a member, in a name.
const LONGEST_PART: usize = 128;
/// What follows the beginning of a name that is too long: a tilde and a UUID.
const DIGEST_BYTES: usize = 33;

/// A chain on the stack, from the component around a value to the value.
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    token: Token<'p>,
    /// Made once, however much is hidden within.
    name: OnceCell<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Token<'p> {
    Name(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    /// The place of a component, or of something that is called like one.
    pub(super) fn of_component(id: &'p str) -> Place<'p> {
        Place { parent: None, token: Token::Name(id), name: OnceCell::new() }
    }

    pub(super) fn within(&'p self, token: Token<'p>) -> Place<'p> {
        Place { parent: Some(self), token, name: OnceCell::new() }
    }

    /// The reference in the place of what is hidden here.
    pub(super) fn hide<'v>(&self) -> Edit<'v> {
        Edit::Replace(json!({REFERENCE: scrubbed(self.name())}))
    }

    fn name(&self) -> &str {
        self.name.get_or_init(|| {
            let token: Cow<'_, str> = match self.token {
                Token::Name(name) => component_name(name),
                Token::Index(index) => index.to_string().into(),
            };
            match self.parent {
                Some(parent) => format!("{}.{token}", shortened(parent.name().into(), LONGEST_NAME)),
                None => token.into_owned(),
            }
        })
    }
}

/// What references to what is hidden in a component of that id begin with.
pub(in crate::convert::agent_spec) fn component_name(id: &str) -> Cow<'_, str> {
    // Half of a URL wouldn't be known for one.
    shortened(scrubbed(id), LONGEST_PART)
}

/// A text that isn't longer than it may be, and yet another one for every text: one long id must not come
/// back with everything that is hidden in its component.
fn shortened(text: Cow<'_, str>, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return text;
    }
    let start = &text[..text.floor_char_boundary(longest - DIGEST_BYTES)];
    format!("{start}~{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).simple()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_differ() {
        let (id, member) = ("ä".repeat(1000), "m".repeat(1000));
        let component = Place::of_component(&id);
        let mut names = Vec::new();
        for token in [Token::Name(&member), Token::Name(&member[1..]), Token::Index(7), Token::Name("api_key")] {
            let first = component.within(token);
            let second = first.within(Token::Name(&member));
            let third = second.within(Token::Name("password"));
            assert!(third.name().ends_with(".password") && third.name().len() <= LONGEST_NAME + LONGEST_PART + 1);
            assert!(third.name().starts_with(component_name(&id).as_ref()));
            names.extend([first.name().to_owned(), second.name().to_owned(), third.name().to_owned()]);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn credentials_are_taken_out_before_a_name_is_cut() {
        let id = format!("https://joe:hunter2{}@host", "x".repeat(200));
        assert_eq!(component_name(&id), "https://host");
    }
}
