//! Thing Descriptions: reading, validation, admission, patches.

mod admission;
mod corpus;
mod flags;
mod json_ld;
mod merge_patch;
mod mutations;
mod reading;
mod schemas;
mod semantics;
mod vocabulary;
