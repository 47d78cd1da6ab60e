//! What is found: searches of each kind, and saved queries.

use percent_encoding::utf8_percent_encode;
use reqwest::Method;
use serde::Deserialize;

use super::{PATH_SEGMENT, RegistryClient, Result, read, text};
use crate::api::{CompatibleQuery, ComposeQuery, NamedQuery, QueryParameters};

/// The answer to a search.
#[derive(Debug, Clone, Deserialize)]
pub struct SearchAnswer {
    /// How many Things match.
    pub total: u64,
    /// The page.
    pub hits: Vec<SearchHit>,
    /// Words that were perhaps meant.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// What in the query is perhaps not what was meant.
    #[serde(default)]
    pub hints: Vec<String>,
    /// Whether the hits only match words that are spelled alike.
    #[serde(default)]
    pub fuzzy: bool,
    /// `low` where the hits are perhaps not what was asked for.
    #[serde(default)]
    pub confidence: Option<String>,
    /// The answer as it came, facets and links included.
    #[serde(skip)]
    pub text: String,
}

/// A Thing that matches.
#[derive(Debug, Clone, Deserialize)]
pub struct SearchHit {
    /// Its id.
    pub id: String,
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// Its description.
    #[serde(default)]
    pub description: Option<String>,
    /// What hits are ranked by.
    pub score: f32,
    /// How well the words match: raw BM25.
    #[serde(default)]
    pub bm25: f32,
    /// How alike the meaning is: a cosine, where meaning counts.
    #[serde(default)]
    pub cosine: Option<f32>,
    /// What it can do, the best match first.
    #[serde(default)]
    pub capabilities: Vec<MatchingCapability>,
    /// How many capabilities it has that aren't listed.
    #[serde(default)]
    pub more_capabilities: usize,
    /// What in its description may be there to deceive.
    #[serde(default)]
    pub flags: Vec<FoundFlag>,
}

/// Something in a description that may be there to deceive.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct FoundFlag {
    /// Why: `bidi-control`, `control-character`, `invisible-character`, `instructions` or `confusable-name`.
    pub kind: String,
    /// The JSON Pointer of the text.
    pub pointer: String,
    /// What was found there: the code points, the words, or the id of the other agent.
    pub found: String,
}

/// A capability of a [`SearchHit`].
#[derive(Debug, Clone, Deserialize)]
pub struct MatchingCapability {
    /// Its name.
    pub name: String,
    /// Its text as HTML, matches in `<b>`.
    #[serde(default)]
    pub snippet: String,
}

impl RegistryClient {
    /// Searches. `parameters` are those of `GET /search`: `q`, `limit`, `offset`, filters, `facets`.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// let answer = client.search(&[("q", "tides"), ("facets", "protocol"), ("consistent", "true")]).await?;
    /// for hit in &answer.hits {
    ///     println!("{:.2} {}", hit.score, hit.id);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn search(&self, parameters: &[(&str, &str)]) -> Result<SearchAnswer> {
        let text = text(self.send(self.request(Method::GET, "search", parameters)).await?).await?;
        let answer: SearchAnswer = read(&text, "a search answer")?;
        Ok(SearchAnswer { text, ..answer })
    }

    /// The results of a SPARQL query, in a format that the registry has for it: `application/sparql-results+json`,
    /// `text/csv`, `text/turtle`…
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused) also where SPARQL is not switched on, and those of every request.
    pub async fn query_sparql(&self, query: &str, accept: &str, consistent: bool) -> Result<String> {
        let consistent = if consistent { "true" } else { "false" };
        let request = self.request(Method::POST, "search/sparql", &[("consistent", consistent)]);
        let request = request.header("content-type", "application/sparql-query").header("accept", accept);
        text(self.send(request.body(query.to_owned())).await?).await
    }

    /// What a JSONPath finds in the list of all descriptions.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// for title in client.search_by_path("$[?@.security=='nosec_sc'].title").await? {
    ///     println!("anybody may call {title}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn search_by_path(&self, path: &str) -> Result<Vec<Box<serde_json::value::RawValue>>> {
        let request = self.request(Method::GET, "search/jsonpath", &[("query", path)]);
        read(&text(self.send(request).await?).await?, "what a JSONPath finds")
    }

    /// Finds capabilities by the data that goes in and comes out: the answer of `POST /search/compatible`.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn search_compatible(&self, query: &CompatibleQuery) -> Result<serde_json::Value> {
        let request = self.request(Method::POST, "search/compatible", &[]).json(query);
        read(&text(self.send(request).await?).await?, "compatible capabilities")
    }

    /// Finds chains of capabilities: the answer of `POST /search/compose`.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn compose(&self, query: &ComposeQuery) -> Result<serde_json::Value> {
        let request = self.request(Method::POST, "search/compose", &[]).json(query);
        read(&text(self.send(request).await?).await?, "chains of capabilities")
    }

    /// Saves a query under a name, in place of the one that had it.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_api::QueryParameters;
    ///
    /// let query = QueryParameters { q: Some("tides".into()), ..QueryParameters::default() };
    /// client.save_query("tides", &query).await?;
    /// println!("{:?}", client.saved_query("tides").await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn save_query(&self, name: &str, query: &QueryParameters) -> Result<NamedQuery> {
        let request = self.request(Method::PUT, &query_path(name), &[]).json(query);
        read(&text(self.send(request).await?).await?, "a saved query")
    }

    /// The saved queries, by name.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn saved_queries(&self) -> Result<Vec<NamedQuery>> {
        read(&text(self.send(self.request(Method::GET, "queries", &[])).await?).await?, "the saved queries")
    }

    /// A saved query.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused) also where there is none,
    /// [`Error::Unreachable`](super::Error::Unreachable), [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn saved_query(&self, name: &str) -> Result<NamedQuery> {
        read(&text(self.send(self.request(Method::GET, &query_path(name), &[])).await?).await?, "a saved query")
    }

    /// Removes a saved query.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused) where there is none,
    /// [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn remove_query(&self, name: &str) -> Result<()> {
        self.send(self.request(Method::DELETE, &query_path(name), &[])).await.map(drop)
    }
}

pub(super) fn query_path(name: &str) -> String {
    format!("queries/{}", utf8_percent_encode(name, PATH_SEGMENT))
}
