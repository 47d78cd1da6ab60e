//! Rules for transforms of messages: when they apply, and which messages they keep.

use serde_json::{Value, json};

use super::{
    super::{coercion::as_number, sdk_types::SdkTypes},
    Demand, Key, Rules, quoted,
};

/// The columns of a cache with the types of their values; one of messages has the first four.
const COLUMNS: [(&str, &str); 5] = [
    ("cache_key", "string"),
    ("cache_content", "string"),
    ("created_at", "number"),
    ("last_used_at", "number"),
    ("prefix_size", "integer"),
];

impl Rules<'_, '_> {
    pub(super) fn transform(&mut self, key: Key) {
        let is_conversation = self.graph.type_name(key) == "ConversationSummarizationTransform";
        if is_conversation {
            self.thresholds(key);
        }
        let (columns, default) = match is_conversation {
            true => (&COLUMNS[..], "summarized_conversations_cache"),
            false => (&COLUMNS[..4], "summarized_messages_cache"),
        };
        self.cache(key, columns, self.graph.text(key, "cache_collection_name").unwrap_or(default));
    }

    /// A conversation is summarized from a number of messages or of characters on, and some of its messages
    /// are left.
    fn thresholds(&mut self, key: Key) {
        let threshold = |field, default| match self.graph.field(key, field) {
            Some(Value::Null) => None,
            Some(value) => as_number(value, self.profile()),
            None => default,
        };
        let (messages, characters) = (threshold("max_num_messages", Some(50.0)), threshold("max_num_characters", None));
        let message = match (messages, characters) {
            (Some(_), Some(_)) => {
                "only one of `max_num_messages` and `max_num_characters` can be given; set the other to null \
                 (`max_num_messages` is 50 by default)"
            }
            (None, None) => "either `max_num_messages` or `max_num_characters` is needed",
            (Some(most), None) if threshold("min_num_messages", Some(10.0)).is_some_and(|least| most <= least) => {
                "`max_num_messages` must be greater than `min_num_messages`, the number of messages that are not \
                 summarized"
            }
            _ => return,
        };
        self.report(Demand::Both, "transform-thresholds", || self.graph.at(key), || message);
    }

    /// The datastore of a cache has its collection, and that the columns of one.
    fn cache(&mut self, key: Key, columns: &[(&str, &str)], collection: &str) {
        let Some(datastore) = self.graph.part(key, "datastore") else { return };
        let Some(collections) = self.graph.field(datastore, "datastore_schema") else { return };
        let spot = || self.graph.at(key).member("datastore");
        let entity = collections.get(collection).and_then(|entity| self.graph.resolve(entity));
        let Some(entity) = entity else {
            self.report(Demand::Sdk, "transform-datastore", spot, || {
                format!("the datastore has no collection {}", quoted(collection))
            });
            return;
        };
        for (name, kind) in columns {
            let comparison = SdkTypes { effort: self.effort };
            let column = entity.get("properties").and_then(|properties| properties.get(name));
            let answer = column.map_or(Ok(false), |column| comparison.castable(&json!({"type": kind}), column));
            if !self.answer(answer, spot) {
                self.report(Demand::Sdk, "transform-datastore", spot, || {
                    format!("the collection {} needs a column `{name}` for values of type {kind}", quoted(collection))
                });
            }
        }
    }
}
