//! Texts of a Thing for embedding: its title with its description, and each of its capabilities.

use crate::{
    Error, Result,
    search::{
        entry::capabilities,
        node::{Node, Object},
        text,
    },
};

/// Number of characters of a description that count.
const LONGEST_DESCRIPTION: usize = 400;
/// Maximum number of vectors per Thing. Further capabilities have no vector.
pub(super) const MOST_VECTORS: usize = 256;

/// A name with its description. Either can be empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Described {
    /// Name in words: `getWeather` becomes "get Weather".
    pub name: String,
    pub description: String,
}

impl Described {
    fn new(name: Option<&str>, description: Option<&str>) -> Option<Described> {
        let name = text::spelled_out(name.unwrap_or_default());
        let description: String = description.unwrap_or_default().trim().chars().take(LONGEST_DESCRIPTION).collect();
        (!name.is_empty() || !description.is_empty()).then_some(Described { name, description })
    }

    /// True if the other text adds nothing to this one.
    fn includes(&self, other: &Described) -> bool {
        let says_nothing = other.description.is_empty() && other.name.eq_ignore_ascii_case(&self.name);
        says_nothing || (!other.description.is_empty() && other.description == self.description)
    }
}

/// Returns the texts of a Thing to be embedded: the Thing itself first, then capabilities with different texts.
pub(super) fn described(thing: &str) -> Result<Vec<Described>> {
    let node: Node<'_> = serde_json::from_str(thing)
        .map_err(|source| Error::Index { doing: "reading a stored description", source: source.into() })?;
    let nothing = Object::default();
    let thing = node.as_object().unwrap_or(&nothing);
    let title = translated(thing, "title", "titles");
    let description = translated(thing, "description", "descriptions");
    let mut found: Vec<Described> = Described::new(title, description).into_iter().collect();
    for capability in capabilities(thing) {
        if found.len() >= MOST_VECTORS {
            break;
        }
        let name = capability.name.unwrap_or(capability.key());
        found.extend(
            Described::new(Some(name), capability.description)
                .filter(|capability| !capability.name.is_empty() || !capability.description.is_empty())
                .filter(|capability| !found.iter().take(1).any(|thing| thing.includes(capability))),
        );
    }
    Ok(found)
}

/// Returns a text in English if there is such a translation, or else in the default language, or else in any
/// language.
fn translated<'a>(owner: &'a Object<'a>, one: &str, many: &str) -> Option<&'a str> {
    let translations = owner.get(many).and_then(Node::as_object);
    let is_english = |tag: &str| tag.split('-').next().is_some_and(|language| language.eq_ignore_ascii_case("en"));
    let english = translations.and_then(|all| all.iter().find(|(tag, _)| is_english(tag)));
    let english = english.and_then(|(_, text)| text.as_str());
    english.or_else(|| owner.get(one).and_then(Node::as_str)).or_else(|| translations?.values().find_map(Node::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(thing: &str) -> Vec<(String, String)> {
        described(thing).unwrap().into_iter().map(|one| (one.name, one.description)).collect()
    }

    #[test]
    fn a_capability_that_repeats_the_description_has_no_vector_of_its_own() {
        let thing = r#"{"title": "getWeather", "description": "Tells the weather.", "actions": {
            "getWeather": {"description": "Tells the weather."}, "bookHotel": {"description": "Books a bed."}}}"#;
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(names(thing), [pair("get Weather", "Tells the weather."), pair("book Hotel", "Books a bed.")]);
    }

    #[test]
    fn english_goes_before_the_default_language() {
        let thing = r#"{"title": "Wetter", "titles": {"de": "Wetter", "en-GB": "Weather"}}"#;
        assert_eq!(names(thing), [("Weather".to_owned(), String::new())]);
        assert_eq!(names(r#"{"title": "Wetter", "titles": {"de": "Wetter"}}"#)[0].0, "Wetter");
        assert!(names("{}").is_empty());
    }
}
