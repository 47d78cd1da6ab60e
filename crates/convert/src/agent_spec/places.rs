//! Locations in the documents. They share common prefixes, so storing a location is cheap regardless of the length of
//! its JSON Pointer.

use super::findings::Spot;
use crate::td::internal::push_token;

/// A place that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceId(u32);

/// A step from a place to one within it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token<'d> {
    /// The whole document: 0 is the main one.
    Document(u32),
    Member(&'d str),
    Index(u32),
}

/// All places that are remembered.
#[derive(Debug, Default)]
pub(super) struct Places<'d> {
    steps: Vec<(PlaceId, Token<'d>)>,
}

/// The position of a walk: a chain on the stack from a place that is remembered.
#[derive(Clone, Copy)]
pub(super) enum At<'p, 'd> {
    Place(PlaceId),
    Within(&'p At<'p, 'd>, Token<'d>),
}

impl<'d> At<'_, 'd> {
    /// The member `name` of this.
    pub(super) fn member<'p>(&'p self, name: &'d str) -> At<'p, 'd> {
        At::Within(self, Token::Member(name))
    }

    /// The element at `index` of this.
    pub(super) fn index<'p>(&'p self, index: usize) -> At<'p, 'd> {
        At::Within(self, Token::Index(u32::try_from(index).unwrap_or(u32::MAX)))
    }
}

impl<'d> Places<'d> {
    /// The whole of a document.
    pub(super) fn document(&mut self, number: usize) -> PlaceId {
        self.push(PlaceId(0), Token::Document(u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// True if a place is the whole of a document.
    pub(super) fn is_document(&self, place: PlaceId) -> bool {
        matches!(self.steps.get(place.0 as usize), Some((_, Token::Document(_))))
    }

    /// Remembers where a walk is.
    pub(super) fn remember(&mut self, at: &At<'_, 'd>) -> PlaceId {
        match *at {
            At::Place(place) => place,
            At::Within(outer, token) => {
                let outer = self.remember(outer);
                self.push(outer, token)
            }
        }
    }

    /// Returns the document and JSON Pointer of a walk's position.
    pub(super) fn spot(&self, at: &At<'_, 'd>) -> Spot {
        match *at {
            At::Place(place) => self.spot_of(place),
            At::Within(outer, token) => step(self.spot(outer), token),
        }
    }

    /// A place, for somebody to read.
    pub(super) fn spot_of(&self, place: PlaceId) -> Spot {
        let mut tokens = Vec::new();
        let mut next = place;
        let document = loop {
            let Some((outer, token)) = self.steps.get(next.0 as usize) else { break 0 };
            if let Token::Document(document) = token {
                break *document as usize;
            }
            tokens.push(*token);
            next = *outer;
        };
        tokens.into_iter().rev().fold(Spot { pointer: String::new(), document }, step)
    }

    fn push(&mut self, outer: PlaceId, token: Token<'d>) -> PlaceId {
        let place = PlaceId(u32::try_from(self.steps.len()).unwrap_or(u32::MAX));
        self.steps.push((outer, token));
        place
    }
}

fn step(mut spot: Spot, token: Token<'_>) -> Spot {
    match token {
        Token::Member(name) => push_token(&mut spot.pointer, name),
        Token::Index(index) => push_token(&mut spot.pointer, &index.to_string()),
        Token::Document(document) => spot.document = document as usize,
    }
    spot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_and_places_give_the_same_pointer() {
        let mut places = Places::default();
        let (main, other) = (places.document(0), places.document(1));
        let root = At::Place(other);
        let list = root.member("a/b");
        let walk = list.index(3);
        assert_eq!(places.spot(&walk), Spot { pointer: "/a~1b/3".into(), document: 1 });
        let place = places.remember(&walk);
        assert_eq!(places.spot(&At::Place(place).member("x")).pointer, "/a~1b/3/x");
        assert_eq!(places.spot_of(main), Spot { pointer: String::new(), document: 0 });
    }
}
