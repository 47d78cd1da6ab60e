//! Tokenization of text, shared by the index, queries, and snippets.
//!
//! Words are separated by characters other than letters and digits. Compound names are split at `camelCase`, at `_`,
//! `-`, and `/`, and between letters and digits; the whole name is a word, too, at the position of its first part, so
//! `getWeather`, `get_weather`, and `getweather` match each other. The same applies to the parts between hyphens or
//! slashes, and to invisible characters such as the soft hyphen and the zero-width space: `WhatsApp-Bot` contains `whats`,
//! `app`, `whatsapp`, `bot`, and `whatsappbot`. Two capitalized neighbors within a longer name are a word, too: the
//! `GitHub` of `createGitHubIssue`. The following steps are
//! case folding, removal of marks and ASCII folding ([`normalized`]), removal of stop words (without changing
//! positions, so phrases still match), and English stemming. A text in another language additionally has the stems of
//! that language, each at the position of its word ([`Language`]).

mod encoded;
mod languages;
mod split;
mod stems;

use std::ops::Range;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

pub(super) use encoded::{Encoded, Words};
pub(super) use languages::Language;
use split::{Name, Names};
pub(super) use split::{is_hyphen, is_ideographic, is_of_word};
pub(super) use stems::{fold_case, normalized, stemmer, stems_of_words_beginning_with};

/// Name of the tokenizer for preprocessed words.
pub(super) const ENCODED: &str = "encoded";

/// Longer words are no words, but encoded data.
const LONGEST_WORD: usize = 80;
/// Longer words, in bytes as they are written, aren't even normalized: a megabyte without a space costs nothing.
const LONGEST_WRITTEN: usize = 255;

/// The analyzers of the index by name. Queries and snippets use [`prose`] and [`names`].
pub(super) fn analyzers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(ENCODED, encoded::EncodedTokenizer::default());
    manager
}

/// The analyzer of prose.
pub(super) fn prose() -> TextAnalyzer {
    TextAnalyzer::from(WordTokenizer::prose())
}

/// The words of a name or title as they are written: `getWeather_v2` is "get Weather v 2".
#[cfg(feature = "semantic")]
pub(super) fn spelled_out(name: &str) -> String {
    let (mut names, mut next, mut words) = (Names::new(name), Name::default(), Vec::new());
    while names.read(&mut next) {
        words.extend(next.parts.iter().filter_map(|part| name.get(part.clone())));
    }
    words.join(" ")
}

/// The analyzer of names and titles: stop words count ("The Who", "IT").
pub(super) fn names() -> TextAnalyzer {
    TextAnalyzer::from(WordTokenizer::names())
}

/// Calls `each` with each word of a text or name, including stop words, and with the word before stemming.
#[cfg(feature = "semantic")]
pub(super) fn for_each_name(text: &str, mut each: impl FnMut(&Token, &str)) {
    let mut tokenizer = WordTokenizer::names();
    let mut stream = tokenizer.token_stream(text);
    while stream.advance() {
        each(&stream.tokenizer.token, &stream.tokenizer.word);
    }
}

/// The analyzer of prose for whoever looks for few words: leaves out, before it costs more, what begins
/// with another letter than these. Stems begin as their words do.
pub(super) fn prose_beginning_with(language: Option<Language>, bytes: impl Iterator<Item = u8>) -> TextAnalyzer {
    let mut beginnings = [false; 256];
    bytes.for_each(|byte| beginnings[usize::from(byte)] = true);
    // The form of a word in a language may begin otherwise than its English stem.
    let beginnings = Some(beginnings).filter(|_| language.is_none());
    TextAnalyzer::from(WordTokenizer { language, beginnings, ..WordTokenizer::default() })
}

/// Makes words of text as the module says.
#[derive(Clone, Default)]
pub(super) struct WordTokenizer {
    /// Language of the text, if it is not English.
    pub language: Option<Language>,
    keeps_stop_words: bool,
    /// For each first byte, whether words are wanted; `None` if all are.
    beginnings: Option<[bool; 256]>,
    token: Token,
    /// The current name.
    name: Name,
    /// The current word, normalized.
    word: String,
    /// Form in the language of the text, or empty if there is none.
    form: String,
}

impl WordTokenizer {
    /// Creates the tokenizer of [`prose`].
    pub fn prose() -> WordTokenizer {
        WordTokenizer::default()
    }

    /// Creates the tokenizer of [`names`].
    pub fn names() -> WordTokenizer {
        WordTokenizer { keeps_stop_words: true, ..WordTokenizer::default() }
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        self.name.clear();
        WordStream {
            text,
            names: Names::new(text),
            position: 0,
            next_part: 0,
            next_whole: 0,
            form_is_next: false,
            tokenizer: self,
        }
    }
}

/// The words of a text.
pub(super) struct WordStream<'a> {
    text: &'a str,
    names: Names<'a>,
    position: usize,
    next_part: usize,
    next_whole: usize,
    /// The last word has a form in the language of the text; now comes that.
    form_is_next: bool,
    tokenizer: &'a mut WordTokenizer,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        if std::mem::take(&mut self.form_is_next) {
            let WordTokenizer { token, form, .. } = &mut *self.tokenizer;
            std::mem::swap(&mut token.text, form);
            return true;
        }
        loop {
            if let Some(whole) = self.whole_of_last_part() {
                self.next_whole += 1;
                self.read_whole(whole);
            } else if self.next_part < self.tokenizer.name.parts.len() || self.read_name() {
                self.read_part();
            } else {
                return false;
            }
            if self.finish_word() {
                self.form_is_next = !self.tokenizer.form.is_empty();
                return true;
            }
        }
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}

impl WordStream<'_> {
    fn read_name(&mut self) -> bool {
        (self.next_part, self.next_whole) = (0, 0);
        self.names.read(&mut self.tokenizer.name)
    }

    /// Returns the next compound that begins with the part read last.
    fn whole_of_last_part(&self) -> Option<Range<usize>> {
        let whole = self.tokenizer.name.wholes.get(self.next_whole)?;
        (whole.start + 1 == self.next_part).then(|| whole.clone())
    }

    fn read_part(&mut self) {
        let WordTokenizer { token, name, word, form, language, .. } = &mut *self.tokenizer;
        let Some(part) = name.parts.get(self.next_part).cloned() else { return };
        let written = self.text.get(part.clone()).unwrap_or_default();
        word.clear();
        form.clear();
        if written.len() <= LONGEST_WRITTEN {
            if let Some(language) = language {
                language.append_form(written, form);
            }
            stems::normalize_into(written, word);
        }
        token.offset_from = part.start;
        token.offset_to = part.end;
        token.position = self.position;
        token.position_length = 1;
        self.next_part += 1;
        self.position += 1;
    }

    fn read_whole(&mut self, whole: Range<usize>) {
        let WordTokenizer { token, name, word, form, .. } = &mut *self.tokenizer;
        let parts = name.parts.get(whole).unwrap_or_default();
        word.clear();
        form.clear();
        if parts.iter().map(Range::len).sum::<usize>() <= LONGEST_WRITTEN {
            for part in parts.iter() {
                stems::normalize_into(self.text.get(part.clone()).unwrap_or_default(), word);
            }
        }
        token.offset_from = parts.first().map_or(0, |part| part.start);
        token.offset_to = parts.last().map_or(0, |part| part.end);
        // The position stays that of the first part.
        token.position_length = parts.len();
    }

    /// Makes a token of the current word, unless it isn't searched.
    fn finish_word(&mut self) -> bool {
        let WordTokenizer { token, word, keeps_stop_words, beginnings, .. } = &mut *self.tokenizer;
        let Some(first) = word.bytes().next().filter(|_| word.len() <= LONGEST_WORD) else { return false };
        if beginnings.is_some_and(|beginnings| !beginnings[usize::from(first)]) {
            return false;
        }
        stems::with_stem(word, |stem, is_stop_word| {
            token.text.clear();
            token.text.push_str(stem);
            *keeps_stop_words || !is_stop_word
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, usize)> {
        let mut words = Vec::new();
        prose().token_stream(text).process(&mut |token| words.push((token.text.clone(), token.position)));
        words
    }

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn names_are_taken_apart_and_kept_whole() {
        assert_eq!(texts("getWeather"), ["get", "getweath", "weather"]);
        assert_eq!(texts("get_weather"), ["get", "getweath", "weather"]);
        assert_eq!(texts("getweather"), ["getweath"]);
        assert_eq!(texts("HTTPServer2"), ["http", "httpserver", "httpserver2", "server", "2"]);
        let issue = ["creat", "creategithubissu", "git", "github", "hub", "hubissu", "issu"];
        assert_eq!(texts("createGitHubIssue"), issue);
        assert_eq!(texts("gpt4"), ["gpt", "gpt4", "4"]);
    }

    #[test]
    fn what_joints_separate_is_a_word_whole_in_parts_and_joined() {
        assert_eq!(texts("WhatsApp-Bot"), ["what", "whatsapp", "whatsappbot", "app", "bot"]);
        assert_eq!(
            words("my GitHub/PayPal_web3"),
            [
                ("my", 0),
                ("git", 1),
                ("github", 1),
                ("githubpaypalweb3", 1),
                ("hub", 2),
                ("pay", 3),
                ("paypal", 3),
                ("paypalweb3", 3),
                ("pal", 4),
                ("web", 5),
                ("web3", 5),
                ("3", 6),
            ]
            .map(|(word, position)| (word.to_owned(), position))
        );
        assert_eq!(texts("Pay\u{200b}Pal soft\u{ad}ware"), ["pay", "paypal", "pal", "soft", "softwar", "ware"]);
        assert_eq!(texts("می\u{200c}خواهم"), ["می", "میخواهم", "خواهم"]);
        assert_eq!(texts("CI/CD e\u{2011}mail"), ["ci", "cicd", "cd", "e", "email", "mail"]);
        assert_eq!(texts("one-two-three-four-five-six-seven-eight-WhatsApp").last().unwrap(), "app");
        assert!(texts("one-two-three-four-five-six-seven-eight-WhatsApp").contains(&"whatsapp".to_owned()));
    }

    #[test]
    fn a_mark_belongs_to_its_letter() {
        assert_eq!(texts("Mu\u{308}ller Cafe\u{301}Bar"), ["muller", "cafe", "cafebar", "bar"]);
        assert_eq!(texts("हिन्दी"), ["हिन्दी"]);
    }

    #[test]
    fn plural_acronyms_are_singular() {
        assert_eq!(texts("APIs of LLMs"), ["api", "llm"]);
    }

    #[test]
    fn stop_words_leave_a_gap() {
        assert_eq!(words("state of the art"), [("state".into(), 0), ("art".into(), 3)]);
    }

    #[test]
    fn accents_contractions_and_case_do_not_matter() {
        assert_eq!(texts("Müller's CAFÉ"), ["muller", "cafe"]);
        assert_eq!(texts("you'll don't"), ["you", "don"]);
    }

    #[test]
    fn ideographs_are_words_of_their_own() {
        assert_eq!(words("天气API"), [("天".into(), 0), ("气".into(), 1), ("api".into(), 2)]);
    }

    #[test]
    fn the_whole_has_the_place_of_its_first_part() {
        assert_eq!(
            words("a realTime feed"),
            [("real".into(), 1), ("realtim".into(), 1), ("time".into(), 2), ("feed".into(), 3)]
        );
    }

    #[test]
    fn words_that_begin_otherwise_are_left_out() {
        let mut words = Vec::new();
        let text = "Weather for the dying wolves, getWeather";
        prose_beginning_with(None, b"wd".iter().copied())
            .token_stream(text)
            .process(&mut |token| words.push(token.text.clone()));
        assert_eq!(words, ["weather", "die", "wolv", "weather"]);
    }

    #[test]
    fn words_of_another_language_have_its_stem_beside_them() {
        let mut tokenizer = WordTokenizer { language: Language::of_tag("de"), ..WordTokenizer::prose() };
        let mut words = Vec::new();
        let mut stream = tokenizer.token_stream("Die Vorhersagen für getWetter");
        stream.process(&mut |token| words.push((token.text.replace('\u{1}', "+"), token.position)));
        let expected = [
            ("die", 0),
            ("vorhersagen", 1),
            ("+devorhersag", 1),
            ("fur", 2),
            ("get", 3),
            ("+deget", 3),
            ("getwett", 3),
            ("wetter", 4),
            ("+dewett", 4),
        ];
        assert_eq!(words, expected.map(|(word, position)| (word.to_owned(), position)));
    }

    #[test]
    fn long_words_are_left_out_and_keep_their_place() {
        let longest = "a".repeat(LONGEST_WORD);
        let is_known = |word: &str| !texts(word).is_empty();
        assert!(is_known(&longest) && !is_known(&(longest.clone() + "a")));
        let encoded = "q".repeat(1_000_000);
        assert_eq!(words(&format!("weather {encoded} agent")), [("weather".into(), 0), ("agent".into(), 2)]);
        assert_eq!(texts(&format!("get_{encoded}")), ["get"]);
        let german = WordTokenizer { language: Language::of_tag("de"), ..WordTokenizer::prose() };
        let mut words = Vec::new();
        german.clone().token_stream(&encoded).process(&mut |token| words.push(token.text.clone()));
        assert_eq!(words, [""; 0]);
    }

    #[test]
    fn nothing_searchable_has_no_words() {
        assert!(words("?! \" -- ++ ★ 👍").is_empty());
    }
}
