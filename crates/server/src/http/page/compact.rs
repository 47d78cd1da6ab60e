//! JavaScript without spaces that mean nothing. Lines stay as they are, and so do literals.

/// Removes spaces that don't separate two names, or two of `+`, `-` and `/`.
pub(super) fn compact(source: &str) -> String {
    let source = source.as_bytes();
    let mut kept: Vec<u8> = Vec::with_capacity(source.len());
    let mut at = 0;
    while let Some(&byte) = source.get(at) {
        let end = match byte {
            b'"' | b'\'' => string_end(source, at),
            b'`' => template_end(source, at),
            b'/' if begins_regex(&kept) => regex_end(source, at),
            b' ' if !separates(kept.last(), source.get(at + 1)) => {
                at += 1;
                continue;
            }
            _ => at + 1,
        };
        let end = end.min(source.len());
        kept.extend(&source[at..end]);
        at = end;
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// True if code means something else without a space between these two characters.
fn separates(before: Option<&u8>, after: Option<&u8>) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_$".contains(&byte) || !byte.is_ascii();
    match (before, after) {
        (Some(&before), Some(&after)) => {
            (is_of_name(before) && is_of_name(after)) || (before == after && b"+-/".contains(&before))
        }
        _ => false,
    }
}

/// True if a slash behind this code begins a regular expression, and doesn't divide.
fn begins_regex(before: &[u8]) -> bool {
    before.last().is_none_or(|last| b"(,=:[!&|?{};>+\n".contains(last)) || before.ends_with(b"return")
}

/// Position behind a string.
fn string_end(source: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = source.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if byte == source[start] => return at + 1,
            _ => at += 1,
        }
    }
    source.len()
}

/// Position behind a regular expression.
fn regex_end(source: &[u8], start: usize) -> usize {
    let (mut at, mut is_in_class) = (start + 1, false);
    while let Some(&byte) = source.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'/' if !is_in_class => return at + 1,
            _ => {}
        }
        at += 1;
    }
    source.len()
}

/// Position behind a template, in whose code there may be others.
fn template_end(source: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start + 1, 0_usize);
    while let Some(&byte) = source.get(at) {
        at = match (byte, depth) {
            (b'\\', 0) => at + 2,
            (b'`', 0) => return at + 1,
            (b'$', 0) if source.get(at + 1) == Some(&b'{') => {
                depth = 1;
                at + 2
            }
            (_, 0) => at + 1,
            (b'`', _) => template_end(source, at),
            (b'"' | b'\'', _) => string_end(source, at),
            _ => {
                match byte {
                    b'{' => depth += 1,
                    b'}' => depth -= 1,
                    _ => {}
                }
                at + 1
            }
        };
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn code_loses_spaces_and_literals_keep_them() {
        for (source, expected) in [
            ("const a = (b, c) => b ?? c;", "const a=(b,c)=>b??c;"),
            ("return a in b ? - -c : d + +e;", "return a in b?- -c:d+ +e;"),
            ("x = \"a , b\" + ' \\' c ' + y", "x=\"a , b\"+' \\' c '+y"),
            ("`a ${ b ? `c , ${ d + \"}\" } ` : { e } } f` + g", "`a ${ b ? `c , ${ d + \"}\" } ` : { e } } f`+g"),
            ("f(/[/ \"] +/, a / b, 1)", "f(/[/ \"] +/,a/b,1)"),
            ("return / '/.test(a)\nb = c / d", "return/ '/.test(a)\nb=c/d"),
            ("say(\"ü , é\", ü + é in é) ", "say(\"ü , é\",ü+é in é)"),
        ] {
            assert_eq!(compact(source), expected);
        }
    }

    #[test]
    fn what_never_ends_is_kept() {
        for source in ["\"a b", "`a ${ b", "`a ${ \"b", "x=/a b", "`\\"] {
            assert_eq!(compact(source), source);
        }
    }
}
