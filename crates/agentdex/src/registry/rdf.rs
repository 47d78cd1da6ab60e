//! Reading descriptions as RDF. Replaced by `no_rdf.rs` in builds without the feature `sparql`.

use super::followers::{
    Followers,
    quads::{QuadFollower, Quads, Sparql},
};
use crate::{Result, store::Store, td::json_ld::Expander};

/// Components of a registry for reading descriptions as RDF, and for SPARQL queries.
pub(super) struct Rdf {
    pub expander: Expander,
    pub sparql: Option<Sparql>,
}

impl Rdf {
    /// Starts the follower for statements, if SPARQL queries are enabled.
    pub fn open(answers_sparql: bool, followers: &mut Followers, store: &Store) -> Result<Rdf> {
        let start = || -> Result<Sparql> {
            let quads = Quads::new(store.clone());
            let following = followers.start(QuadFollower::new(store.clone(), quads.clone()), store)?;
            Ok(Sparql { quads, following, running: Default::default() })
        };
        Ok(Rdf { expander: Expander::new(), sparql: answers_sparql.then(start).transpose()? })
    }
}
