//! Text patterns as parts of a tantivy query: words, phrases, prefixes, and corrections of words that no description has.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use tantivy::{
    Score, Searcher, Term,
    query::{
        BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, EmptyQuery, PhrasePrefixQuery, PhraseQuery,
        Query, TermQuery,
    },
    schema::{Field, IndexRecordOption},
    tokenizer::TextAnalyzer,
};

use super::{
    Occur, Pattern,
    languages::Languages,
    telling::Telling,
    token::{Token, split_prefix, tokens},
};
use crate::search::hidden::Hidden;
use crate::{
    Result,
    search::{
        failure::index_error,
        schema::Fields,
        semantic::{Meaning, Model},
        snippet::Highlights,
        suggest::{self, Alike, Corrected},
        text,
    },
};

/// Maximum number of terms into which a prefix is expanded for ranking. Beyond that, all matches have the same score.
const MOST_PREFIX_TERMS: usize = 64;
/// Maximum number of different pairs of neighbouring characters that a word is taken apart into.
pub(in crate::search) const MOST_PAIRS: usize = 64;
/// Maximum number of words of a query that are corrected: each is looked up in many spellings.
const MOST_CORRECTIONS: usize = 8;
/// Score of an id typed as text, since it is certainly what was meant.
const ID_SCORE: Score = 100.0;
/// Weight of a completion relative to the word being typed.
const END_WEIGHT: Score = 0.7;
/// Weight of the parts of a word that descriptions have whole, relative to it: the `link` of `LinkedIn`.
const KNOWN_PART_WEIGHT: Score = 0.2;
/// Weight of a word that descriptions have whole, relative to words without parts. It is a name, and says more than they do.
const KNOWN_WHOLE_WEIGHT: Score = 2.4;
/// Weight of words that any request may have, relative to others.
const COMMON_WORD_WEIGHT: Score = 0.2;

/// Words about the manner of asking rather than the topic. They match like other words but have little weight: "can
/// you find me a hotel" is about hotels.
static COMMON_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    const PRONOUNS: &str = "i me my mine we us our ours you your yours he him his she her hers they them it its one \
        myself yourself itself someone something anyone anything everything some any all both each few more most other \
        own same what which who whom whose when where why how there here";
    const VERBS: &str = "am is are was were be been being do does did done doing have has had having can could would \
        should shall may might must will let get give show tell find help know look need want like use provide make please";
    const PARTICLES: &str = "about from out up over off down under again further once during before after above below \
        between through while so than too very just also only than m ve re ll";
    let mut analyzer = text::names();
    let mut words = HashSet::new();
    for list in [PRONOUNS, VERBS, PARTICLES] {
        analyzer.token_stream(list).process(&mut |token| {
            words.insert(token.text.clone());
        });
    }
    words
});

/// True if a word is common, a number or a single character.
fn says_little(word: &str) -> bool {
    COMMON_WORDS.contains(word) || word.len() == 1 || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for a word without information about the topic of a request.
pub(super) fn is_filler(word: &str) -> bool {
    tokens(&mut text::prose(), word).iter().all(|token| says_little(&token.text))
}

/// Spelling correction of words. Hidden documents don't contribute completions or corrections.
#[derive(Clone, Copy)]
pub(in crate::search) enum Spelling<'h> {
    /// Words as they are written.
    Exact(&'h Hidden),
    /// Words that occur in no description are replaced by similar words.
    Corrected(&'h Hidden),
    /// Like `Corrected`, except for words known to the model, which aren't misspelled and count by their meaning.
    CorrectedUnlessKnown(&'h Hidden, &'h Meaning),
}

impl<'h> Spelling<'h> {
    fn hidden(self) -> &'h Hidden {
        let (Spelling::Exact(hidden) | Spelling::Corrected(hidden) | Spelling::CorrectedUnlessKnown(hidden, _)) = self;
        hidden
    }
}

/// A scored part of a query, with its word.
pub(in crate::search) enum Part {
    /// A word, as terms of which the best counts: its form in English, and those in other languages of the index. A
    /// common word counts less than others.
    Word { word: Box<str>, terms: Vec<Term>, boost: Score, is_common: bool },
    /// Anything else.
    Other { word: Box<str>, query: Box<dyn Query>, best: Best },
}

/// The best score of a part.
pub(in crate::search) enum Best {
    /// The same score for all matches.
    Constant(Score),
    /// Sum of the scores of required terms.
    Sum(Vec<Term>),
    /// Best score among alternative terms with weights.
    Max(Vec<(Term, Score)>),
}

impl Part {
    fn term(word: &str, field: Field, text: &str) -> Part {
        let terms = vec![Term::from_field_text(field, text)];
        Part::Word { word: word.into(), terms, boost: 1.0, is_common: false }
    }

    /// Returns the word of the query, in lower case.
    pub fn word(&self) -> &str {
        let (Part::Word { word, .. } | Part::Other { word, .. }) = self;
        word
    }

    /// Returns the weight of the word.
    pub fn boost(&self) -> Score {
        match self {
            Part::Word { boost, .. } => *boost,
            Part::Other { .. } => 1.0,
        }
    }

    /// Lets the word count more or less.
    fn weigh(&mut self, weight: Score) {
        if let Part::Word { boost, .. } = self {
            *boost *= weight;
        }
    }

    /// Returns the best possible score of the part, given the best score of each term.
    pub fn best(&self, of_term: impl Fn(&Term) -> tantivy::Result<Score>) -> tantivy::Result<Score> {
        match self {
            Part::Word { terms, boost, .. } => {
                terms.iter().try_fold(0.0, |best: Score, term| Ok(best.max(boost * of_term(term)?)))
            }
            Part::Other { best: Best::Constant(score), .. } => Ok(*score),
            Part::Other { best: Best::Sum(terms), .. } => terms.iter().map(of_term).sum(),
            Part::Other { best: Best::Max(terms), .. } => {
                terms.iter().try_fold(0.0, |best: Score, (term, boost)| Ok(best.max(boost * of_term(term)?)))
            }
        }
    }

    /// True if the part is a single term.
    pub fn is_term(&self) -> bool {
        matches!(self, Part::Word { terms, .. } if terms.len() == 1)
    }

    /// True if this part and `other` are the same word.
    pub fn is_same_word(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Word { terms, .. }, Part::Word { terms: others, .. }) => terms == others,
            _ => false,
        }
    }

    /// Converts the part to a separate query.
    pub fn to_query(&self) -> Box<dyn Query> {
        match self {
            Part::Word { terms, boost, .. } => match terms.as_slice() {
                [term] => term_query(term.clone(), *boost),
                // A document that has more than one of them doesn't count more for it.
                terms => {
                    let forms = terms.iter().map(|term| term_query(term.clone(), *boost));
                    Box::new(DisjunctionMaxQuery::new(forms.collect()))
                }
            },
            Part::Other { query, .. } => query.box_clone(),
        }
    }
}

/// Creates a query for a term that is scored by frequency, so that tantivy can prune.
pub(super) fn term_query(term: Term, boost: Score) -> Box<dyn Query> {
    let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
    if boost == 1.0 { query } else { Box::new(BoostQuery::new(query, boost)) }
}

/// True if the word may be an id. A word whose only colon is at its end introduces the following text.
pub(in crate::search) fn may_be_id(word: &str) -> bool {
    word.trim_end_matches(':').contains(':')
}

/// Combines alternative queries.
pub(super) fn union(mut queries: Vec<Box<dyn Query>>) -> Option<Box<dyn Query>> {
    match queries.len() {
        0 => None,
        1 => queries.pop(),
        _ => Some(Box::new(BooleanQuery::union(queries))),
    }
}

/// Creates a query for all terms with a prefix, with the same score.
pub(super) fn prefix_query(field: Field, prefix: &str) -> Box<dyn Query> {
    let mut query = PhrasePrefixQuery::new(vec![Term::from_field_text(field, prefix)]);
    query.set_max_expansions(u32::MAX);
    Box::new(query)
}

/// Reduces the weight of common words if there are telling words.
pub(super) fn weigh_common_words(parts: &mut [Part]) {
    if parts.iter().all(|part| matches!(part, Part::Word { is_common: true, .. })) {
        return;
    }
    for part in parts {
        if matches!(part, Part::Word { is_common: true, .. }) {
            part.weigh(COMMON_WORD_WEIGHT);
        }
    }
}

/// Reader of a query's text patterns.
pub(super) struct Words<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    spelling: Spelling<'a>,
    languages: Languages,
    analyzer: TextAnalyzer,
    highlights: Highlights,
    /// Common words in the query, which are only highlighted if there are no other words.
    common: HashSet<String>,
    /// Distinct telling words.
    pub telling: Vec<Telling>,
    /// Corrections of words that occur in no description.
    pub corrections: Vec<Corrected>,
    /// True if unknown words were not corrected because the model knows them.
    pub has_known: bool,
}

impl<'a> Words<'a> {
    pub fn new(searcher: &'a Searcher, fields: &'a Fields, spelling: Spelling<'a>, languages: Languages) -> Words<'a> {
        Words {
            searcher,
            fields,
            spelling,
            languages,
            analyzer: text::prose(),
            highlights: Highlights::default(),
            common: HashSet::new(),
            telling: Vec::new(),
            corrections: Vec::new(),
            has_known: false,
        }
    }

    /// Takes the words searched so far. Common words are included only if there are no others.
    pub fn take_highlights(&mut self) -> Highlights {
        let mut highlights = std::mem::take(&mut self.highlights);
        if highlights.terms.is_empty() && highlights.prefixes.is_empty() {
            highlights.terms = std::mem::take(&mut self.common);
        }
        highlights
    }

    /// Returns the alternative parts of a pattern.
    pub fn parts(&mut self, field: Field, pattern: &Pattern, occur: Occur) -> Result<Vec<Part>> {
        match pattern {
            Pattern::Word(word) => self.word(field, word, occur),
            Pattern::Phrase(phrase) => self.phrase(field, phrase, occur),
            Pattern::Prefix(prefix) => self.prefix(field, prefix, occur),
            Pattern::Begun(word) => self.begun(field, word, occur),
        }
    }

    /// Returns the parts of a pattern for titles, including stop words.
    pub fn title_parts(&mut self, pattern: &Pattern) -> Vec<Part> {
        let (Pattern::Word(words) | Pattern::Phrase(words) | Pattern::Prefix(words) | Pattern::Begun(words)) = pattern;
        let tokens = tokens(&mut text::names(), words);
        tokens.iter().for_each(|token| self.tell(Occur::Any, token, vec![token.text.clone()]));
        tokens.iter().map(|token| Part::term(&token.word(), self.fields.title, &token.text)).collect()
    }

    /// Returns the parts for a word. A compound name stands for its parts and its whole; if it is required or
    /// excluded, for the whole or for the sequence of its parts. A run of characters that are words each stands for
    /// its pairs of neighbors.
    fn word(&mut self, field: Field, word: &str, occur: Occur) -> Result<Vec<Part>> {
        let (parts, mut wholes): (Vec<Token>, Vec<Token>) =
            self.tokens(word).into_iter().partition(|token| !token.is_whole());
        wholes.retain(|whole| occur == Occur::Any || whole.is_whole_of(&parts));
        let known = if occur == Occur::Any { self.known_runs(field, &wholes)? } else { Vec::new() };
        let mut found = match occur {
            Occur::Any => self.any_of(field, &parts, &known)?,
            _ if parts.len() > 1 => vec![self.side_by_side(field, &parts, occur)?],
            _ => Vec::new(),
        };
        let is_read = !found.is_empty();
        for token in parts.iter().filter(|_| !is_read).chain(&wholes) {
            let mut terms = self.terms(field, token, occur)?;
            if known.contains(&token.range()) {
                terms.iter_mut().for_each(|part| part.weigh(KNOWN_WHOLE_WEIGHT));
            }
            found.extend(terms);
        }
        if occur == Occur::Any && field == self.fields.text && may_be_id(word) {
            let id = TermQuery::new(Term::from_field_text(self.fields.id, word), IndexRecordOption::Basic);
            let query = Box::new(ConstScoreQuery::new(Box::new(id), ID_SCORE));
            found.push(Part::Other { word: word.into(), query, best: Best::Constant(ID_SCORE) });
        }
        Ok(found)
    }

    /// Finds the runs of letters among wholes that descriptions have, as positions: `LinkedIn`, but not `real-time`.
    fn known_runs(&self, field: Field, wholes: &[Token]) -> Result<Vec<Range<usize>>> {
        let mut known = Vec::new();
        for whole in wholes.iter().filter(|whole| whole.written.chars().all(text::is_of_word)) {
            if suggest::is_known(self.searcher, self.spelling.hidden(), field, &whole.text)
                .map_err(index_error("looking up a name"))?
            {
                known.push(whole.range());
            }
        }
        Ok(known)
    }

    /// The parts of a name or of a run of characters, any of which will do. Those at known runs count less.
    fn any_of(&mut self, field: Field, parts: &[Token], known: &[Range<usize>]) -> Result<Vec<Part>> {
        let mut found = Vec::new();
        let mut pairs: HashSet<[&str; 2]> = HashSet::new();
        for run in parts.chunk_by(|one, next| one.is_ideographic() && next.is_ideographic()) {
            if let [alone] = run {
                let mut terms = self.terms(field, alone, Occur::Any)?;
                if known.iter().any(|run| run.contains(&alone.position)) {
                    terms.iter_mut().for_each(|part| part.weigh(KNOWN_PART_WEIGHT));
                }
                found.extend(terms);
            }
            for pair in run.array_windows::<2>() {
                if pairs.len() < MOST_PAIRS && pairs.insert(pair.each_ref().map(|token| token.text.as_str())) {
                    found.push(self.side_by_side(field, pair, Occur::Any)?);
                }
            }
        }
        Ok(found)
    }

    fn phrase(&mut self, field: Field, phrase: &str, occur: Occur) -> Result<Vec<Part>> {
        let parts: Vec<Token> = self.tokens(phrase).into_iter().filter(|token| !token.is_whole()).collect();
        match parts.as_slice() {
            [] => Ok(Vec::new()),
            [word] => self.terms(field, word, occur),
            parts => Ok(vec![self.side_by_side(field, parts, occur)?]),
        }
    }

    /// Returns the part for a phrase. A word that occurs in no description is replaced by the most similar word.
    fn side_by_side(&mut self, field: Field, parts: &[Token], occur: Occur) -> Result<Part> {
        let mut terms = Vec::with_capacity(parts.len());
        let word = parts.iter().map(Token::word).collect::<Vec<_>>().join(" ").into();
        for part in parts {
            let forms = self.forms(part);
            let alike = self.correct(field, part, &forms, occur)?;
            let text = alike.into_iter().next().map_or_else(|| part.text.clone(), |alike| alike.stem);
            self.highlight(occur, &text);
            self.tell(occur, part, vec![text.clone()]);
            terms.push((part.position, Term::from_field_text(field, &text)));
        }
        let best = Best::Sum(terms.iter().map(|(_, term)| term.clone()).collect());
        Ok(Part::Other { word, query: Box::new(PhraseQuery::new_with_offset(terms)), best })
    }

    /// Returns the parts for a prefix: the terms with this prefix, and the stem to which it may be cut; for a
    /// compound name, its whole.
    fn prefix(&mut self, field: Field, prefix: &str, occur: Occur) -> Result<Vec<Part>> {
        let (before, begin) = split_prefix(prefix);
        if begin.is_empty() {
            return self.word(field, prefix, occur);
        }
        let mut parts = Vec::new();
        for token in self.tokens(before) {
            parts.extend(self.terms(field, &token, occur)?);
        }
        let mut terms =
            suggest::terms_with_prefix(self.searcher, self.spelling.hidden(), field, &begin, MOST_PREFIX_TERMS + 1)
                .map_err(index_error("looking up a prefix"))?;
        terms.extend(self.tokens(&begin).pop().map(|stem| stem.text).filter(|stem| !stem.starts_with(&begin)));
        let word: Box<str> = format!("{begin}*").into();
        if terms.len() > MOST_PREFIX_TERMS {
            let (word, query) = (word.clone(), prefix_query(field, &begin));
            parts.push(Part::Other { word, query, best: Best::Constant(1.0) });
        } else {
            parts.extend(terms.iter().map(|term| Part::term(&word, field, term)));
        }
        if occur != Occur::Not {
            self.highlights.prefixes.push(begin);
        }
        if parts.is_empty() {
            // Like a word that the index doesn't have, it says something, so that stop words beside it don't count.
            parts.push(Part::Other { word, query: Box::new(EmptyQuery), best: Best::Constant(1.0) });
        }
        Ok(parts)
    }

    /// Returns the parts for a word that is still being typed: the word itself or its completions, of which the best
    /// counts. If there are none, it is treated like other words, and may be misspelled.
    fn begun(&mut self, field: Field, word: &str, occur: Occur) -> Result<Vec<Part>> {
        let (mut tokens, wholes): (Vec<Token>, Vec<Token>) =
            self.tokens(word).into_iter().partition(|token| !token.is_whole());
        let last = tokens.pop();
        // Wholes that end with the last part may go on as well; the others are words.
        let ends_there = |whole: &Token| last.as_ref().is_none_or(|last| whole.is_whole_of(std::slice::from_ref(last)));
        let (begun, finished): (Vec<Token>, Vec<Token>) = wholes.into_iter().partition(ends_there);
        tokens.extend(finished);
        let written = last.as_ref().map_or(word, |last| last.written.as_str());
        let mut beginnings: Vec<String> = std::iter::once(written)
            .chain(begun.iter().map(|whole| whole.written.as_str()))
            .map(|written| text::normalized(written).chars().filter(|c| text::is_of_word(*c)).collect())
            .collect();
        beginnings.retain(|beginning: &String| !beginning.is_empty() && !beginning.contains(text::is_ideographic));
        let Some(beginning) = beginnings.first().cloned() else { return self.word(field, word, occur) };
        let mut ends = Vec::new();
        let mut is_more = false;
        for beginning in &beginnings {
            let found = completed(self.searcher, self.spelling.hidden(), field, beginning)
                .map_err(index_error("looking up the start of a word"))?;
            is_more |= found.len() > MOST_PREFIX_TERMS;
            ends.extend(found);
        }
        if ends.is_empty() {
            return self.word(field, word, occur);
        }
        let mut parts = Vec::new();
        for token in &tokens {
            parts.extend(self.terms(field, token, occur)?);
        }
        let forms = last.as_ref().map(|last| self.forms(last)).unwrap_or_default();
        ends.retain(|end| !forms.contains(end));
        ends.sort_unstable();
        ends.dedup();
        ends.truncate(MOST_PREFIX_TERMS);
        if occur != Occur::Not {
            self.highlights.terms.extend(forms.iter().chain(&ends).cloned());
            self.highlights.prefixes.extend(beginnings);
        }
        let weighed = |text: &String, boost: Score| (Term::from_field_text(field, text), boost);
        let own = forms.iter().map(|form| weighed(form, 1.0));
        let terms: Vec<(Term, Score)> = own.chain(ends.iter().map(|end| weighed(end, END_WEIGHT))).collect();
        let stem = last.as_ref().map_or(&beginning, |last| &last.text);
        if !says_little(stem) {
            let written = last.as_ref().map_or_else(|| beginning.clone(), |last| text::normalized(&last.written));
            self.telling.push(Telling {
                stem: stem.clone(),
                written,
                forms: forms.into_iter().chain(ends).collect(),
                is_whole: false,
                is_foreign: self.languages.is_other_spoken(),
                is_begun: true,
            });
        }
        let mut queries: Vec<Box<dyn Query>> =
            terms.iter().map(|(term, boost)| term_query(term.clone(), *boost)).collect();
        let word: Box<str> = beginning.as_str().into();
        match terms.as_slice() {
            [(term, _)] if !is_more => {
                let terms = vec![term.clone()];
                parts.push(Part::Word { word, terms, boost: 1.0, is_common: false });
            }
            _ => {
                if is_more {
                    // Titles first: where there are many, those are meant that are called so.
                    queries.push(prefix_query(field, &beginning));
                    queries.push(Box::new(BoostQuery::new(prefix_query(self.fields.title, &beginning), 2.0)));
                }
                let query = Box::new(DisjunctionMaxQuery::new(queries));
                parts.push(Part::Other { word, query, best: Best::Max(terms) });
            }
        }
        Ok(parts)
    }

    /// Returns the parts for a word, or for similar words if it occurs in no description.
    fn terms(&mut self, field: Field, token: &Token, occur: Occur) -> Result<Vec<Part>> {
        let forms = self.forms(token);
        let is_common =
            occur == Occur::Any && (says_little(&token.text) || self.languages.is_stop_word(&token.written));
        let part = |forms: &[String], boost: Score| {
            let terms = forms.iter().map(|form| Term::from_field_text(field, form)).collect();
            Part::Word { word: token.word().into(), terms, boost, is_common }
        };
        if is_common {
            self.common.insert(token.text.clone());
            return Ok(vec![part(&forms, 1.0)]);
        }
        let alike = self.correct(field, token, &forms, occur)?;
        if alike.is_empty() {
            self.highlight(occur, &token.text);
            self.tell(occur, token, forms.clone());
            return Ok(vec![part(&forms, 1.0)]);
        }
        alike.iter().for_each(|alike| self.highlight(occur, &alike.stem));
        self.tell(occur, token, alike.iter().map(|alike| alike.stem.clone()).collect());
        let boost = |alike: &Alike| 1.0 / (1.0 + Score::from(alike.distance));
        Ok(alike.iter().map(|alike| part(std::slice::from_ref(&alike.stem), boost(alike))).collect())
    }

    /// Returns similar words for a word that occurs in no description in any of its forms.
    fn correct(&mut self, field: Field, token: &Token, forms: &[String], occur: Occur) -> Result<Vec<Alike>> {
        let (hidden, model) = match self.spelling {
            Spelling::Exact(_) => return Ok(Vec::new()),
            Spelling::Corrected(hidden) => (hidden, None),
            Spelling::CorrectedUnlessKnown(hidden, meaning) => (hidden, Some(meaning.model())),
        };
        let written: String = text::normalized(&token.written).chars().filter(|c| text::is_of_word(*c)).collect();
        let known = self.corrections.iter().find(|known| known.written == token.written);
        if occur == Occur::Not || known.is_none() && self.corrections.len() >= MOST_CORRECTIONS {
            return Ok(Vec::new());
        }
        let alike = suggest::terms_alike(self.searcher, hidden, field, forms, &written)
            .map_err(index_error("looking up similarly spelled words"))?;
        if !alike.is_empty() && model.is_some_and(|model| is_word(model, token)) {
            self.has_known = true;
            return Ok(Vec::new());
        }
        if !alike.is_empty() && known.is_none() {
            let stems = alike.iter().map(|alike| alike.stem.clone()).collect();
            self.corrections.push(Corrected { written: token.written.clone(), stems });
        }
        Ok(alike)
    }

    /// Returns the indexed forms of a word: its own and, unless it joins the parts of a compound name, one for each
    /// language of the index.
    fn forms(&self, token: &Token) -> Vec<String> {
        let mut forms = vec![token.text.clone()];
        if !token.is_whole() {
            forms.extend(self.languages.forms(&token.written));
        }
        forms
    }

    /// Records a telling word with its forms.
    fn tell(&mut self, occur: Occur, token: &Token, forms: Vec<String>) {
        if occur == Occur::Not || says_little(&token.text) {
            return;
        }
        let telling = Telling {
            stem: token.text.clone(),
            written: text::normalized(&token.written),
            forms,
            is_whole: token.is_whole(),
            is_foreign: self.languages.is_other_spoken(),
            is_begun: false,
        };
        if !self.telling.iter().any(|known| known.is_same_word(&telling)) {
            self.telling.push(telling);
        }
    }

    fn highlight(&mut self, occur: Occur, word: &str) {
        if occur != Occur::Not {
            self.highlights.terms.insert(word.to_owned());
        }
    }

    fn tokens(&mut self, text: &str) -> Vec<Token> {
        tokens(&mut self.analyzer, text)
    }
}

/// Returns the terms of visible descriptions that are stems of words with this prefix, at most slightly more than
/// [`MOST_PREFIX_TERMS`].
pub(in crate::search) fn completed(
    searcher: &Searcher,
    hidden: &Hidden,
    field: Field,
    beginning: &str,
) -> tantivy::Result<Vec<String>> {
    let mut terms = suggest::terms_with_prefix(searcher, hidden, field, beginning, MOST_PREFIX_TERMS + 1)?;
    for stem in text::stems_of_words_beginning_with(beginning) {
        let is_new = !stem.starts_with(beginning) && !terms.contains(&stem);
        if is_new && suggest::is_known(searcher, hidden, field, &stem)? {
            terms.push(stem);
        }
    }
    Ok(terms)
}

/// True if the model knows the word, or the word of which it is a comparative or superlative, since stems keep these
/// endings.
fn is_word(model: &Model, token: &Token) -> bool {
    let positive = ["er", "est"].into_iter().find_map(|ending| token.text.strip_suffix(ending));
    model.has_word(&token.text, &text::normalized(&token.written))
        || positive.is_some_and(|stem| model.has_word(stem, stem))
}
