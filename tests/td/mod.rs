//! Thing Descriptions: reading, admission, ids, patches, and what is handed out.

mod admission;
mod merge_patch;
mod reading;
