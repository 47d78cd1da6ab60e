//! Agents that are asked for by name, as people write names.

use std::fs;

use agentdex::{
    Registry,
    search::{Mode, Search},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{relevance::Tool, shared};

/// A registry with agents that have nothing but a title, a description and one action.
pub(super) struct Named {
    pub registry: Registry,
    _directory: TempDir,
}

impl Named {
    pub fn with<'t>(tools: impl IntoIterator<Item = &'t Tool>) -> Named {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).open().unwrap();
        for tool in tools {
            registry.put(tool.thing().to_string()).unwrap();
        }
        registry.search(Search::words("anything").consistent()).unwrap();
        Named { registry, _directory: directory }
    }

    fn of(titles: &[(&str, &str)]) -> Named {
        let tools: Vec<Tool> = titles
            .iter()
            .map(|(title, description)| Tool::new(&json!({"id": title, "title": title, "description": description})))
            .collect();
        Named::with(&tools)
    }

    pub fn found(&self, query: &str, mode: Mode, limit: usize) -> Vec<String> {
        let search = Search::words(query).mode(mode).limit(limit);
        self.registry.search(search).unwrap().hits.into_iter().map(|hit| hit.id).collect()
    }

    /// A page of what words and meaning find.
    pub fn page(&self, query: &str, offset: usize, limit: usize) -> Vec<String> {
        let search = Search::words(query).offset(offset).limit(limit);
        self.registry.search(search).unwrap().hits.into_iter().map(|hit| hit.id).collect()
    }

    fn first(&self, query: &str, mode: Mode) -> Option<String> {
        let search = Search::words(query).mode(mode).limit(1);
        self.registry.search(search).unwrap().hits.pop().and_then(|hit| hit.title)
    }
}

const BY_WORDS: [Mode; 2] = [Mode::Lexical, Mode::Hybrid];

#[test]
fn a_name_that_the_table_has_never_met_is_found_beside_a_word_that_it_has() {
    let agents = Named::of(&[
        ("Weather agent", "Tells the weather forecast for a city"),
        ("Zaptrix 9000", "Runs macros"),
        ("Kalendar AI", "Books meetings for a sales agent"),
    ]);
    for query in ["zaptrix agent", "I need the Zaptrix 9000 agent please", "Zaptrix agent"] {
        for mode in BY_WORDS {
            assert_eq!(agents.first(query, mode).as_deref(), Some("Zaptrix 9000"), "{query} {mode:?}");
        }
    }
}

#[test]
fn what_stands_between_hyphens_underscores_and_slashes_is_a_word() {
    let agents = Named::of(&[
        ("WhatsApp-Bot", "Sends messages"),
        ("GitHub_Agent", "Reads repositories"),
        ("PayPal-Zahlungen", "Moves money"),
        ("Inbox", "Sorts LinkedIn-messages"),
        ("CI/CD", "Builds and deploys"),
        ("OpenAI/GPT4o-mini", "Writes texts"),
        ("Calendar", "Books meetings"),
    ]);
    for (query, title) in [
        ("whatsapp", "WhatsApp-Bot"),
        ("WhatsApp", "WhatsApp-Bot"),
        ("whatsapp bot", "WhatsApp-Bot"),
        ("whatsappbot", "WhatsApp-Bot"),
        ("WHATSAPP-BOT", "WhatsApp-Bot"),
        ("github", "GitHub_Agent"),
        ("paypal", "PayPal-Zahlungen"),
        ("linkedin", "Inbox"),
        ("cicd", "CI/CD"),
        ("openai", "OpenAI/GPT4o-mini"),
        ("gpt4o", "OpenAI/GPT4o-mini"),
    ] {
        for mode in BY_WORDS {
            assert_eq!(agents.first(query, mode).as_deref(), Some(title), "{query} {mode:?}");
        }
    }
    let typed = Search::words("a-WhatsAp").typing().limit(1);
    assert_eq!(agents.registry.search(typed).unwrap().hits[0].title.as_deref(), Some("WhatsApp-Bot"));
}

#[test]
fn a_compound_in_a_request_finds_the_name_in_it() {
    let agents = Named::of(&[
        ("whatsapp", "Talks to friends"),
        ("App store", "An app for every app"),
        ("Clickhouse", "Queries tables"),
        ("House renting", "Rents a house"),
        ("Linkedin", "Knows people"),
        ("Paypal", "Moves money"),
        ("Link checker", "Checks each link in a page"),
    ]);
    for (query, titles) in [
        ("Eine WhatsApp-Nachricht schicken", &["whatsapp"][..]),
        ("ClickHouse-Abfrage", &["Clickhouse"]),
        ("LinkedIn/PayPal", &["Linkedin", "Paypal"]),
        ("my_LinkedIn_contacts", &["Linkedin"]),
    ] {
        for mode in BY_WORDS {
            // By meaning, a part of a name may be near to something else.
            let depth = if mode == Mode::Lexical { titles.len() } else { 3 };
            let found = agents.found(query, mode, depth);
            assert!(
                titles.iter().all(|title| found.contains(&super::relevance::id(title))),
                "{query} {mode:?}: {found:?}"
            );
        }
    }
}

/// The runs of a title with a change of case, beside others: `WebSpeak` of `Intel-WebSpeak-nu`.
fn inner_names(title: &str) -> impl Iterator<Item = &str> {
    let names = title.split(char::is_whitespace).filter(|name| name.contains(['-', '_', '/']));
    let has_change =
        |run: &&str| run.chars().zip(run.chars().skip(1)).any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    names.flat_map(|name| name.split(['-', '_', '/'])).filter(has_change)
}

#[test]
fn inner_names_of_real_titles_find_them() {
    let (Some(things), Some(cards), Some(tools)) =
        (shared("corpus/td"), shared("corpus/a2a"), shared("corpus/relevance/metatool"))
    else {
        return;
    };
    let agents = Named::with(&Tool::all(&tools));
    let mut titles: Vec<(String, String)> = Tool::all(&tools).into_iter().map(|tool| (tool.id, tool.title)).collect();
    let files = [things, cards].into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    for path in files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "json"))
    {
        let Ok(document) = serde_json::from_slice::<Value>(&fs::read(&path).unwrap()) else { continue };
        let Some(title) = document["title"].as_str().or(document["name"].as_str()) else { continue };
        let id = format!("urn:file:{}", path.file_stem().unwrap().to_string_lossy());
        let description = document["description"].as_str().unwrap_or_default();
        let thing = json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": id, "title": title,
            "description": description, "securityDefinitions": {"n": {"scheme": "nosec"}}, "security": "n"});
        agents.registry.put(thing.to_string()).unwrap();
        titles.push((id, title.to_owned()));
    }
    agents.registry.search(Search::words("anything").consistent()).unwrap();
    let named = titles.iter().flat_map(|(id, title)| inner_names(title).map(move |name| (name, id)));
    let named: Vec<(&str, &String)> = named.collect();
    for mode in BY_WORDS {
        let is_missed = |(name, id): &&(&str, &String)| {
            [name.to_lowercase(), format!("{name}-Nachricht")]
                .iter()
                .any(|query| !agents.found(query, mode, 5).contains(id))
        };
        let missed: Vec<_> = named.iter().filter(is_missed).collect();
        println!("inner names, {}: {} of {}", mode.name(), named.len() - missed.len(), named.len());
        assert!(named.len() >= 12 && missed.is_empty(), "{}: {missed:?}", mode.name());
    }
}

/// A way to ask for a title, where there is one: the letter that is wrong depends on the number.
type Asked = fn(&str, usize) -> Option<String>;

/// The letters of the longest word of a title, where that has five.
fn longest_word(title: &str) -> Option<(&str, Vec<char>)> {
    let words = title.split(|c: char| !c.is_alphabetic());
    let longest = words.max_by_key(|word| word.chars().count())?;
    Some((longest, longest.chars().collect::<Vec<_>>())).filter(|(_, letters)| letters.len() >= 5)
}

/// One letter of the longest word is another one, missing, or doubled by another.
fn with_a_typo(title: &str, number: usize) -> Option<String> {
    let (word, mut letters) = longest_word(title)?;
    let at = 1 + (number * 7) % (letters.len() - 1);
    match number % 3 {
        0 => letters[at] = if letters[at] == 'x' { 'k' } else { 'x' },
        1 => drop(letters.remove(at)),
        _ => letters.insert(at, if letters[at] == 'o' { 'u' } else { 'o' }),
    }
    Some(title.replace(word, &letters.iter().collect::<String>()))
}

fn with_two_letters_exchanged(title: &str, number: usize) -> Option<String> {
    let (word, mut letters) = longest_word(title)?;
    let at = 1 + number % (letters.len() - 2);
    letters.swap(at, at + 1);
    Some(title.replace(word, &letters.iter().collect::<String>())).filter(|changed| changed != title)
}

/// For each row: the least share of the agents that are among the first five, of those that can be asked for so.
#[test]
fn agents_of_metatool_are_found_by_name() {
    let Some(folder) = shared("corpus/relevance/metatool") else { return };
    let tools = Tool::all(&folder);
    let agents = Named::with(&tools);
    let rows: [(&str, Asked, f64); 9] = [
        ("title", |title, _| Some(title.to_owned()), 0.99),
        ("title agent", |title, _| Some(format!("{title} agent")), 0.99),
        ("I need the title agent please", |title, _| Some(format!("I need the {title} agent please")), 0.99),
        ("lower case agent", |title, _| Some(format!("{} agent", title.to_lowercase())), 0.99),
        ("lower case", |title, _| Some(title.to_lowercase()), 0.99),
        ("one typo", with_a_typo, 0.91),
        ("one typo, agent", |title, number| Some(with_a_typo(title, number)? + " agent"), 0.91),
        ("two letters exchanged", with_two_letters_exchanged, 0.91),
        (
            "two letters exchanged, agent",
            |title, number| Some(with_two_letters_exchanged(title, number)? + " agent"),
            0.91,
        ),
    ];
    for (row, asked, least) in rows {
        for mode in BY_WORDS {
            let queries =
                tools.iter().enumerate().filter_map(|(number, tool)| Some((tool, asked(&tool.title, number)?)));
            let queries: Vec<(&Tool, String)> = queries.collect();
            let is_missed = |(tool, query): &&(&Tool, String)| !agents.found(query, mode, 5).contains(&tool.id);
            let missed: Vec<&str> = queries.iter().filter(is_missed).map(|(_, query)| query.as_str()).collect();
            let found = queries.len() - missed.len();
            println!("{row}, {}: {found} of {}", mode.name(), queries.len());
            assert!(found as f64 >= least * queries.len() as f64, "{row}, {}: {missed:?}", mode.name());
        }
    }
}
