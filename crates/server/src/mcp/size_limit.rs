//! Answers that fit a size: long texts are cut first, then lists, and hits last.

use serde_json::Value;

/// Size of a result in bytes of JSON, unless the caller asks for another.
pub(crate) const DEFAULT_BYTES: usize = 8 * 1024;
/// Least size that a caller may ask for: one hit fits, however long its texts are.
pub(crate) const MIN_BYTES: usize = 4 * 1024;
/// Steps of shortening: maximum number of characters of a text, and of entries of a list.
const STEPS: [(usize, usize); 6] = [(4000, 200), (1500, 100), (600, 50), (200, 20), (80, 8), (40, 3)];
/// Members whose texts are of no use in part.
const WHOLE: [&str; 4] = ["id", "next_page_token", "seq", "notice"];

/// The parts of an answer that were left out to fit a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// True if texts or lists were cut.
    pub(crate) is_shortened: bool,
    /// Number of hits that were dropped from the end.
    pub(crate) hits: usize,
}

/// Makes an answer fit `maximum` bytes as JSON. `list` is the member with its hits, of which at least one is kept.
pub(crate) fn fit(answer: &mut Value, list: &str, maximum: usize) -> LeftOut {
    let mut left_out = LeftOut::default();
    let mut size = size_of(answer);
    for (characters, entries) in STEPS {
        if size <= maximum {
            return left_out;
        }
        shorten_members(answer, list, characters, entries);
        let before = std::mem::replace(&mut size, size_of(answer));
        left_out.is_shortened |= size < before;
    }
    let Some(hits) = answer.get_mut(list).and_then(Value::as_array_mut) else { return left_out };
    while size > maximum && hits.len() > 1 {
        // With its comma.
        size -= hits.pop().map_or(0, |hit| size_of(&hit) + 1);
        left_out.hits += 1;
    }
    left_out
}

/// Returns the size of a value as JSON.
pub(crate) fn size_of(value: &Value) -> usize {
    /// Counts what is written.
    struct Count(usize);

    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // Nothing of it can fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Shortens all members of an answer, and of its hits.
fn shorten_members(answer: &mut Value, list: &str, characters: usize, entries: usize) {
    let members = answer.as_object_mut().into_iter().flatten();
    for (name, value) in members {
        match value {
            Value::Array(hits) if name == list => {
                hits.iter_mut().for_each(|hit| shorten(hit, characters, entries));
            }
            _ if WHOLE.contains(&name.as_str()) => {}
            _ => shorten(value, characters, entries),
        }
    }
}

/// Cuts the texts and lists in a value.
fn shorten(value: &mut Value, characters: usize, entries: usize) {
    match value {
        Value::String(text) => cut(text, characters),
        Value::Array(list) => {
            list.truncate(entries);
            list.iter_mut().for_each(|entry| shorten(entry, characters, entries));
        }
        Value::Object(members) => {
            // Half a link leads nowhere.
            members.retain(|name, value| name != "links" || size_of(value) <= 4 * characters);
            for (name, value) in members {
                if !WHOLE.contains(&name.as_str()) && name != "links" {
                    shorten(value, characters, entries);
                }
            }
        }
        _ => {}
    }
}

/// Cuts a text that is longer than some number of characters, and ends it with `…`.
pub(super) fn cut(text: &mut String, characters: usize) {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(hits: usize, text: &str) -> Value {
        let hit = |number: usize| json!({"id": format!("urn:x:{number}"), "description": text, "tags": vec![text; 20]});
        json!({"total": hits, "hits": (0..hits).map(hit).collect::<Vec<_>>()})
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let mut small = answer(3, "text");
        let before = small.clone();
        assert_eq!((fit(&mut small, "hits", DEFAULT_BYTES), small), (LeftOut::default(), before));
    }

    #[test]
    fn texts_are_cut_before_lists_and_hits_last() {
        let mut long = answer(3, &"x".repeat(390));
        let left_out = fit(&mut long, "hits", 16 * 1024);
        assert_eq!(
            (left_out, long["hits"][2]["tags"].as_array().unwrap().len()),
            (LeftOut { is_shortened: true, hits: 0 }, 20)
        );
        let mut long = answer(10, &"x\u{1f600}\"".repeat(2000));
        let left_out = fit(&mut long, "hits", DEFAULT_BYTES);
        assert_eq!(left_out, LeftOut { is_shortened: true, hits: 0 });
        assert!(size_of(&long) <= DEFAULT_BYTES);
        let mut many = answer(1000, &"\u{7}".repeat(300));
        let left_out = fit(&mut many, "hits", DEFAULT_BYTES);
        let kept = many["hits"].as_array().unwrap().len();
        assert!(size_of(&many) <= DEFAULT_BYTES && kept >= 5, "{kept}");
        assert_eq!(left_out.hits, 1000 - kept);
        assert_eq!(many["hits"][4]["id"], "urn:x:4");
    }

    #[test]
    fn one_hit_is_always_kept() {
        let mut long = json!({"hits": [{"id": "x".repeat(9000)}, {"id": "b"}]});
        assert_eq!(fit(&mut long, "hits", MIN_BYTES).hits, 1);
        assert_eq!(long["hits"].as_array().unwrap().len(), 1);
    }
}
