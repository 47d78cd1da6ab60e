//! Prose of a query, for semantic search.

use super::{Clause, Occur, Pattern, Target, sentences};

/// Maximum number of sentences that are searched for by themselves.
const MOST_TASKS: usize = 5;

/// A query as prose.
pub(in crate::search) struct Wording {
    /// Complete request, without the syntax of the query language.
    pub whole: String,
    /// Sentences, if there are several.
    pub sentences: Vec<String>,
    /// Clauses of each sentence, if there are only a few sentences: each may be a separate task. A request with more
    /// sentences is treated as a narrative.
    pub tasks: Vec<Vec<Clause>>,
    /// True if there are words that may match anywhere and in any form.
    pub has_free_words: bool,
    /// True if there are quoted words that may match anywhere.
    pub has_phrases: bool,
    /// Clauses that restrict the result: fields with exact values, required and excluded clauses.
    pub restriction: Vec<Clause>,
}

impl Wording {
    /// Reads clauses. A word that is still being typed is replaced by the result of `begun`, if any.
    pub fn of(clauses: &[Clause], begun: impl Fn(&str) -> Option<String>) -> Wording {
        let said = |clause: &Clause| match &clause.pattern {
            Pattern::Begun(word) => begun(word).map(|word| Clause { pattern: Pattern::Begun(word), ..clause.clone() }),
            _ => Some(clause.clone()),
        };
        let said: Vec<Clause> = clauses.iter().filter_map(said).collect();
        let starts = sentences::starts(&said);
        let ends = starts.iter().skip(1).copied().chain([said.len()]);
        let sentences = starts.iter().zip(ends).filter_map(|(&start, end)| said.get(start..end));
        let tasks: Vec<Vec<Clause>> = sentences.map(<[Clause]>::to_vec).collect();
        let is_free = |clause: &Clause| clause.occur == Occur::Any && clause.target == Target::Text;
        let is_phrase = |clause: &Clause| matches!(clause.pattern, Pattern::Phrase(_));
        let is_word = |clause: &Clause| matches!(clause.pattern, Pattern::Word(_) | Pattern::Begun(_));
        Wording {
            whole: text(&said),
            sentences: tasks.iter().map(|clauses| text(clauses)).collect(),
            tasks: if tasks.len() <= MOST_TASKS { tasks } else { Vec::new() },
            has_free_words: said.iter().any(|clause| is_free(clause) && is_word(clause)),
            has_phrases: clauses.iter().any(|clause| is_free(clause) && is_phrase(clause)),
            restriction: clauses.iter().filter(|clause| restricts(clause)).cloned().collect(),
        }
    }
}

fn restricts(clause: &Clause) -> bool {
    clause.occur != Occur::Any || matches!(clause.target, Target::Id | Target::Exact(_))
}

fn text(clauses: &[Clause]) -> String {
    let said = clauses.iter().filter_map(|clause| match (clause.occur, clause.target, &clause.pattern) {
        (Occur::Not, ..) | (_, Target::Id | Target::Exact(_), _) | (.., Pattern::Prefix(_)) => None,
        (.., Pattern::Word(text) | Pattern::Phrase(text) | Pattern::Begun(text)) => Some(text.as_str()),
    });
    said.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::query::{parse, parse_typed};

    #[test]
    fn signs_of_the_language_are_no_words() {
        let of = |text: &str| Wording::of(&parse(text), |_| None);
        let wording = of("+hotel \"in the city\" -hostel title:booking vendor:acme Rom*");
        assert_eq!(wording.whole, "hotel in the city booking");
        assert_eq!((wording.has_free_words, wording.has_phrases, wording.restriction.len()), (false, true, 3));
        let prose = of("Book me a hotel. Then tell me the weather!");
        assert_eq!(prose.sentences, ["Book me a hotel.", "Then tell me the weather!"]);
        assert!(prose.has_free_words && prose.restriction.is_empty());
        let typed = |begun: Option<&str>| Wording::of(&parse_typed("+hotel weath"), |_| begun.map(str::to_owned)).whole;
        assert_eq!([Some("weather"), None].map(typed), ["hotel weather", "hotel"]);
    }
}
