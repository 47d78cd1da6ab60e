//! Sentences of a request written in prose.

use super::{Clause, Occur, Pattern, Target};

/// Minimum number of words in a sentence. A shorter sentence is joined with the next.
const FEWEST_WORDS: usize = 3;
/// Maximum number of sentences. The rest belongs to the last one.
const MOST_SENTENCES: usize = 8;

/// Returns the indexes of clauses that begin a sentence, or a part of a sentence with a further step. Empty for fewer
/// than two sentences, and for queries with anything other than words.
pub(super) fn starts(clauses: &[Clause]) -> Vec<usize> {
    let mut starts = vec![0];
    let (mut start, mut is_prose) = (0, true);
    for (next, clause) in (1..).zip(clauses) {
        let Clause { occur: Occur::Any, target: Target::Text, pattern } = clause else {
            is_prose = false;
            break;
        };
        let ends = matches!(pattern, Pattern::Word(word) if ends_sentence(word) || word.ends_with(',') && goes_on(clauses, next));
        let is_long = next - start >= FEWEST_WORDS && clauses.len() - next >= FEWEST_WORDS;
        if ends && is_long && starts.len() < MOST_SENTENCES {
            starts.push(next);
            start = next;
        }
    }
    if is_prose && starts.len() > 1 { starts } else { Vec::new() }
}

/// True if the words from a clause on are "then" or "and then".
fn goes_on(clauses: &[Clause], from: usize) -> bool {
    let word = |at: usize| match clauses.get(at).map(|clause| &clause.pattern) {
        Some(Pattern::Word(word)) => word.as_str(),
        _ => "",
    };
    word(from).eq_ignore_ascii_case("then")
        || word(from).eq_ignore_ascii_case("and") && word(from + 1).eq_ignore_ascii_case("then")
}

fn ends_sentence(word: &str) -> bool {
    word.trim_end_matches(['"', '\'', ')', '”', '’']).ends_with(['.', '?', '!', ';', '。', '？', '！'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::query::parse;

    fn starts_of(text: &str) -> Vec<usize> {
        starts(&parse(text))
    }

    #[test]
    fn sentences_of_three_words_and_more_count() {
        assert_eq!(starts_of("Book me a hotel. Then tell the weather!"), [0, 4]);
        assert_eq!(starts_of("Hello there. Book me a hotel (in \"Rome\".) Then tell the weather."), [0, 9]);
        assert_eq!(starts_of("Book me a hotel, then tell the weather, and then call a taxi"), [0, 4, 8]);
        assert!(starts_of("Book me a hotel, and a table").is_empty());
        assert!(starts_of("Book me a hotel. Thanks!").is_empty());
        assert!(starts_of("weather forecast for today").is_empty());
        assert!(starts_of("Book me a hotel. Then tell -the weather!").is_empty());
        assert_eq!(starts_of(&"one two three. ".repeat(20)).len(), MOST_SENTENCES);
    }
}
