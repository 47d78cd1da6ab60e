//! Fields of the index and their representation.
//!
//! | field | content | stored as |
//! |---|---|---|
//! | `id` | the id | one exact term; a column by which documents are sorted |
//! | `text` | all default search content, with names repeated | stemmed words with positions |
//! | `title`, `description` | the same words again, for `title:` and `description:` | stemmed words with positions |
//! | `capability`, `type`, `tag`… | values of a filter, normalized for comparison | exact terms |
//! | `capability_version` | names and ids of capabilities with their version (`versions`) | exact terms |
//! | `tenant`, `channel` | supported tenants and channels; `*` if no tenant is named | exact terms |
//! | `speaks` | response protocols of actions: `sacp` | exact terms |
//! | `version` | version of the Thing | one exact term |
//! | `title_key` | beginning of the title, without case | a column for sorting hits |
//! | `created`, `modified` | times of creation and last change | columns of milliseconds |
//! | `sight` | for a restricted Thing: `!` and the callers allowed to see it | exact terms |
//! | `capability_values`, `type_values`… | the same values as written | a column for counting facets |
//! | `summary` | content of a hit | stored bytes |

use tantivy::{
    IndexSettings, IndexSortByField, Order,
    schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions},
    store::Compressor,
};

use super::{FacetField, facet_column, text};

/// Changes with every change of fields, tokenizers, terms or stored summary: an index of another version
/// is built again.
pub(super) const VERSION: u32 = 16;

/// Fields of exact values, in addition to `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ExactField {
    /// One of those that can also be counted.
    Facet(FacetField),
    /// Language tags.
    Language,
    /// Capabilities in a version.
    CapabilityVersion,
    /// Tenants.
    Tenant,
    /// Channels.
    Channel,
    /// Protocols that actions answer in.
    Speaks,
    /// The version of the Thing.
    Version,
}

/// The indexed and the counted side of a facet.
#[derive(Debug, Clone, Copy)]
pub(super) struct FacetFields {
    pub terms: Field,
    pub values: Field,
}

/// All fields, by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub id: Field,
    pub text: Field,
    pub title: Field,
    pub description: Field,
    pub language: Field,
    pub capability_version: Field,
    pub tenant: Field,
    pub channel: Field,
    pub speaks: Field,
    pub version: Field,
    pub title_key: Field,
    pub created: Field,
    pub modified: Field,
    pub sight: Field,
    pub summary: Field,
    facets: [FacetFields; FacetField::ALL.len()],
}

impl Fields {
    /// Returns the field of exact terms for a filter.
    pub fn exact(&self, field: ExactField) -> Field {
        match field {
            ExactField::Facet(facet) => self.facet(facet).terms,
            ExactField::Language => self.language,
            ExactField::CapabilityVersion => self.capability_version,
            ExactField::Tenant => self.tenant,
            ExactField::Channel => self.channel,
            ExactField::Speaks => self.speaks,
            ExactField::Version => self.version,
        }
    }

    /// Returns both fields of a facet.
    pub fn facet(&self, facet: FacetField) -> FacetFields {
        self.facets[facet as usize]
    }
}

/// Name of the column by which documents are sorted.
pub(super) const ID: &str = "id";
/// The columns that hits are sorted by.
pub(super) const TITLE_KEY: &str = "title_key";
pub(super) const CREATED: &str = "created";
pub(super) const MODIFIED: &str = "modified";

/// The schema, and its fields.
pub(super) fn build() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field(ID, exact().set_fast("raw"));
    let text = builder.add_text_field("text", words());
    let title = builder.add_text_field("title", words());
    let description = builder.add_text_field("description", words());
    let language = builder.add_text_field("language", exact());
    let capability_version = builder.add_text_field("capability_version", exact());
    let tenant = builder.add_text_field("tenant", exact());
    let channel = builder.add_text_field("channel", exact());
    let speaks = builder.add_text_field("speaks", exact());
    let version = builder.add_text_field("version", exact());
    let title_key = builder.add_text_field(TITLE_KEY, FAST);
    let [created, modified] = [CREATED, MODIFIED].map(|name| builder.add_i64_field(name, FAST));
    let sight = builder.add_text_field("sight", exact());
    let summary = builder.add_bytes_field("summary", STORED);
    let facets = FacetField::ALL.map(|facet| FacetFields {
        terms: builder.add_text_field(facet.name(), exact()),
        values: builder.add_text_field(facet_column(facet), FAST),
    });
    let fields = Fields {
        id,
        text,
        title,
        description,
        language,
        capability_version,
        tenant,
        channel,
        speaks,
        version,
        title_key,
        created,
        modified,
        sight,
        summary,
        facets,
    };
    (builder.build(), fields)
}

/// Sorted by id, so that equal scores come in the order of ids without reading them.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        sort_by_field: Some(IndexSortByField { field: ID.into(), order: Order::Asc }),
        docstore_compression: Compressor::Lz4,
        docstore_compress_dedicated_thread: false,
        docstore_blocksize: 8 * 1024,
        ..IndexSettings::default()
    }
}

fn exact() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    TextOptions::default().set_indexing_options(indexing)
}

fn words() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(text::ENCODED)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    TextOptions::default().set_indexing_options(indexing)
}
