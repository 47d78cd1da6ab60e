//! Origin of a URI template.

/// Returns the name of the first variable in the scheme, host, or port of a URI template, or `None` if its origin is
/// fixed. The value of such a variable selects the server.
pub fn origin_variable(template: &str) -> Option<&str> {
    let start = template.find("://").map_or(0, |scheme| scheme + 3);
    let end = template[start..].find(['/', '?', '#']).map_or(template.len(), |length| start + length);
    let (_, behind) = template[..end].split_once('{')?;
    Some(behind.split_once('}')?.0)
}

#[cfg(test)]
mod tests {
    use super::origin_variable;

    #[test]
    fn variable_of_the_origin_is_found() {
        for (template, expected) in [
            ("https://{host}/x", Some("host")),
            ("{base}/x", Some("base")),
            ("https://h:{port}?q={q}", Some("port")),
            ("{scheme}://h/x", Some("scheme")),
            ("https://h/{path}", None),
            ("https://h?u={url}", None),
            ("", None),
        ] {
            assert_eq!(origin_variable(template), expected, "{template}");
        }
    }
}
