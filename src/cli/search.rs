//! `agentdex search`: finds agents by what they can do.

mod by_data;
mod sparql;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use clap::Args;
use serde::{Deserialize, de::IgnoredAny};

use self::by_data::ByData;
use super::excluded_words::word;
use super::output::{self, INDENT, Style, complain};
use super::terminal::stdout;
use crate::settings::number;
use agentdex::search::{Condition, Explanation, FacetCount, FacetField, FilterField};
use agentdex_client::{self as client, MatchingCapability, RegistryClient, SearchAnswer, api::Correction};

/// The most capabilities of a hit that are shown.
const SHOWN_CAPABILITIES: usize = 3;
/// The most capabilities that are suggested.
const MAX_SIMILAR: usize = 5;
/// The keys that agents are sorted by.
const SORT_KEYS: [&str; 5] = ["relevance", "id", "title", "created", "modified"];

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Words, "phrases", +required, -excluded, field:value, prefix*. The fields are title, description, id, language,
    /// and the fields of --facets
    #[arg(value_name = "WORD", value_parser = word)]
    words: Vec<String>,
    /// Rank by meaning only
    #[arg(long, conflicts_with_all = ["lexical", "jsonpath"])]
    semantic: bool,
    /// Rank by words only
    #[arg(long, conflicts_with = "jsonpath")]
    lexical: bool,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    times: TimeBounds,
    /// Maximum number of hits; 0 prints only facets
    #[arg(long, default_value_t = agentdex::search::DEFAULT_LIMIT, value_name = "COUNT", value_parser = number::<usize>(0..=u64::MAX))]
    limit: usize,
    /// Number of hits to skip
    #[arg(long, default_value_t = 0, value_name = "COUNT", value_parser = number::<usize>(0..=u64::MAX))]
    offset: usize,
    /// Count the values of the given fields, separated by commas: capability, type, tag, vendor, protocol, security,
    /// format, status, or signature
    #[arg(long, value_delimiter = ',', value_name = "FIELD")]
    facets: Vec<String>,
    /// With --facets: count only values that contain this text
    #[arg(long, value_name = "TEXT", requires = "facets")]
    facet_query: Option<String>,
    /// Sort agents by id, title, created, or modified instead of by relevance
    #[arg(long, value_name = "KEY", value_parser = SORT_KEYS, conflicts_with_all = ["jsonpath", "sparql", "have", "want"])]
    sort_by: Option<String>,
    /// Reverse the order of --sort-by: newest first, or Z to A
    #[arg(long, requires = "sort_by")]
    desc: bool,
    /// Search by the structure of descriptions (JSONPath, RFC 9535), such as '$[?@.title=="Weather"].actions'; prints
    /// each result as a line of JSON
    #[arg(long, value_name = "JSONPATH", conflicts_with_all = ["words", "Filters", "TimeBounds", "facets", "offset", "limit"])]
    jsonpath: Option<String>,
    /// Search with a SPARQL query, such as "SELECT ?s ?o { ?s a ?o }", if the registry allows it; results of CONSTRUCT
    /// and DESCRIBE are printed as Turtle
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["words", "Filters", "TimeBounds", "facets", "offset", "limit", "jsonpath"])]
    sparql: Option<String>,
    /// Explain the score of each hit
    #[arg(long, conflicts_with_all = ["jsonpath", "sparql"])]
    explain: bool,
    #[command(flatten)]
    by_data: ByData,
    /// Search at once, without waiting until recent changes are indexed
    #[arg(long)]
    no_wait: bool,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Filters of `/search` and `/things`. Each can be repeated; an agent must match one of the values, except for
/// `--all` and `--not`.
#[derive(Debug, Args)]
pub(super) struct Filters {
    /// Only agents with this capability (id or name), optionally in a range of versions, such as billing@^1.2
    #[arg(long, value_name = "CAPABILITY")]
    capability: Vec<String>,
    /// Only agents of this @type
    #[arg(long = "type", value_name = "TYPE")]
    type_: Vec<String>,
    /// Only agents with this tag
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only agents of this vendor
    #[arg(long, value_name = "VENDOR")]
    vendor: Vec<String>,
    /// Only agents that support this protocol
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Vec<String>,
    /// Only agents with this security scheme
    #[arg(long, value_name = "SCHEME")]
    security: Vec<String>,
    /// Only agents that were registered in this format
    #[arg(long, value_name = "FORMAT")]
    format: Vec<String>,
    /// Only agents that support this tenant or all tenants
    #[arg(long, value_name = "TENANT")]
    tenant: Vec<String>,
    /// Only agents that support this channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Vec<String>,
    /// Only agents with an action that answers in this protocol (sacp is the only choice)
    #[arg(long, value_name = "PROTOCOL")]
    speaks: Vec<String>,
    /// Only agents with this status: stale (their source is unavailable), deprecated or deleted (in their MCP
    /// registry), or current (all others)
    #[arg(long, value_name = "stale|deprecated|deleted|current")]
    status: Vec<String>,
    /// Only agents whose card has this signature status: valid, invalid, untrusted, or unsigned
    #[arg(long, value_name = "STATUS")]
    signature: Vec<String>,
    /// Only agents with this version, or a version in this npm-style range, such as '>=1.2 <3'
    #[arg(long, value_name = "VERSION")]
    version: Vec<String>,
    /// Only agents with this value, such as tag=beta. If --all is repeated, all values must match; if a filter above is
    /// repeated, one matching value is enough
    #[arg(long, value_name = "FIELD=VALUE", value_parser = of_field(Condition::AllOf))]
    all: Vec<OfField>,
    /// Only agents without this value, such as tag=beta
    #[arg(long, value_name = "FIELD=VALUE", value_parser = of_field(Condition::NoneOf))]
    not: Vec<OfField>,
}

/// Bounds on the times of registration and last change.
#[derive(Debug, Args)]
pub(super) struct TimeBounds {
    /// Only agents created at or after this time (a date or an RFC 3339 timestamp)
    #[arg(long, value_name = "MOMENT")]
    created_from: Option<String>,
    /// Only agents created before this time
    #[arg(long, value_name = "MOMENT")]
    created_before: Option<String>,
    /// Only agents last changed at or after this time
    #[arg(long, value_name = "MOMENT")]
    modified_from: Option<String>,
    /// Only agents last changed before this time
    #[arg(long, value_name = "MOMENT")]
    modified_before: Option<String>,
}

/// A value that a field must have, or must not have: the parameter that says so.
#[derive(Debug, Clone)]
struct OfField {
    parameter: &'static str,
    value: String,
}

/// Reads `FIELD=VALUE`.
fn of_field(condition: Condition) -> impl Fn(&str) -> Result<OfField, String> + Clone {
    move |text| {
        let (name, value) = text.split_once('=').ok_or("not FIELD=VALUE; for example tag=beta")?;
        let field = FilterField::from_name(name).ok_or_else(|| {
            format!("there is no field {name:?}; fields: {}", FilterField::ALL.map(FilterField::name).join(", "))
        })?;
        Ok(OfField { parameter: field.parameter(condition), value: value.to_owned() })
    }
}

impl Filters {
    /// The values of fields that a search can count.
    fn counted(&self) -> impl Iterator<Item = (FacetField, &str)> {
        let fields: [(FacetField, &[String]); 9] = [
            (FacetField::Capability, &self.capability),
            (FacetField::Type, &self.type_),
            (FacetField::Tag, &self.tag),
            (FacetField::Vendor, &self.vendor),
            (FacetField::Protocol, &self.protocol),
            (FacetField::Security, &self.security),
            (FacetField::Format, &self.format),
            (FacetField::Status, &self.status),
            (FacetField::Signature, &self.signature),
        ];
        fields.into_iter().flat_map(|(field, values)| values.iter().map(move |value| (field, value.as_str())))
    }

    /// As query parameters.
    pub(super) fn parameters(&self) -> Vec<(&str, &str)> {
        let fields: [(&str, &[String]); 13] = [
            ("capability", &self.capability),
            ("type", &self.type_),
            ("tag", &self.tag),
            ("vendor", &self.vendor),
            ("protocol", &self.protocol),
            ("security", &self.security),
            ("format", &self.format),
            ("tenant", &self.tenant),
            ("channel", &self.channel),
            ("speaks", &self.speaks),
            ("status", &self.status),
            ("signature", &self.signature),
            ("version", &self.version),
        ];
        let any = fields.into_iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value.as_str())));
        let conditions = self.all.iter().chain(&self.not).map(|of| (of.parameter, of.value.as_str()));
        any.chain(conditions).collect()
    }
}

impl TimeBounds {
    /// As query parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let bounds = [
            ("created_from", &self.created_from),
            ("created_before", &self.created_before),
            ("modified_from", &self.modified_from),
            ("modified_before", &self.modified_before),
        ];
        bounds.into_iter().filter_map(|(name, bound)| Some((name, bound.as_deref()?)))
    }
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.jsonpath {
        let found = client.search_by_path(path).await?;
        let mut out = stdout();
        let is_read_by_people = !arguments.json && io::stdout().is_terminal();
        if is_read_by_people && found.is_empty() {
            writeln!(out, "Nothing matches.")?;
        }
        found.iter().try_for_each(|node| match is_read_by_people {
            true => print_node(&mut out, node.get()),
            false => writeln!(out, "{}", node.get()),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(query) = &arguments.sparql {
        return sparql::run(client, query, !arguments.no_wait, arguments.json).await;
    }
    if arguments.by_data.is_asked() {
        let Arguments { words, limit, offset, json, .. } = arguments;
        return arguments.by_data.run(client, &words.join(" "), *limit, *offset, *json).await;
    }
    let (query, facets) = (arguments.words.join(" "), arguments.facets.join(","));
    let (limit, offset) = (arguments.limit.to_string(), arguments.offset.to_string());
    let mut parameters = arguments.filters.parameters();
    parameters.extend(arguments.times.parameters());
    parameters.extend([("limit", limit.as_str()), ("offset", offset.as_str())]);
    if !query.is_empty() {
        parameters.push(("q", &query));
    }
    if arguments.semantic || arguments.lexical {
        parameters.push(("mode", if arguments.semantic { "semantic" } else { "lexical" }));
    }
    if !facets.is_empty() {
        parameters.push(("facets", &facets));
    }
    parameters.extend(arguments.facet_query.as_deref().map(|text| ("facet_query", text)));
    parameters.extend(arguments.sort_by.as_deref().map(|key| ("sort_by", key)));
    if arguments.desc {
        parameters.push(("sort_order", "desc"));
    }
    if arguments.explain {
        parameters.push(("explain", "true"));
    }
    if !arguments.no_wait {
        parameters.push(("consistent", "true"));
    }
    let mut json = client.search_json(&parameters).await;
    let note = |error: &client::Error| match error.problem()?.code.as_str() {
        "consistency-timeout" => {
            Some("note: the index is far behind the log; recently registered agents may be missing")
        }
        "log-unavailable" => {
            Some("note: the log of the cluster does not respond; agents registered at other nodes may be missing")
        }
        _ => None,
    };
    if let Some(note) = json.as_ref().err().filter(|_| !arguments.no_wait).and_then(note) {
        complain(note);
        parameters.pop();
        json = client.search_json(&parameters).await;
    }
    let json = json?;
    let mut out = stdout();
    if arguments.json {
        match out.is_terminal() {
            true => writeln!(out, "{}", output::indented(&json))?,
            false => writeln!(out, "{}", json.trim_end())?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let answer: SearchAnswer = serde_json::from_str(&json)
        .map_err(|error| client::Error::UnexpectedAnswer { expected: "a search answer", reason: error.to_string() })?;
    print(&mut out, &answer, arguments.offset, !query.is_empty())?;
    if answer.total == 0 {
        print_similar(&mut out, client, &arguments.filters, &query).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a value that a path selects: a description by its title and id, as in a list; anything else as it is.
fn print_node(out: &mut impl Write, json: &str) -> io::Result<()> {
    #[derive(Deserialize)]
    struct Described {
        id: String,
        title: String,
        #[serde(rename = "securityDefinitions")]
        _security: IgnoredAny,
    }
    match serde_json::from_str(json) {
        Ok(Described { id, title, .. }) => {
            let style = Style::stdout();
            writeln!(out, "{}\n{INDENT}{}", style.bold(&title), style.dim(&id))
        }
        Err(_) => writeln!(out, "{}", output::indented(json)),
    }
}

/// Prints existing values with a similar spelling, for filters whose value no agent has, also those in a query.
pub(super) async fn print_similar(
    out: &mut impl Write,
    client: &RegistryClient,
    filters: &Filters,
    query: &str,
) -> anyhow::Result<()> {
    let asked: Vec<(FacetField, &str)> = filters.counted().chain(counted_in(query)).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let fields: Vec<&str> = asked.iter().map(|(field, _)| field.name()).collect();
    let parameters = [("limit", "0"), ("facets", &fields.join(","))];
    let Ok(answer) = client.search(&parameters).await else { return Ok(()) };
    for (field, asked) in asked {
        let known: Vec<&str> =
            answer.facets.get(&field).into_iter().flatten().map(|known| known.value.as_str()).collect();
        let asked_name = asked.split('@').next().unwrap_or_default().to_lowercase();
        if known.iter().any(|known| known.to_lowercase() == asked_name) {
            continue;
        }
        let similar: Vec<_> = known
            .into_iter()
            .filter(|known| is_similar(&known.to_lowercase(), &asked_name))
            .take(MAX_SIMILAR)
            .collect();
        let meant = match similar.as_slice() {
            [] => continue,
            similar => {
                similar.iter().map(|value| format!("`{}`", output::visible(value))).collect::<Vec<_>>().join(", ")
            }
        };
        writeln!(out, "No agent has the {} `{}`; did you mean {meant}?", field.name(), output::visible(asked))?;
    }
    Ok(())
}

/// The values of fields in a query, such as `capability:forecast`.
fn counted_in(query: &str) -> impl Iterator<Item = (FacetField, &str)> {
    query.split_whitespace().filter_map(|word| {
        let (name, value) = word.trim_start_matches('+').split_once(':')?;
        let value = value.trim_matches('"');
        Some((FacetField::from_name(name)?, value)).filter(|_| !value.is_empty())
    })
}

fn is_similar(known: &str, asked: &str) -> bool {
    let is_longer = asked.len() > 3 && known.contains(asked);
    is_longer
        || strsim::jaro_winkler(asked, known) > 0.9
        || (asked.len() > 2 && strsim::osa_distance(asked, known) == 1)
}

/// Without words there are no scores.
fn print(out: &mut impl Write, answer: &SearchAnswer, offset: usize, has_scores: bool) -> anyhow::Result<()> {
    let style = Style::stdout();
    for hint in &answer.hints {
        writeln!(out, "Hint: {}", output::visible(hint))?;
    }
    if let Some(suggestion) = answer.suggestions.first() {
        writeln!(out, "Did you mean: {}?", output::visible(suggestion))?;
    }
    if answer.total == 0 || answer.hits.is_empty() && offset > 0 {
        writeln!(out, "{}", if answer.total == 0 { "No agent matches." } else { "No further matches." })?;
        return Ok(());
    }
    if answer.confidence.is_some() {
        writeln!(out, "No agent closely matches; these are the closest.")?;
    }
    for Correction { word, read_as } in &answer.corrections {
        let read_as = read_as.join(", ");
        writeln!(out, "No agent contains `{}`; searched for: {}", output::visible(word), output::visible(&read_as))?;
    }
    for hit in &answer.hits {
        let title = style.bold(hit.title.as_deref().unwrap_or("(no title)"));
        if has_scores {
            writeln!(out, "{:>6.2}  {title}", hit.score)?;
        } else {
            writeln!(out, "{title}")?;
        }
        writeln!(out, "{INDENT}{}", style.dim(&hit.id))?;
        for line in hit.explanation.iter().flat_map(|explanation| explained(explanation, hit.normalized_score)) {
            writeln!(out, "{INDENT}{}", style.dim(&line))?;
        }
        for flag in &hit.flags {
            let flag = format!("Caution, {} at {}: {}", flag.kind, flag.pointer, flag.found);
            writeln!(out, "{INDENT}{}", style.red(&flag))?;
        }
        for capability in hit.capabilities.iter().take(SHOWN_CAPABILITIES) {
            writeln!(out, "{INDENT}{}", describe(style, capability))?;
        }
        let more = hit.capabilities.len().saturating_sub(SHOWN_CAPABILITIES) + hit.more_capabilities;
        if more > 0 {
            writeln!(out, "{INDENT}{}", style.dim(&format!("and {more} more")))?;
        }
    }
    print_facets(out, answer)?;
    match answer.hits.len() {
        0 if answer.total == 1 => writeln!(out, "1 agent matches.")?,
        0 => writeln!(out, "{} agents match.", answer.total)?,
        count => writeln!(out, "{} to {} of {}", offset + 1, offset + count, answer.total)?,
    }
    Ok(())
}

/// The parts of a score, a line each.
fn explained(explanation: &Explanation, normalized: Option<f32>) -> Vec<String> {
    let boost = |boost: f32| if boost == 1.0 { String::new() } else { format!(" (counts {boost:.2})") };
    let words = explanation.words.iter();
    let words =
        words.map(|word| format!("{:>6.2}  word `{}`{}", word.score, output::visible(&word.word), boost(word.boost)));
    let meaning = explanation.meaning.iter();
    let meaning = meaning.map(|part| format!("{:>6.2}  meaning: {:.2} × {:.1}", part.score, part.cosine, part.boost));
    let other = explanation.meaning.iter().filter(|part| part.words_share < 0.995).map(|part| {
        let words: f32 = explanation.words.iter().map(|word| word.score).sum();
        format!(
            "{:>6.2}  words count less, since the meaning differs (weight {:.2})",
            (part.words_share - 1.0) * words,
            part.words_share
        )
    });
    let title = explanation.title.iter();
    let title = title.map(|part| format!("{:>6.2}  title: {:.2}² × {:.1}", part.score, part.share, part.boost));
    let best = normalized.map(|share| format!("{share:>6.2}  of the best possible score, {:.2}", explanation.best));
    words.chain(other).chain(meaning).chain(title).chain(best).collect()
}

/// Formats a capability: its name, and the part of its text that matches best.
fn describe(style: Style, capability: &MatchingCapability) -> String {
    let name = output::visible(&capability.name);
    let room = output::columns().map_or(usize::MAX, |columns| {
        columns.saturating_sub(INDENT.len() + name.chars().count() + ": ".len() + 1).max(20)
    });
    match output::snippet(Style::plain(), &capability.snippet, usize::MAX) {
        text if text.is_empty() || text == capability.name => style.green(&name),
        _ => format!("{}: {}", style.green(&name), output::snippet(style, &capability.snippet, room)),
    }
}

fn print_facets(out: &mut impl Write, answer: &SearchAnswer) -> anyhow::Result<()> {
    let mut table = output::table(&["Facet", "Value", "Agents"]);
    let facets: BTreeMap<&str, _> = answer.facets.iter().map(|(field, counts)| (field.name(), counts)).collect();
    for (field, counts) in facets {
        for (number, FacetCount { value, count }) in counts.iter().enumerate() {
            table.add_row([if number == 0 { field } else { "" }, &output::visible(value), &count.to_string()]);
        }
    }
    if !table.is_empty() {
        writeln!(out, "\n{}\n", output::lines(&table))?;
    }
    for (field, total) in &answer.facet_totals {
        let shown = answer.facets.get(field).map_or(0, Vec::len);
        if u64::try_from(shown).is_ok_and(|shown| shown < *total) {
            let field = field.name();
            writeln!(out, "{field}: {shown} of {total} values; `--facet-query TEXT` shows values that contain TEXT")?;
        }
    }
    Ok(())
}
