//! Mapping of a Thing to the fields of the search index.
//!
//! All words are stored in a single field. Titles and names of capabilities are stored several times: their higher
//! term frequency ranks a match in a name above a match in prose, without additional cost for queries.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use tantivy::{TantivyDocument, schema::Field};

use super::{
    Entry, FacetField, Moments,
    forms::Access,
    iri_spellings::Vocabularies,
    node::{Node, Object},
    query::{ExactTerm, lmos_name},
    schema::{ExactField, Fields},
    sight,
    summary::{self, Facts, Summary},
    text::{Encoded, Language, WordTokenizer, Words, fold_case},
    versions,
};
use crate::{
    Error, Result,
    convert::{SearchContent, SearchTerm},
    td,
};

/// Weight of titles and names of capabilities: the number of times that each is indexed. In Things that were withdrawn
/// they weigh no more than prose.
const NAME_WEIGHT: usize = 4;
/// Bounds of the number of times that the status of a withdrawn Thing is indexed.
const FEWEST_PADDING: usize = 16;
const MOST_PADDING: usize = 4096;
/// Maximum size in bytes of a description's searchable texts, which bounds the cost of a single description.
const MOST_TEXT: usize = 256 * 1024;
/// Maximum length of the part of a title that lists are sorted by, in bytes.
const LONGEST_SORT_KEY: usize = 256;
/// Longer values are neither filtered by nor counted.
const LONGEST_VALUE: usize = 1024;
/// Values of a facet beyond these are neither filtered by nor counted.
const MOST_VALUES: usize = 10_000;
/// Maximum depth to which data schemas are read.
const DEEPEST_SCHEMA: usize = 32;

/// The document of an entry, and about how many bytes it has.
pub(super) fn document(fields: &Fields, entry: &Entry<'_>) -> Result<(TantivyDocument, usize)> {
    let node: Node<'_> = serde_json::from_str(entry.text)
        .map_err(|source| Error::Index { doing: "reading a stored description", source: source.into() })?;
    let nothing = Object::default();
    let thing = node.as_object().unwrap_or(&nothing);
    let capabilities = capabilities(thing);
    let mut writer = EntryWriter::new(fields, entry.terms, default_language(thing));
    let withdrawal = withdrawal(thing, entry.terms);
    if withdrawal.is_some() {
        writer.name_weight = 1;
    }
    writer.add(fields.id, entry.id);
    // Where there is too much text, names count more than prose.
    writer.add_titles(thing);
    writer.add_sort_key(thing);
    writer.add_action_names(thing);
    writer.add_declared_capabilities(thing);
    writer.add_metadata(thing);
    writer.add_descriptions(thing);
    writer.add_affordances(thing);
    writer.add_terms_of_formats(thing);
    let access = Access::of(thing);
    writer.add_filters(thing, &capabilities, &access, entry.format);
    writer.add_moments(entry.moments);
    if let Some(status) = withdrawal {
        writer.add_withdrawal(status);
    }
    for term in entry.access.map(sight::terms_of).unwrap_or_default() {
        writer.add(fields.sight, &term);
    }
    let of_forms = access.protocols.iter().map(String::as_str);
    let protocols: BTreeSet<&str> = of_forms.chain(protocols_of(thing, entry.terms)).collect();
    let facts = Facts {
        capabilities: &capabilities,
        access: &access,
        protocols: protocols.into_iter().collect(),
        vendors: vendors(thing).filter(|vendor| !vendor.is_empty()).collect(),
        moments: entry.moments,
        language: default_tags(thing).next(),
    };
    let summary = serde_json::to_vec(&Summary::of(entry.id, thing, &facts))
        .map_err(|source| Error::Index { doing: "summarizing a Thing", source: source.into() })?;
    Ok(writer.finish(&summary))
}

struct EntryWriter<'a> {
    fields: &'a Fields,
    terms: &'a [SearchTerm],
    /// Number of times that a name is indexed.
    name_weight: usize,
    /// The length of all names in bytes.
    names_length: usize,
    document: TantivyDocument,
    bytes: usize,
    /// Bytes of text that are still searched.
    text_left: usize,
    /// That of texts without a tag.
    language: Option<Language>,
    prose: WordTokenizer,
    names: WordTokenizer,
    /// The words of the current text.
    words: Words,
    text: Encoded,
    title: Encoded,
    description: Encoded,
}

impl<'a> EntryWriter<'a> {
    fn new(fields: &'a Fields, terms: &'a [SearchTerm], language: Option<Language>) -> EntryWriter<'a> {
        let mut writer = EntryWriter {
            fields,
            terms,
            name_weight: NAME_WEIGHT,
            names_length: 0,
            document: TantivyDocument::default(),
            bytes: 0,
            text_left: MOST_TEXT,
            language,
            prose: WordTokenizer::prose(),
            names: WordTokenizer::names(),
            words: Words::default(),
            text: Encoded::default(),
            title: Encoded::default(),
            description: Encoded::default(),
        };
        writer.set_language(None);
        writer
    }

    fn finish(mut self, summary: &[u8]) -> (TantivyDocument, usize) {
        let Fields { text, title, description, .. } = *self.fields;
        for (field, words) in [(text, &self.text), (title, &self.title), (description, &self.description)] {
            if let Some(value) = words.value() {
                self.document.add_text(field, value);
                self.bytes += value.len();
            }
        }
        self.document.add_bytes(self.fields.summary, summary);
        (self.document, self.bytes + summary.len())
    }

    fn add_moments(&mut self, moments: Option<Moments>) {
        let Some(Moments { created, modified }) = moments else { return };
        for (field, moment) in [(self.fields.created, created), (self.fields.modified, modified)] {
            self.document.add_i64(field, moment.0);
            self.bytes += size_of_val(&moment.0);
        }
    }

    fn add(&mut self, field: Field, text: &str) {
        self.document.add_text(field, text);
        self.bytes += text.len();
    }

    /// Sets the language of the next texts by a tag. `None` selects the language of texts without a tag.
    fn set_language(&mut self, tag: Option<&str>) {
        let language = tag.map_or(self.language, Language::of_tag);
        self.prose.language = language;
        self.names.language = language;
    }

    /// Returns the searchable part of a text.
    fn searched<'t>(&mut self, text: &'t str) -> &'t str {
        let text = text.get(..text.floor_char_boundary(self.text_left)).unwrap_or_default();
        self.text_left -= text.len();
        text
    }

    fn add_name(&mut self, text: &str) {
        let text = self.searched(text);
        self.names_length += text.len();
        self.words.read(&mut self.prose, text);
        self.text.add(&self.words, self.name_weight);
    }

    /// Adds a status so often that it outweighs the higher scores of other words in shorter texts.
    fn add_withdrawal(&mut self, status: &str) {
        self.words.read(&mut self.prose, status);
        self.text.add(&self.words, (FEWEST_PADDING + self.names_length).min(MOST_PADDING));
    }

    fn add_prose(&mut self, text: &str) {
        let text = self.searched(text);
        self.words.read(&mut self.prose, text);
        self.text.add(&self.words, 1);
    }

    fn add_titles(&mut self, thing: &Object<'_>) {
        for (tag, title) in translations(thing, "title", "titles") {
            self.set_language(tag);
            let title = self.searched(title);
            self.names_length += title.len();
            self.words.read(&mut self.prose, title);
            self.text.add(&self.words, self.name_weight);
            self.words.read(&mut self.names, title);
            self.title.add(&self.words, 1);
        }
        self.set_language(None);
    }

    /// Adds the sort key: the title, without case.
    fn add_sort_key(&mut self, thing: &Object<'_>) {
        let title = summary::title(thing).unwrap_or_default();
        let title = title.get(..title.floor_char_boundary(LONGEST_SORT_KEY)).unwrap_or_default();
        self.add(self.fields.title_key, &fold_case(title));
    }

    fn add_descriptions(&mut self, thing: &Object<'_>) {
        for (tag, description) in translations(thing, "description", "descriptions") {
            self.set_language(tag);
            self.add_prose(description);
            self.description.add(&self.words, 1);
        }
        self.set_language(None);
    }

    /// The names and titles of actions, which are capabilities.
    fn add_action_names(&mut self, thing: &Object<'_>) {
        let actions = thing.get("actions").and_then(Node::as_object);
        for (name, action) in actions.into_iter().flat_map(Object::iter) {
            self.add_name(name);
            for (tag, title) in
                action.as_object().into_iter().flat_map(|action| translations(action, "title", "titles"))
            {
                self.set_language(tag);
                self.add_name(title);
            }
            self.set_language(None);
        }
    }

    fn add_affordances(&mut self, thing: &Object<'_>) {
        for (kind, is_named) in [("properties", false), ("actions", true), ("events", false)] {
            let affordances = thing.get(kind).and_then(Node::as_object);
            for (name, affordance) in affordances.into_iter().flat_map(Object::iter) {
                if !is_named {
                    self.add_prose(name);
                }
                let Some(affordance) = affordance.as_object() else { continue };
                for (tag, title) in translations(affordance, "title", "titles").filter(|_| !is_named) {
                    self.set_language(tag);
                    self.add_prose(title);
                }
                for (tag, description) in translations(affordance, "description", "descriptions") {
                    self.set_language(tag);
                    self.add_prose(description);
                }
                self.set_language(None);
                self.add_schema_parts(affordance, 0);
            }
        }
    }

    /// Adds the schema of an affordance's input or output: everything below its own title and description.
    fn add_schema_parts(&mut self, schema: &Object<'_>, depth: usize) {
        if depth > DEEPEST_SCHEMA {
            return;
        }
        for (key, part) in schema.iter() {
            self.add_schema_part(key, part, depth);
        }
    }

    fn add_schema_part(&mut self, key: &str, part: &Node<'_>, depth: usize) {
        match key {
            "properties" | "uriVariables" => {
                for (name, member) in part.as_object().into_iter().flat_map(Object::iter) {
                    self.add_prose(name);
                    self.add_schema(member, depth + 1);
                }
            }
            "input" | "output" | "data" | "dataResponse" | "subscription" | "cancellation" | "items" | "oneOf"
            | "anyOf" | "allOf" => {
                part.one_or_many().for_each(|part| self.add_schema(part, depth + 1));
            }
            _ => {}
        }
    }

    fn add_schema(&mut self, schema: &Node<'_>, depth: usize) {
        let Some(schema) = schema.as_object() else { return };
        for (key, part) in schema.iter() {
            match (key, part) {
                ("title" | "description", Node::Text(text)) => self.add_prose(text),
                ("titles" | "descriptions", _) => {
                    let one = schema.get(key.strip_suffix('s').unwrap_or(key)).and_then(Node::as_str);
                    for (tag, text) in other_translations(schema, one, key) {
                        self.set_language(tag);
                        self.add_prose(text);
                    }
                    self.set_language(None);
                }
                _ if depth <= DEEPEST_SCHEMA => self.add_schema_part(key, part, depth),
                _ => {}
            }
        }
    }

    fn add_declared_capabilities(&mut self, thing: &Object<'_>) {
        for capability in declared_capabilities(thing) {
            for key in ["id", "name", "lmos:id", "lmos:name"] {
                if let Some(name) = capability.get(key).and_then(Node::as_str) {
                    self.add_name(name);
                }
            }
            for text in ["description", "examples", "lmos:description", "lmos:examples"]
                .into_iter()
                .flat_map(|key| texts(capability, key))
            {
                self.add_prose(text);
            }
        }
    }

    fn add_terms_of_formats(&mut self, thing: &Object<'_>) {
        let terms = self.terms;
        for term in terms {
            for node in nodes_at(thing, term.path) {
                match term.content {
                    SearchContent::Text => node.as_str().into_iter().for_each(|text| self.add_prose(text)),
                    SearchContent::Schema => self.add_schema(node, 0),
                    SearchContent::Tags | SearchContent::Protocol(_) | SearchContent::Withdrawal => {}
                }
            }
        }
    }

    fn add_metadata(&mut self, thing: &Object<'_>) {
        for tag in tags(thing, self.terms) {
            self.add_prose(tag);
        }
        for vendor in vendors(thing) {
            self.add_prose(vendor);
        }
        for type_ in types(thing) {
            self.add_prose(local_name(type_));
        }
    }

    fn add_filters(
        &mut self,
        thing: &Object<'_>,
        capabilities: &[td::Capability<'_>],
        access: &Access,
        format: Option<&str>,
    ) {
        self.add_values(FacetField::Capability, capabilities.iter().map(td::Capability::key));
        for capability in capabilities {
            if let Some(name) = capability.name.filter(|&name| name != capability.key()) {
                self.add_terms(ExactField::Facet(FacetField::Capability), name);
            }
        }
        self.add_values(FacetField::Type, types(thing));
        self.add_semantic_tags(thing);
        self.add_values(FacetField::Tag, tags(thing, self.terms));
        self.add_values(FacetField::Vendor, vendors(thing));
        let protocols = access.protocols.iter().map(String::as_str).chain(protocols_of(thing, self.terms));
        self.add_values(FacetField::Protocol, protocols);
        self.add_values(FacetField::Security, access.security.iter().map(String::as_str));
        self.add_value(FacetField::Format, format.unwrap_or("td"));
        let stale = thing.get("agentdex:status").and_then(Node::as_str);
        let statuses: Vec<&str> = stale.into_iter().chain(withdrawal(thing, self.terms)).collect();
        self.add_values(
            FacetField::Status,
            if statuses.is_empty() { &["current"] } else { statuses.as_slice() }.iter().copied(),
        );
        let signature = thing.get("agentdex:signature").and_then(|signature| signature.get("status"));
        self.add_value(FacetField::Signature, signature.and_then(Node::as_str).unwrap_or_default());
        for language in languages(thing).into_iter().take(MOST_VALUES) {
            self.add_terms(ExactField::Language, language);
        }
        self.add_versions(thing, capabilities);
        let mut names_tenants = false;
        for tenant in supported(thing, "lmos:supportedTenants").filter(|tenant| !tenant.is_empty()) {
            self.add_terms(ExactField::Tenant, tenant);
            names_tenants = true;
        }
        if !names_tenants {
            self.add_terms(ExactField::Tenant, versions::ANY_TENANT);
        }
        for channel in supported(thing, "lmos:supportedChannels") {
            self.add_terms(ExactField::Channel, channel);
        }
        let actions = thing.get("actions").and_then(Node::as_object).into_iter().flat_map(Object::values);
        if actions.filter_map(|action| action.get("output")).any(answers_in_sacp) {
            self.add_terms(ExactField::Speaks, td::SACP);
        }
    }

    /// Types are found in every spelling, and those of affordances too; counted are those of the Thing.
    fn add_semantic_tags(&mut self, thing: &Object<'_>) {
        let vocabularies = Vocabularies::of(thing);
        let affordances =
            ["properties", "actions", "events"].into_iter().filter_map(|kind| thing.get(kind)?.as_object());
        let of_affordances: HashSet<&str> = affordances
            .flat_map(Object::values)
            .filter_map(Node::as_object)
            .flat_map(types)
            .take(MOST_VALUES)
            .collect();
        let own: HashSet<&str> = types(thing).take(MOST_VALUES).collect();
        let field = ExactField::Facet(FacetField::Type);
        for tag in own.iter().chain(of_affordances.difference(&own)) {
            if !own.contains(tag) {
                self.add_terms(field, tag);
            }
            vocabularies.other_spellings(tag).iter().for_each(|spelling| self.add_terms(field, spelling));
        }
    }

    /// Adds the version of the Thing, and its capabilities with their versions: declared capabilities with their own
    /// version or that of the Thing, actions with that of the Thing.
    fn add_versions(&mut self, thing: &Object<'_>, capabilities: &[td::Capability<'_>]) {
        let whole = thing.get("version").and_then(|version| version.get("instance")?.as_str());
        whole.into_iter().for_each(|version| self.add_terms(ExactField::Version, version));
        let mut added = HashSet::new();
        for capability in declared_capabilities(thing).take(MOST_VALUES) {
            let text = |name: &str, prefixed: &str| capability.get(name).or_else(|| capability.get(prefixed))?.as_str();
            let names = [text("id", "lmos:id"), text("name", "lmos:name")];
            let version = text("version", "lmos:version").or(whole);
            for name in names.into_iter().flatten() {
                added.insert(name);
                version.into_iter().for_each(|version| self.add_version(name, version));
            }
        }
        let undeclared = capabilities.iter().map(td::Capability::key).filter(|key| !added.contains(key));
        if let Some(version) = whole {
            undeclared.take(MOST_VALUES).for_each(|name| self.add_version(name, version));
        }
    }

    fn add_version(&mut self, name: &str, version: &str) {
        self.add_terms(ExactField::CapabilityVersion, &versions::term(name, version));
    }

    /// Values of a facet, each counted once.
    fn add_values<'v>(&mut self, facet: FacetField, values: impl Iterator<Item = &'v str>) {
        let mut added = HashSet::new();
        for value in values.take(MOST_VALUES) {
            if added.insert(counted_as(facet, value)) {
                self.add_value(facet, value);
            }
        }
    }

    fn add_value(&mut self, facet: FacetField, value: &str) {
        if !value.is_empty() && value.len() <= LONGEST_VALUE {
            self.add(self.fields.facet(facet).values, value);
            self.add_terms(ExactField::Facet(facet), value);
        }
    }

    fn add_terms(&mut self, field: ExactField, value: &str) {
        if value.len() <= LONGEST_VALUE {
            ExactTerm::for_each_indexed(field, value, |term| self.add(self.fields.exact(field), term));
        }
    }
}

/// Why a Thing shouldn't be used any more, if its format says so.
fn withdrawal<'a>(thing: &'a Object<'a>, terms: &[SearchTerm]) -> Option<&'a str> {
    let mut terms = terms.iter().filter(|term| term.content == SearchContent::Withdrawal);
    terms.find_map(|term| nodes_at(thing, term.path).into_iter().find_map(Node::as_str))
}

/// Returns the form in which values of a facet are counted together, which is the form for comparison.
pub(super) fn counted_as(facet: FacetField, value: &str) -> Cow<'_, str> {
    match facet {
        FacetField::Type => match lmos_name(value) {
            Some(name) if !value.starts_with("lmos:") => format!("lmos:{name}").into(),
            _ => value.into(),
        },
        _ => fold_case(value),
    }
}

/// Returns a text and its translations with their language tags. The text itself has a tag if it equals a
/// translation.
fn translations<'a>(
    owner: &'a Object<'a>,
    one: &str,
    many: &str,
) -> impl Iterator<Item = (Option<&'a str>, &'a str)> + use<'a> {
    let one = owner.get(one).and_then(Node::as_str);
    let tag = tagged(owner, many).find(|(_, text)| Some(*text) == one).map(|(tag, _)| tag);
    one.into_iter().map(move |one| (tag, one)).chain(other_translations(owner, one, many))
}

/// The translations of a text into other languages.
fn other_translations<'a>(
    owner: &'a Object<'a>,
    one: Option<&'a str>,
    many: &str,
) -> impl Iterator<Item = (Option<&'a str>, &'a str)> + use<'a> {
    tagged(owner, many).filter(move |&(_, text)| Some(text) != one).map(|(tag, text)| (Some(tag), text))
}

fn tagged<'a>(owner: &'a Object<'a>, many: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let many = owner.get(many).and_then(Node::as_object).into_iter().flat_map(Object::iter);
    many.filter_map(|(tag, text)| Some((tag, text.as_str()?)))
}

/// Iterates over a member that is a string or an array of strings.
fn texts<'a>(owner: &'a Object<'a>, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    owner.get(key).into_iter().flat_map(Node::one_or_many).filter_map(Node::as_str)
}

fn declared_capabilities<'a>(thing: &'a Object<'a>) -> impl Iterator<Item = &'a Object<'a>> {
    objects(thing, "lmos:capabilities")
}

/// Lists the capabilities that [`td::capabilities`] finds.
pub(super) fn capabilities<'a>(thing: &'a Object<'a>) -> Vec<td::Capability<'a>> {
    let entries = thing.get("lmos:capabilities").into_iter().flat_map(Node::one_or_many).map(|entry| {
        let text = |name, prefixed| {
            let text = entry.get(name).or_else(|| entry.get(prefixed))?.as_str();
            text.filter(|text| !text.is_empty())
        };
        td::Capability {
            id: text("id", "lmos:id"),
            name: entry.as_str().or_else(|| text("name", "lmos:name")),
            description: text("description", "lmos:description"),
        }
    });
    let actions = thing.get("actions").and_then(Node::as_object).into_iter().flat_map(Object::iter);
    let actions = actions.map(|(name, action)| td::Capability {
        id: None,
        name: Some(name),
        description: action.get("description").and_then(Node::as_str),
    });
    let mut seen = HashSet::new();
    entries.chain(actions).filter(|capability| !capability.key().is_empty() && seen.insert(capability.key())).collect()
}

/// Iterates over a member that is an object or an array of objects.
fn objects<'a>(owner: &'a Object<'a>, key: &str) -> impl Iterator<Item = &'a Object<'a>> + use<'a> {
    owner.get(key).into_iter().flat_map(Node::one_or_many).filter_map(Node::as_object)
}

fn metadata<'a>(thing: &'a Object<'a>) -> Option<&'a Object<'a>> {
    thing.get("lmos:metadata").and_then(Node::as_object)
}

/// True if an output is a response in SACP, as [`td::answers_in_sacp`] decides.
fn answers_in_sacp(output: &Node<'_>) -> bool {
    let texts = |name: &str| output.get(name).into_iter().flat_map(Node::one_or_many).filter_map(Node::as_str);
    td::answers_in_sacp(texts("@type"), |member| texts("required").any(|name| name == member))
}

/// Lists the values of `lmos:supportedTenants` or `lmos:supportedChannels`, as in the capability files of LMOS.
fn supported<'a>(thing: &'a Object<'a>, name: &'static str) -> impl Iterator<Item = &'a str> {
    let owners = [thing].into_iter().chain(metadata(thing));
    owners
        .filter_map(move |owner| owner.get(name))
        .flat_map(Node::one_or_many)
        .filter_map(Node::as_str)
        .take(MOST_VALUES)
}

/// The tags of a Thing and of its capabilities.
fn tags<'a>(thing: &'a Object<'a>, terms: &'a [SearchTerm]) -> impl Iterator<Item = &'a str> {
    let owners = [thing].into_iter().chain(metadata(thing)).chain(declared_capabilities(thing));
    let of_formats = terms.iter().filter(|term| term.content == SearchContent::Tags);
    let of_formats = of_formats.flat_map(|term| nodes_at(thing, term.path)).filter_map(Node::as_object);
    let owners = owners.chain(of_formats);
    owners.flat_map(|owner| td::TAG_MEMBERS.into_iter().flat_map(move |member| texts(owner, member)))
}

/// The protocols of which members of formats tell, whether or not there is a form.
fn protocols_of<'a>(thing: &'a Object<'a>, terms: &'a [SearchTerm]) -> impl Iterator<Item = &'a str> {
    terms.iter().filter_map(|term| match term.content {
        SearchContent::Protocol(protocol) => (!nodes_at(thing, term.path).is_empty()).then_some(protocol),
        _ => None,
    })
}

/// Selects the values at the end of a path of members, through arrays on the way.
fn nodes_at<'a>(thing: &'a Object<'a>, path: &[&str]) -> Vec<&'a Node<'a>> {
    let Some((first, rest)) = path.split_first() else { return Vec::new() };
    let start: Vec<&Node<'_>> = thing.get(first).map(Node::one_or_many).into_iter().flatten().collect();
    rest.iter().fold(start, |nodes, name| {
        nodes.into_iter().filter_map(|node| node.get(name)).flat_map(Node::one_or_many).collect()
    })
}

fn vendors<'a>(thing: &'a Object<'a>) -> impl Iterator<Item = &'a str> {
    let owners = [thing].into_iter().chain(metadata(thing));
    let vendors = owners.filter_map(|owner| owner.get("lmos:vendor")).flat_map(Node::one_or_many);
    vendors.filter_map(|vendor| match vendor {
        Node::Text(name) => Some(name.as_ref()),
        Node::Object(vendor) => vendor.get("lmos:name").or_else(|| vendor.get("name")).and_then(Node::as_str),
        _ => None,
    })
}

fn types<'a>(thing: &'a Object<'a>) -> impl Iterator<Item = &'a str> {
    texts(thing, "@type")
}

fn local_name(name: &str) -> &str {
    name.rsplit([':', '/', '#']).next().unwrap_or(name)
}

/// The language of texts without a tag, if it isn't English.
fn default_language(thing: &Object<'_>) -> Option<Language> {
    default_tags(thing).next().and_then(Language::of_tag)
}

/// Lists the languages that contexts declare for texts without a tag (`@language`).
fn default_tags<'a>(thing: &'a Object<'a>) -> impl Iterator<Item = &'a str> {
    let contexts = thing.get("@context").into_iter().flat_map(Node::one_or_many);
    contexts.filter_map(|context| context.get("@language")).filter_map(Node::as_str)
}

/// Returns the language tags of translations, and the default language.
fn languages<'a>(thing: &'a Object<'a>) -> BTreeSet<&'a str> {
    let affordances = ["properties", "actions", "events"].into_iter().filter_map(|kind| thing.get(kind)?.as_object());
    let affordances = affordances.flat_map(Object::values).filter_map(Node::as_object);
    let owners = [thing].into_iter().chain(affordances);
    let translated = owners.flat_map(|owner| ["titles", "descriptions"].into_iter().filter_map(|key| owner.get(key)));
    let tags = translated.filter_map(Node::as_object).flat_map(Object::keys);
    default_tags(thing).chain(tags).collect()
}
