//! Languages other than English: texts declared to be in such a language are also indexed by their stems in it.
//!
//! In addition to the English form of a word, which matches it as written, its stem in that language is indexed,
//! marked with the language so that it never matches a word of another language. Stop words of a language have no
//! such form.

use std::{borrow::Cow, cell::RefCell};

use tantivy::tokenizer::{self, LowerCaser, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream};
use unicode_normalization::UnicodeNormalization;

use super::stems::normalize_into;

/// The languages with stems by their primary tags (BCP 47).
const LANGUAGES: [(&str, tokenizer::Language); 17] = [
    ("ar", tokenizer::Language::Arabic),
    ("da", tokenizer::Language::Danish),
    ("de", tokenizer::Language::German),
    ("el", tokenizer::Language::Greek),
    ("es", tokenizer::Language::Spanish),
    ("fi", tokenizer::Language::Finnish),
    ("fr", tokenizer::Language::French),
    ("hu", tokenizer::Language::Hungarian),
    ("it", tokenizer::Language::Italian),
    ("nl", tokenizer::Language::Dutch),
    ("no", tokenizer::Language::Norwegian),
    ("pt", tokenizer::Language::Portuguese),
    ("ro", tokenizer::Language::Romanian),
    ("ru", tokenizer::Language::Russian),
    ("sv", tokenizer::Language::Swedish),
    ("ta", tokenizer::Language::Tamil),
    ("tr", tokenizer::Language::Turkish),
];
/// Languages known to the built-in table of word vectors. It also knows Chinese and Japanese, which have no stemmer.
const IN_TABLE: [&str; 3] = ["de", "es", "fr"];
/// Begins the form of a word in a language; no word that is written has it.
const MARK: char = '\u{1}';

/// A language other than English with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::search) struct Language(usize);

impl Language {
    /// Returns the language of a tag such as `de` or `pt-BR`, or `None` for English and for languages without a
    /// stemmer.
    pub fn of_tag(tag: &str) -> Option<Language> {
        let primary = tag.split(['-', '_']).next()?;
        // Norwegian is mostly tagged as one of its two written forms.
        let primary = if ["nb", "nn"].iter().any(|form| form.eq_ignore_ascii_case(primary)) { "no" } else { primary };
        LANGUAGES.iter().position(|(known, _)| known.eq_ignore_ascii_case(primary)).map(Language)
    }

    /// Returns all languages.
    pub fn all() -> impl Iterator<Item = Language> {
        (0..LANGUAGES.len()).map(Language)
    }

    /// Returns the language tags that select the language.
    pub fn tags(self) -> impl Iterator<Item = &'static str> {
        let forms: &[&str] = if self.tag() == "no" { &["nb", "nn"] } else { &[] };
        [self.tag()].into_iter().chain(forms.iter().copied())
    }

    /// True if the built-in table of word vectors knows the language.
    pub fn is_in_table(self) -> bool {
        IN_TABLE.contains(&self.tag())
    }

    fn tag(self) -> &'static str {
        LANGUAGES.get(self.0).map_or("", |(tag, _)| tag)
    }

    /// Appends the indexed form of a word in this language. Appends nothing for a stop word.
    pub fn append_form(self, written: &str, form: &mut String) {
        with_analyzers(self, |Analyzers { forms, .. }| {
            let composed = composed(written);
            let mut stream = forms.token_stream(&composed);
            if stream.advance() {
                form.push(MARK);
                form.push_str(self.tag());
                // Accents tell endings apart, so that they go last.
                normalize_into(&stream.token().text, form);
            }
        });
    }

    /// True for a stop word of the language.
    pub fn is_stop_word(self, written: &str) -> bool {
        let mut is_stop_word = false;
        with_analyzers(self, |Analyzers { words, .. }| {
            is_stop_word = !words.token_stream(&composed(written)).advance();
        });
        is_stop_word
    }

    /// Returns the indexed form of a word in this language, or `None` for a stop word.
    pub fn form_of(self, written: &str) -> Option<String> {
        let mut form = String::new();
        self.append_form(written, &mut form);
        Some(form).filter(|form| !form.is_empty())
    }
}

/// A text with its letters and marks composed, as stems and lists of stop words have them.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfc().collect::<String>().into() }
}

/// The analyzers of a language.
struct Analyzers {
    /// Leaves out stop words.
    words: TextAnalyzer,
    /// Leaves out stop words, and stems.
    forms: TextAnalyzer,
}

impl Analyzers {
    fn new(language: tokenizer::Language) -> Analyzers {
        let words = || {
            let lower_case = TextAnalyzer::builder(RawTokenizer::default()).filter(LowerCaser).dynamic();
            match StopWordFilter::new(language) {
                Some(stop_words) => lower_case.filter_dynamic(stop_words),
                None => lower_case,
            }
        };
        Analyzers { words: words().build(), forms: words().filter_dynamic(Stemmer::new(language)).build() }
    }
}

/// Calls `then` with this thread's analyzers for a language.
fn with_analyzers(language: Language, then: impl FnOnce(&mut Analyzers)) {
    thread_local!(static ANALYZERS: RefCell<[Option<Analyzers>; LANGUAGES.len()]> = RefCell::default());
    ANALYZERS.with_borrow_mut(|analyzers| {
        let Some(((_, language), place)) = LANGUAGES.get(language.0).zip(analyzers.get_mut(language.0)) else { return };
        then(place.get_or_insert_with(|| Analyzers::new(*language)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(tag: &str, word: &str) -> Option<String> {
        Language::of_tag(tag).unwrap().form_of(word).map(|form| form.replace(MARK, ""))
    }

    #[test]
    fn inflected_words_have_one_form() {
        for (tag, words) in [
            ("de", &["Vorhersage", "Vorhersagen", "VORHERSAGEN"][..]),
            ("de-AT", &["Bücher", "Büchern"]),
            ("fr", &["prévision", "prévisions"]),
            ("es", &["pronóstico", "pronósticos"]),
            ("ru", &["погода", "погоду", "погоды"]),
            ("nb", &["værvarsel", "værvarselet"]),
            ("de", &["Büchern", "Bu\u{308}cher"]),
            ("el", &["χάρτης", "ΧΑΡΤΗΣ"]),
            ("tr", &["İstanbul", "istanbul"]),
        ] {
            let forms: Vec<_> = words.iter().map(|word| form(tag, word)).collect();
            assert!(forms[0].is_some() && forms.iter().all(|form| *form == forms[0]), "{words:?}: {forms:?}");
        }
    }

    #[test]
    fn stop_words_have_no_form_and_languages_are_kept_apart() {
        assert_eq!((form("de", "und"), form("fr", "les"), form("de", "fu\u{308}r")), (None, None, None));
        let is_stop_word = |tag: &str, word: &str| Language::of_tag(tag).unwrap().is_stop_word(word);
        assert!(is_stop_word("es", "Del") && !is_stop_word("es", "luz") && !is_stop_word("tr", "ve"));
        assert_ne!(form("de", "hotel"), form("fr", "hotel"));
        assert!(Language::of_tag("en").is_none() && Language::of_tag("tlh").is_none());
        assert!(Language::all().all(|language| language.tags().all(|tag| Language::of_tag(tag) == Some(language))));
    }
}
