//! Descriptor of Thing Descriptions, which need no conversion, in the table of formats.

use super::{
    Descriptor,
    descriptor::Sign,
    signs::{is_like_thing, is_thing_description},
};

pub(super) const FORMAT: Descriptor = Descriptor {
    name: "td",
    noun: "a W3C Thing Description",
    recognized_by: "the `@context` of W3C WoT, or `securityDefinitions` and `title`",
    signs: &[Sign::certain(is_thing_description), Sign::weak(is_like_thing)],
    search_terms: &[],
    import: None,
    export: None,
};
