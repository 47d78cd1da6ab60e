//! Searches of each kind, and saved queries.

use agentdex_api::Answer;
use percent_encoding::utf8_percent_encode;
use reqwest::{Method, RequestBuilder, header};

use super::{PATH_SEGMENT, RegistryClient, Result, read, text};
use crate::api::{
    CompatibleQuery, CompatibleResult, ComposeQuery, ComposeResult, NamedQuery, QueryName, QueryParameters,
    access::AccessRequest,
};

impl RegistryClient {
    /// Searches for Things. `parameters` are those of `GET /search`, such as `q`, `mode`, `limit`, `offset`,
    /// filters (`tag`, `all_tag`, `not_tag`, `modified_from`…), `facets`, `sort_by`, `sort_order`, `fields`,
    /// `explain`, and `consistent`.
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
    pub async fn search(&self, parameters: &[(&str, &str)]) -> Result<Answer> {
        read(&self.search_json(parameters).await?, "a search answer")
    }

    /// Like [`RegistryClient::search`], but returns the unparsed answer, including members and values of newer
    /// registries.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn search_json(&self, parameters: &[(&str, &str)]) -> Result<String> {
        text(self.send(self.request(Method::GET, "search", parameters)).await?).await
    }

    /// Returns the results of a SPARQL query in the format `accept`: `application/sparql-results+json`, `text/csv`,
    /// `text/turtle`… With `consistent`, the query waits until all acknowledged writes are indexed.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), for example if SPARQL is disabled;
    /// [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn query_sparql(&self, query: &str, accept: &str, consistent: bool) -> Result<String> {
        let consistent = if consistent { "true" } else { "false" };
        let request = self.request(Method::POST, "search/sparql", &[("consistent", consistent)]);
        let request = request.header("content-type", "application/sparql-query").header("accept", accept);
        text(self.send(request.body(query.to_owned())).await?).await
    }

    /// Returns the values that a JSONPath selects from the list of all descriptions.
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
        read(&text(self.send(request).await?).await?, "a list of results of a JSONPath query")
    }

    /// Finds capabilities by the schemas of their inputs and outputs, using `POST /search/compatible`.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn search_compatible(&self, query: &CompatibleQuery) -> Result<CompatibleResult> {
        let request = self.request(Method::POST, "search/compatible", &[]).json(query);
        read(&text(self.send(request).await?).await?, "compatible capabilities")
    }

    /// Finds chains of capabilities, using `POST /search/compose`.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn compose(&self, query: &ComposeQuery) -> Result<ComposeResult> {
        let request = self.request(Method::POST, "search/compose", &[]).json(query);
        read(&text(self.send(request).await?).await?, "a list of chains of capabilities")
    }

    /// Saves a query, replacing the caller's query of the same name. With authentication, a new query is private.
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
    pub async fn save_query(&self, name: impl Into<QueryName>, query: &QueryParameters) -> Result<NamedQuery> {
        self.save_query_with(name, query, &AccessRequest::default()).await
    }

    /// Saves a query with the visibility and namespace of `access`, whose other members are ignored. An existing query
    /// keeps its owner.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_api::{
    ///     QueryParameters,
    ///     access::{AccessRequest, Visibility},
    /// };
    ///
    /// let query = QueryParameters { q: Some("tides".into()), ..QueryParameters::default() };
    /// let public = AccessRequest { visibility: Some(Visibility::Public), ..AccessRequest::default() };
    /// client.save_query_with("tides", &query, &public).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Same as [`RegistryClient::save_query`].
    pub async fn save_query_with(
        &self,
        name: impl Into<QueryName>,
        query: &QueryParameters,
        access: &AccessRequest,
    ) -> Result<NamedQuery> {
        read(&text(self.send(self.saving(&name.into(), query, access)).await?).await?, "a saved query")
    }

    /// Like [`RegistryClient::save_query_with`], but never replaces a query: the request is refused (412) if the caller
    /// already has a query of that name, even if both are saved at the same time.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_api::{QueryParameters, access::AccessRequest};
    ///
    /// let query = QueryParameters { q: Some("tides".into()), ..QueryParameters::default() };
    /// client.save_new_query("tides", &query, &AccessRequest::default()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Same as [`RegistryClient::save_query`]. If the query was saved before the connection failed, a retry is refused,
    /// too.
    pub async fn save_new_query(
        &self,
        name: impl Into<QueryName>,
        query: &QueryParameters,
        access: &AccessRequest,
    ) -> Result<NamedQuery> {
        let request = self.saving(&name.into(), query, access).header(header::IF_NONE_MATCH, "*");
        read(&text(self.send(request).await?).await?, "a saved query")
    }

    fn saving(&self, name: &QueryName, query: &QueryParameters, access: &AccessRequest) -> RequestBuilder {
        let mut parameters = owner_of(name);
        parameters.extend(access.visibility.map(|visibility| ("visibility", visibility.as_str())));
        let namespace = access.namespace.as_ref();
        parameters.extend(namespace.map(|name| ("namespace", name.as_ref().map_or("", |name| name.as_str()))));
        self.request(Method::PUT, &query_path(name), &parameters).json(query)
    }

    /// Returns the saved queries that the caller can see, ordered by name.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn saved_queries(&self) -> Result<Vec<NamedQuery>> {
        read(&text(self.send(self.request(Method::GET, "queries", &[])).await?).await?, "a list of saved queries")
    }

    /// Returns a saved query: the caller's own query of that name, or else the query without an owner. To read a query
    /// of another owner, name the owner with [`QueryName::of`].
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_api::QueryName;
    ///
    /// let theirs = client.saved_query(QueryName::new("tides").of("harbour-team".parse()?)).await?;
    /// println!("{:?}", theirs.query);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), for example if the caller can't see such a query;
    /// [`Error::Unreachable`](super::Error::Unreachable), [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn saved_query(&self, name: impl Into<QueryName>) -> Result<NamedQuery> {
        let name = name.into();
        let request = self.request(Method::GET, &query_path(&name), &owner_of(&name));
        read(&text(self.send(request).await?).await?, "a saved query")
    }

    /// Removes a saved query.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), for example if the query doesn't exist or belongs to another owner;
    /// [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn remove_query(&self, name: impl Into<QueryName>) -> Result<()> {
        let name = name.into();
        self.send(self.request(Method::DELETE, &query_path(&name), &owner_of(&name))).await.map(drop)
    }
}

pub(super) fn query_path(name: &QueryName) -> String {
    format!("queries/{}", utf8_percent_encode(&name.name, PATH_SEGMENT))
}

/// The parameter that says whose query is meant.
pub(super) fn owner_of(name: &QueryName) -> Vec<(&'static str, &str)> {
    let owner = name.owner.as_ref().map(|owner| ("owner", owner.as_ref().map_or("", |owner| owner.as_str())));
    owner.into_iter().collect()
}
