//! The REST API, one module a resource.

mod about;
mod access;
mod agent_cards;
mod batch;
mod capability_files;
mod changes;
mod compatible;
mod compose;
mod composed_corpus;
mod conversation;
mod convert;
mod corpus;
mod events;
mod flags;
mod hostile;
mod import;
mod imports;
mod jsonpath;
mod list;
mod mcp_servers;
mod namespaces;
mod node_wot;
mod parts;
mod problems;
mod queries;
mod rdf;
mod records;
mod sacp;
mod search;
mod server;

mod signed_cards;
mod sparql;
mod thing;
mod validate;
mod visibility;
