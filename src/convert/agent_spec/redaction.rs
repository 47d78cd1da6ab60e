//! What may be kept of a document: secrets, and prompts unless they are published, become references
//! `{"$component_ref": "<id>.<field>"}` that whoever runs the configuration fills in.
//!
//! Secrets are the fields that the language or the classes of its SDK mark, whatever holds headers or
//! an environment, paths of keys and certificates, members whose names say so where no table knows them
//! (plugins, metadata, free-form values), credentials in URLs, and all that such a place refers to.

mod edit;
mod names;
mod scan;
mod urls;
mod walk;
mod yaml;

pub(super) use self::{
    names::{is_placeholders, is_secret_parameter},
    urls::{Credentials, is_secret_value, scrubbed, take_credentials},
    walk::Redaction,
    yaml::from_json as to_yaml,
};
