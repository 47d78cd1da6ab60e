//! Invisible characters, and characters that change the display of others. Uses required by scripts and emoji are
//! allowed: joiners in Persian, Indic scripts, and emoji; direction marks in text with right-to-left characters; and
//! variation selectors after characters with variants.

use super::kind::{FlagKind, TextKind};

/// The characters of a text that may deceive, each once, with the kind of flag that they are.
pub(super) fn flagged(text: &str, kind: TextKind) -> Vec<(FlagKind, char)> {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte);
    let mut found: Vec<(FlagKind, char)> = Vec::new();
    if text.bytes().all(is_plain) {
        return found;
    }
    let has_right_to_left = text.chars().any(is_right_to_left);
    let mut before: Option<char> = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let after = rest.clone().next();
        let flag = flag_of(character, before, after, kind, has_right_to_left);
        if let Some(flag) = flag.filter(|flag| !found.contains(&(*flag, character))) {
            found.push((flag, character));
        }
        before = Some(character);
    }
    found
}

fn flag_of(
    character: char,
    before: Option<char>,
    after: Option<char>,
    kind: TextKind,
    has_right_to_left: bool,
) -> Option<FlagKind> {
    match character {
        '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            (kind == TextKind::Name).then_some(FlagKind::ControlCharacter)
        }
        _ if character.is_control() => Some(FlagKind::ControlCharacter),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => (!has_right_to_left).then_some(FlagKind::BidiControl),
        _ if is_bidi_control(character) => Some(FlagKind::BidiControl),
        _ if is_invisible(character) && !is_needed(character, before, after, kind) => {
            Some(FlagKind::InvisibleCharacter)
        }
        _ => None,
    }
}

fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_right_to_left(character: char) -> bool {
    matches!(character,
        '\u{590}'..='\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// True for characters without a visible shape: default ignorable code points (UAX #44), which include direction
/// marks, and the delimiters of annotations.
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// True if a character that isn't seen changes how its neighbours are shown, as scripts and emoji use it.
fn is_needed(character: char, before: Option<char>, after: Option<char>, kind: TextKind) -> bool {
    match character {
        // Where a word may be broken.
        '\u{ad}' => kind == TextKind::Description,
        '\u{200b}' => before.into_iter().chain(after).any(is_written_without_spaces),
        '\u{200c}' | '\u{200d}' => before.is_some_and(is_joined) && after.is_some_and(is_joined),
        '\u{180b}'..='\u{180f}' => before.is_some_and(|before| matches!(before, '\u{1800}'..='\u{18af}')),
        '\u{fe00}'..='\u{fe0f}' => before.is_some_and(|before| !before.is_ascii_alphabetic() && !is_invisible(before)),
        '\u{e0100}'..='\u{e01ef}' => before.is_some_and(
            |before| matches!(before, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'),
        ),
        // Flags of regions: a black flag, letters as tags, an end.
        '\u{e0020}'..='\u{e007f}' => {
            before.is_some_and(|before| matches!(before, '\u{1f3f4}' | '\u{e0020}'..='\u{e007e}'))
                && character != '\u{e0020}'
        }
        _ => false,
    }
}

/// Letters of scripts with joiners, emoji and their modifiers; not those of Latin, Greek and Cyrillic.
fn is_joined(character: char) -> bool {
    match character {
        '\u{1e00}'..='\u{200c}' | '\u{200e}'..='\u{206f}' | '\u{ff00}'..='\u{ffff}' => false,
        '\u{fe0f}' => true,
        _ => character >= '\u{590}' && !is_invisible(character),
    }
}

/// Thai, Lao, Tibetan, Myanmar, Khmer.
fn is_written_without_spaces(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, kind: TextKind) -> Vec<FlagKind> {
        let mut kinds: Vec<FlagKind> = flagged(text, kind).into_iter().map(|(flag, _)| flag).collect();
        kinds.dedup();
        kinds
    }

    #[test]
    fn hostile_characters_are_found() {
        for (text, flag) in [
            ("a\u{7}b", FlagKind::ControlCharacter),
            ("a\u{1b}[31mb", FlagKind::ControlCharacter),
            ("a\u{9b}31mb", FlagKind::ControlCharacter),
            ("a\u{7f}b", FlagKind::ControlCharacter),
            ("a\u{202e}b", FlagKind::BidiControl),
            ("\u{2066}a\u{2069}", FlagKind::BidiControl),
            ("a\u{200f}b", FlagKind::BidiControl),
            ("שלום \u{202e}b", FlagKind::BidiControl),
            ("pay\u{200b}pal", FlagKind::InvisibleCharacter),
            ("pay\u{200d}pal", FlagKind::InvisibleCharacter),
            ("пей\u{200c}пал", FlagKind::InvisibleCharacter),
            ("pay\u{feff}pal", FlagKind::InvisibleCharacter),
            ("\u{3164}", FlagKind::InvisibleCharacter),
            ("a\u{fff0}b", FlagKind::InvisibleCharacter),
            ("a\u{1bca0}b", FlagKind::InvisibleCharacter),
            // Letters as tags, and bytes as selectors of variants: text that models read and people don't see.
            ("Hi\u{e0068}\u{e0069}", FlagKind::InvisibleCharacter),
            ("😀\u{fe01}\u{fe02}", FlagKind::InvisibleCharacter),
            ("x\u{e0101}", FlagKind::InvisibleCharacter),
        ] {
            for kind in [TextKind::Name, TextKind::Description] {
                assert_eq!(kinds(text, kind), [flag], "{text:?} as {kind:?}");
            }
        }
        for line_break in ["\n", "\t", "\r\n", "\u{2028}"] {
            let text = format!("a{line_break}b");
            assert_eq!(kinds(&text, TextKind::Name), [FlagKind::ControlCharacter], "{text:?}");
            assert_eq!(kinds(&text, TextKind::Description), [], "{text:?}");
        }
    }

    #[test]
    fn what_scripts_and_emoji_need_is_left_alone() {
        for text in [
            "Größe, café, naïve; 10 °C – “ok”",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "👩\u{200d}🔬 👨\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈 👍🏽 1\u{fe0f}\u{20e3} ❤\u{fe0f} ☀\u{fe0e}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "שלום\u{200f}!",
            "ภาษา\u{200b}ไทย",
            "葛\u{e0100}飾区 天気予報 Погода Καιρός",
        ] {
            assert_eq!(kinds(text, TextKind::Name), [], "{text:?}");
        }
        assert_eq!(kinds("Donau\u{ad}dampf", TextKind::Description), []);
    }
}
