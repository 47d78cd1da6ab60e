//! Snippets of capabilities in a hit: the best-matching part of the text, as HTML.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use tantivy::tokenizer::TextAnalyzer;

use super::{
    CapabilityHit, Highlight, Segment,
    summary::{Capability, Summary},
    text::{self, Language},
};

/// The most capabilities of a hit.
const MOST_CAPABILITIES: usize = 5;
/// The longest snippet in characters, marks not counted.
const LONGEST_SNIPPET: usize = 200;
/// Maximum number of parts of a text that are compared to find the best.
const MOST_WINDOWS: usize = 100;

/// Words of a query, as index terms.
#[derive(Debug, Default)]
pub(super) struct Highlights {
    pub terms: HashSet<String>,
    pub prefixes: Vec<String>,
}

impl Highlights {
    /// Returns an analyzer for finding all words to be highlighted.
    pub fn analyzer(&self) -> TextAnalyzer {
        self.analyzer_in(None)
    }

    /// The analyzer of texts in a language other than English.
    fn analyzer_in(&self, language: Option<Language>) -> TextAnalyzer {
        let begin = self.terms.iter().chain(&self.prefixes).filter_map(|word| word.bytes().next());
        text::prose_beginning_with(language, begin)
    }

    /// True if the query has no words.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.prefixes.is_empty()
    }

    /// True if a term of the index was searched for.
    pub fn contains(&self, term: &str) -> bool {
        self.terms.contains(term) || self.prefixes.iter().any(|prefix| term.starts_with(prefix.as_str()))
    }
}

/// Marks the words of a query in the texts of hits.
pub(super) struct Marker<'a> {
    highlights: &'a Highlights,
    /// The analyzers of the languages that texts were in.
    analyzers: HashMap<Option<Language>, TextAnalyzer>,
}

impl<'a> Marker<'a> {
    pub fn new(highlights: &'a Highlights) -> Marker<'a> {
        Marker { highlights, analyzers: HashMap::new() }
    }

    fn analyzer(&mut self, summary: &Summary<'_>) -> &mut TextAnalyzer {
        let language = summary.language.as_deref().and_then(Language::of_tag);
        self.analyzers.entry(language).or_insert_with(|| self.highlights.analyzer_in(language))
    }

    /// Returns the best matching capabilities, with their snippets.
    pub fn capability_hits(&mut self, summary: &Summary<'_>) -> Vec<CapabilityHit> {
        let highlights = self.highlights;
        let analyzer = self.analyzer(summary);
        let ranked = summary.capabilities.iter().map(|capability| Ranked::new(analyzer, capability, highlights));
        let mut ranked: Vec<Ranked<'_>> = ranked.collect();
        ranked.sort_by_key(|ranked| std::cmp::Reverse(ranked.score));
        ranked.truncate(MOST_CAPABILITIES);
        ranked
            .into_iter()
            .map(|ranked| CapabilityHit {
                name: ranked.key.to_owned(),
                snippet: html(&segments(ranked.text, &ranked.found)),
            })
            .collect()
    }

    /// Returns the title and description with the words of the query marked, or `None` if neither
    /// contains any.
    pub fn highlight(&mut self, summary: &Summary<'_>) -> Option<Highlight> {
        let highlights = self.highlights;
        let analyzer = self.analyzer(summary);
        let mut of = |text: Option<&str>, longest: usize| {
            let text = text.unwrap_or_default();
            let found = matches(analyzer, text, highlights);
            if found.is_empty() { Vec::new() } else { segments_of(text, &found, longest) }
        };
        let title = of(summary.title.as_deref(), usize::MAX);
        let description = of(summary.description.as_deref(), LONGEST_SNIPPET);
        (!title.is_empty() || !description.is_empty()).then_some(Highlight { title, description })
    }
}

/// A capability and how well it matches.
struct Ranked<'a> {
    key: &'a str,
    /// Text to show: the description, else the name, else the key.
    text: &'a str,
    found: Vec<Match>,
    /// Number of different words that match; in a name or key they count twice.
    score: usize,
}

impl<'a> Ranked<'a> {
    fn new(analyzer: &mut TextAnalyzer, capability: &'a Capability<'_>, highlights: &Highlights) -> Ranked<'a> {
        let name = capability.name.as_deref();
        let in_names = [Some(capability.key.as_ref()), name].into_iter().flatten();
        let in_names: HashSet<String> =
            in_names.flat_map(|name| matches(analyzer, name, highlights)).map(|found| found.term).collect();
        let text = capability.text.as_deref().or(name).unwrap_or(&capability.key);
        let found = matches(analyzer, text, highlights);
        let score = 2 * in_names.len() + if capability.text.is_some() { different(&found) } else { 0 };
        Ranked { key: &capability.key, text, found, score }
    }
}

/// A matching word in a text.
struct Match {
    term: String,
    place: Range<usize>,
}

/// Returns the matching words of a text, in order.
fn matches(analyzer: &mut TextAnalyzer, text: &str, highlights: &Highlights) -> Vec<Match> {
    let mut found = Vec::new();
    analyzer.token_stream(text).process(&mut |token| {
        if highlights.contains(&token.text) {
            found.push(Match { term: token.text.clone(), place: token.offset_from..token.offset_to });
        }
    });
    found
}

fn different<'m>(found: impl IntoIterator<Item = &'m Match>) -> usize {
    found.into_iter().map(|found| found.term.as_str()).collect::<HashSet<_>>().len()
}

/// The best part of a text.
fn segments(text: &str, found: &[Match]) -> Vec<Segment> {
    segments_of(text, found, LONGEST_SNIPPET)
}

/// The best part of a text, of so many characters at most, with its matches apart.
fn segments_of(text: &str, found: &[Match], longest: usize) -> Vec<Segment> {
    let window = best_window(text, found, longest);
    let mut segments: Vec<Segment> = Vec::new();
    let mut add = |text: &str, is_match: bool| match segments.last_mut().filter(|last| last.is_match == is_match) {
        _ if text.is_empty() => {}
        Some(last) => last.text.push_str(text),
        None => segments.push(Segment { text: text.to_owned(), is_match }),
    };
    if window.start > 0 {
        add("…", false);
    }
    let mut at = window.start;
    for place in merged(found) {
        if place.start < at || place.end > window.end {
            continue;
        }
        add(text.get(at..place.start).unwrap_or_default(), false);
        add(text.get(place.clone()).unwrap_or_default(), true);
        at = place.end;
    }
    add(text.get(at..window.end).unwrap_or_default(), false);
    if window.end < text.len() {
        add("…", false);
    }
    segments
}

/// Segments as HTML, escaped, with matches in `<b>`.
fn html(segments: &[Segment]) -> String {
    let mut html = String::with_capacity(segments.iter().map(|segment| segment.text.len() + 8).sum());
    for Segment { text, is_match } in segments {
        let (open, close) = if *is_match { ("<b>", "</b>") } else { ("", "") };
        html.push_str(open);
        escape(&mut html, text);
        html.push_str(close);
    }
    html
}

/// The window with the most different matches; the first of equals.
fn best_window(text: &str, found: &[Match], longest: usize) -> Range<usize> {
    if text.chars().nth(longest).is_none() {
        return 0..text.len();
    }
    let mut best = (0, window_from(text, 0, longest));
    for first in found.iter().take(MOST_WINDOWS) {
        let window = window_from(text, word_start(text, first.place.start), longest);
        let is_inside = |found: &&Match| window.start <= found.place.start && found.place.end <= window.end;
        let inside = different(found.iter().filter(is_inside));
        if inside > best.0 {
            best = (inside, window);
        }
    }
    best.1
}

/// Returns the start of a word somewhat before a match.
fn word_start(text: &str, at: usize) -> usize {
    const CONTEXT: usize = 40;
    let from = text.floor_char_boundary(at.saturating_sub(CONTEXT));
    if from == 0 {
        return 0;
    }
    let before = text.get(from..at).unwrap_or_default();
    before
        .find(char::is_whitespace)
        .map_or(at, |space| from + space + before[space..].chars().next().map_or(0, char::len_utf8))
}

/// From a place as many characters as a snippet may have, ending with a word if one ends there.
fn window_from(text: &str, start: usize, longest: usize) -> Range<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let Some((length, _)) = rest.char_indices().nth(longest) else { return start..text.len() };
    let end =
        rest.get(..length).and_then(|window| window.rfind(char::is_whitespace)).filter(|&space| space > length / 2);
    start..start + end.unwrap_or(length)
}

/// Merges overlapping matches.
fn merged(found: &[Match]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = found.iter().map(|found| found.place.clone()).collect();
    places.sort_by_key(|place| (place.start, place.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match merged.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => merged.push(place),
        }
    }
    merged
}

fn escape(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, terms: &[&str]) -> String {
        let highlights =
            Highlights { terms: terms.iter().map(|&term| term.to_owned()).collect(), prefixes: Vec::new() };
        html(&segments(text, &matches(&mut highlights.analyzer(), text, &highlights)))
    }

    #[test]
    fn matches_are_marked_and_everything_is_escaped() {
        assert_eq!(
            cut(r#"<script>"Weather" & 'forecasts'</script>"#, &["weather", "forecast"]),
            "&lt;script&gt;&quot;<b>Weather</b>&quot; &amp; &#39;<b>forecasts</b>&#39;&lt;/script&gt;"
        );
    }

    #[test]
    fn parts_and_wholes_of_a_name_make_one_mark() {
        assert_eq!(cut("getWeather now", &["weather", "getweath"]), "<b>getWeather</b> now");
    }

    #[test]
    fn the_part_with_most_matches_is_shown() {
        let text = format!("weather {}the weather forecast of {}", "x ".repeat(300), "ü ".repeat(300));
        let cut = cut(&text, &["weather", "forecast"]);
        assert!(cut.starts_with('…') && cut.ends_with('…'), "{cut}");
        assert!(cut.contains("the <b>weather</b> <b>forecast</b> of"), "{cut}");
        assert!(cut.chars().count() < 230, "{cut}");
    }

    #[test]
    fn long_text_without_spaces_is_cut_between_characters() {
        let cut = cut(&"語".repeat(500), &["weather"]);
        assert_eq!(cut.chars().count(), LONGEST_SNIPPET + 1);
    }
}
