//! SPARQL 1.1 queries over the statements of all descriptions (WoT Discovery, section 7.3.2.3).
//!
//! - **Data**: [`QuadStore`] has the statements of each Thing in a graph named by its id; the default graph is the
//!   union of all graphs. A Thing with a description of 3.6 KB takes 10 to 20 KB.
//! - **Language**: SELECT, ASK, CONSTRUCT, and DESCRIBE. Updates, FROM, and SERVICE are refused.
//! - **Cost** is limited before parsing (`guard`), after parsing (`algebra`), and during evaluation (`meter`): 5 s,
//!   the size of intermediate results, 100,000 results, and 16 MiB.

mod algebra;
mod dataset;
mod guard;
mod meter;
mod results;
mod segment;
mod store;
mod terms;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use spareval::QueryEvaluator;
use spargebra::SparqlParser;

use self::{dataset::View, meter::Exceeded};
pub use self::{
    results::{Format, Kind},
    store::{QuadStore, Snapshot},
};
use crate::{Error, Result};

/// Stack size of the thread that parses and evaluates a query. Unused stack takes no memory.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// A parsed SPARQL query.
#[derive(Debug, Clone)]
pub struct Query {
    text: String,
    kind: Kind,
}

impl Query {
    /// Parses a query.
    ///
    /// ```
    /// use agentdex::search::sparql::{Kind, Query};
    ///
    /// let query = Query::parse("SELECT ?thing { ?thing a <https://www.w3.org/2019/wot/td#Thing> }")?;
    /// assert_eq!(query.kind(), Kind::Solutions);
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] with the position of the mistake, [`Error::LimitExceeded`], [`Error::QueryTooCostly`].
    pub fn parse(text: &str) -> Result<Query> {
        guard::check(text)?;
        on_large_stack(|| {
            let query = parse(text)?;
            algebra::check(&query)?;
            let kind = match query {
                spargebra::Query::Select { .. } | spargebra::Query::Ask { .. } => Kind::Solutions,
                spargebra::Query::Construct { .. } | spargebra::Query::Describe { .. } => Kind::Statements,
            };
            Ok(Query { text: text.to_owned(), kind })
        })
    }

    /// Returns the kind of results that the query produces.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Evaluates the query, and serializes the results in a format that [`Format::all_for`] returns for its kind.
    /// Blocks for up to 5 s.
    ///
    /// # Errors
    /// [`Error::QueryTooCostly`] if the query exceeds a limit, [`Error::InvalidQuery`] for an unknown function or for a
    /// format of another kind.
    pub fn evaluate(&self, snapshot: &Snapshot, hidden_ids: &[String], format: Format) -> Result<Vec<u8>> {
        on_large_stack(|| {
            let query = parse(&self.text)?;
            meter::start();
            let evaluated = catch_unwind(AssertUnwindSafe(|| {
                let view = View::new(snapshot.clone(), hidden_ids);
                let evaluator = QueryEvaluator::new();
                let results = evaluator.prepare(&query).execute(view).map_err(results::evaluation_error)?;
                results::write(results, format)
            }));
            evaluated.unwrap_or_else(|thrown| match thrown.downcast::<Exceeded>() {
                Ok(exceeded) => Err(exceeded.into_error()),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }
}

fn parse(text: &str) -> Result<spargebra::Query> {
    SparqlParser::new()
        .parse_query(text)
        .map_err(|error| Error::InvalidQuery { message: format!("not valid SPARQL: {error}") })
}

/// Does something on a thread of its own, which can call itself often.
fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("agentdex-sparql".to_owned()).stack_size(STACK_BYTES);
        let started = thread.spawn_scoped(scope, work);
        let started =
            started.map_err(|source| Error::Io { doing: "starting a thread for SPARQL".to_owned(), source })?;
        started.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
