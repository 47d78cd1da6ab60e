//! Position in a document during a traversal: a chain on the stack, converted to a JSON Pointer only if it is needed.

use super::report::push_token;

/// A place in a document.
#[derive(Clone, Copy)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    token: Token<'p>,
}

#[derive(Clone, Copy)]
enum Token<'p> {
    Member(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// Root of the document.
    pub const ROOT: Path<'static> = Path { parent: None, token: Token::Index(0) };

    /// Returns the place of the member `name`.
    pub fn member(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), token: Token::Member(name) }
    }

    /// Returns the place of the element at `index`.
    pub fn index(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), token: Token::Index(index) }
    }

    /// Converts the place to a JSON Pointer.
    pub fn to_pointer(self) -> String {
        let Some(parent) = self.parent else {
            return String::new();
        };
        let mut pointer = parent.to_pointer();
        match self.token {
            Token::Member(name) => push_token(&mut pointer, name),
            Token::Index(index) => push_token(&mut pointer, &index.to_string()),
        }
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_what_separates() {
        let (forms, odd);
        forms = Path::ROOT.member("forms");
        odd = forms.index(2);
        assert_eq!(odd.member("a/b~c").to_pointer(), "/forms/2/a~1b~0c");
        assert_eq!(Path::ROOT.to_pointer(), "");
    }
}
