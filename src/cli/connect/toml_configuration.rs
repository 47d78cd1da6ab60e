//! Servers in configurations in TOML. Only the text of the server's own tables is written or replaced.

use std::ops::Range;

use anyhow::{Context, bail};
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

use agentdex::convert::mcp_server::Configuration;

/// Returns a text with the server of a configuration; `None` if it has the same server already.
///
/// # Errors
/// Invalid TOML, a name already taken unless `replaces` is set, and definitions in a form that isn't supported.
pub(super) fn with_server(text: &str, configuration: &Configuration, replaces: bool) -> anyhow::Result<Option<String>> {
    let (member, name) = (configuration.client.servers_member(), configuration.name.as_str());
    let mut values: Table = text.parse().context("not valid TOML")?;
    let snippet = configuration.text();
    let own: Table = snippet.parse().context("the generated configuration isn't valid TOML")?;
    let entry = own
        .get(member)
        .and_then(|servers| servers.get(name))
        .cloned()
        .context("the generated configuration is empty")?;
    let servers = values.entry(member).or_insert_with(|| Table::new().into());
    let Value::Table(servers) = servers else { bail!("`{member}` isn't a table") };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let snippet = snippet.replace('\n', newline);
    let edited = match servers.insert(name.to_owned(), entry.clone()) {
        None => appended(text, &snippet, newline),
        Some(existing) if existing == entry => return Ok(None),
        Some(_) if !replaces => {
            bail!("the file already contains a server named {name:?}; use --replace, or another --name")
        }
        Some(_) => replaced(text, &snippet, member, name)?,
    };
    // Definitions that exclude each other, such as an inline table that a later table would extend.
    match edited.parse::<Table>() {
        Ok(written) if written == values => Ok(Some(edited)),
        _ => bail!("`{member}` can't be edited automatically; add the server yourself"),
    }
}

fn appended(text: &str, snippet: &str, newline: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    let blank = if text.trim().is_empty() { "" } else { newline };
    format!("{text}{end}{blank}{snippet}")
}

/// The text with other tables of a server.
fn replaced(text: &str, snippet: &str, member: &str, name: &str) -> anyhow::Result<String> {
    let document = DeTable::parse(text).context("not valid TOML")?;
    let table = |value: &'_ Spanned<DeValue<'_>>| value.get_ref().is_table();
    let servers = document.get_ref().get(member).filter(|value| table(value)).context("no servers")?;
    let server = servers.get_ref().as_table().and_then(|servers| servers.get(name)).context("no server")?;
    if text.get(server.span()).is_some_and(|value| value.starts_with('{')) {
        bail!("the existing entry is an inline table, which can't be edited; remove the entry, and try again");
    }
    let mut headers = Vec::new();
    add_headers(text, document.get_ref(), &mut headers);
    headers.sort_unstable();
    let mut own = Vec::new();
    add_header(text, server, &mut own);
    own.sort_unstable();
    let sections: Vec<Range<usize>> = own
        .iter()
        .map(|start| {
            let next = headers.partition_point(|header| header <= start);
            let next = headers.get(next).copied().unwrap_or(text.len());
            *start..end_of_section(text, *start, next)
        })
        .collect();
    let mut edited = String::with_capacity(text.len() + snippet.len());
    let mut end = 0;
    for (index, section) in sections.iter().enumerate() {
        edited.push_str(text.get(end..section.start).unwrap_or_default());
        if index == 0 {
            edited.push_str(snippet);
        }
        end = section.end;
    }
    edited.push_str(text.get(end..).unwrap_or_default());
    Ok(edited)
}

/// Adds the positions of the headers of a table's tables.
fn add_headers(text: &str, table: &DeTable<'_>, headers: &mut Vec<usize>) {
    table.values().for_each(|value| add_header(text, value, headers));
}

fn add_header(text: &str, value: &Spanned<DeValue<'_>>, headers: &mut Vec<usize>) {
    match value.get_ref() {
        DeValue::Table(table) => {
            // The span of a table is that of its header, or of its braces.
            let start = value.span().start;
            headers.extend(text.get(start..).is_some_and(|rest| rest.starts_with('[')).then_some(start));
            add_headers(text, table, headers);
        }
        DeValue::Array(elements) => elements.iter().for_each(|element| add_header(text, element, headers)),
        _ => {}
    }
}

/// The end of a section: comments and blank lines before the next header belong to that.
fn end_of_section(text: &str, start: usize, next: usize) -> usize {
    let section = text.get(start..next).unwrap_or_default();
    let mut end = section.len();
    for line in section.split_inclusive('\n').rev() {
        let content = line.trim_start();
        if !content.is_empty() && !content.starts_with('#') {
            break;
        }
        end -= line.len();
    }
    start + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentdex::convert::mcp_server::{McpClient, RegistryAddress};

    fn edit(text: &str, replaces: bool) -> anyhow::Result<Option<String>> {
        let address = RegistryAddress { url: "https://r.example", needs_key: true, program: "agentdex", context: None };
        with_server(text, &Configuration::of_registry(McpClient::Codex, address, None)?, replaces)
    }

    const NEW: &str =
        "[mcp_servers.agentdex]\nurl = \"https://r.example/mcp\"\nbearer_token_env_var = \"AGENTDEX_API_KEY\"\n";

    #[test]
    fn server_is_appended() {
        for text in [
            "",
            "  \n",
            "model = 'x' # mine\n",
            "[mcp_servers]\n",
            "[mcp_servers.a]\nurl = 'y'",
            "mcp_servers.a.url = 'y'\n",
            "[[x]]\na = 1\n[[x]]\n",
            "a = \"\"\"\n[mcp_servers.agentdex]\n\"\"\"\n",
        ] {
            let edited = edit(text, false).unwrap().unwrap();
            assert!(edited.starts_with(text) && edited.ends_with(NEW), "{edited}");
            assert_eq!(edit(&edited, false).unwrap(), None);
        }
        let crlf = edit("a = 1\r\n", false).unwrap().unwrap();
        assert_eq!(crlf, format!("a = 1\r\n\r\n{}", NEW.replace('\n', "\r\n")));
    }

    #[test]
    fn server_is_replaced() {
        let old = "[mcp_servers.agentdex]\ncommand = \"\"\"\n[x]\n\"\"\" # old\n";
        let (before, after) = ("# first\n[a]\nb = 1\n\n", "\n# of c\n[[c]]\nd = 1\n");
        let text = format!("{before}{old}{after}[mcp_servers.agentdex.env]\nX = 'y'\n\n[e]\n");
        assert!(edit(&text, false).is_err());
        assert_eq!(edit(&text, true).unwrap().unwrap(), format!("{before}{NEW}{after}\n[e]\n"));
    }

    #[test]
    fn what_cannot_be_edited_is_refused() {
        for text in [
            "mcp_servers = 1\n",
            "mcp_servers = {}\n",
            "mcp_servers = { a = { url = 'x' } }\n",
            "[[mcp_servers]]\n",
            "[mcp_servers]\nagentdex = { url = 'x' }\n",
            "mcp_servers.agentdex.url = 'x'\n",
            "a = \n",
            "a = 1\na = 2\n",
        ] {
            assert!(edit(text, true).is_err(), "{text}");
        }
    }
}
