//! Data schemas (TD 1.1, section 5.3.2).

use serde_json::value::RawValue;

use super::{Named, Number, OneOrMany};

names! {
    /// What kind of data a schema describes.
    pub enum DataType {
        /// An object.
        Object = "object",
        /// An array.
        Array = "array",
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
        /// `true` or `false`.
        Boolean = "boolean",
        /// `null`.
        Null = "null",
    }
}

object! {
    /// Describes data. All members of the kinds of schemas are here; `data_type` says which apply.
    pub struct DataSchema {
        /// Semantic tags.
        types: OneOrMany<String> = "@type",
        /// A title in the default language.
        title: Option<String> = "title",
        /// The title by language.
        titles: Named<String> = "titles",
        /// A description in the default language.
        description: Option<String> = "description",
        /// The description by language.
        descriptions: Named<String> = "descriptions",
        /// What kind of data it is.
        data_type: Option<DataType> = "type",
        /// The only value.
        constant: Option<Box<RawValue>> = "const",
        /// The value where none is given.
        default: Option<Box<RawValue>> = "default",
        /// The unit, such as `K`.
        unit: Option<String> = "unit",
        /// Schemas of which exactly one applies.
        one_of: Vec<DataSchema> = "oneOf",
        /// The allowed values.
        values: Vec<Box<RawValue>> = "enum",
        /// Whether the data can't be written.
        read_only: Option<bool> = "readOnly",
        /// Whether the data can't be read.
        write_only: Option<bool> = "writeOnly",
        /// A format, such as `date-time`.
        format: Option<String> = "format",
        /// The smallest number.
        minimum: Option<Number> = "minimum",
        /// A number that all values exceed.
        exclusive_minimum: Option<Number> = "exclusiveMinimum",
        /// The largest number.
        maximum: Option<Number> = "maximum",
        /// A number that all values stay below.
        exclusive_maximum: Option<Number> = "exclusiveMaximum",
        /// A number that all values are multiples of.
        multiple_of: Option<Number> = "multipleOf",
        /// The least number of characters.
        min_length: Option<Number> = "minLength",
        /// The largest number of characters.
        max_length: Option<Number> = "maxLength",
        /// A regular expression that strings match.
        pattern: Option<String> = "pattern",
        /// How a string encodes binary data, such as `base64`.
        content_encoding: Option<String> = "contentEncoding",
        /// The media type of a string's content.
        content_media_type: Option<String> = "contentMediaType",
        /// The elements of an array.
        items: Option<OneOrMany<Box<DataSchema>>> = "items",
        /// The least number of elements.
        min_items: Option<Number> = "minItems",
        /// The largest number of elements.
        max_items: Option<Number> = "maxItems",
        /// The members of an object.
        properties: Named<DataSchema> = "properties",
        /// The members that an object must have.
        required: Vec<String> = "required",
    }
}
