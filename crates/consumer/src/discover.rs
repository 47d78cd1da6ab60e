//! The entry point of the crate: finds agents in a directory and prepares calls.

use std::sync::Arc;

use super::{
    Agent, Binding, Candidate, Description, Directory, Error, Middleware, Network, Result, Search, Settings, bindings,
    context::Context,
};
use crate::fetch;

/// Maximum number of agents requested in a search.
const MAX_CANDIDATES: usize = 10;

/// Client for finding and calling agents. Cloning is cheap and shares connections and tokens.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use agentdex_client::RegistryClient;
/// use agentdex_consumer::{Consumer, Logging, Settings};
/// use agentdex_fetch::{AllowList, Options};
///
/// let registry = RegistryClient::new("http://127.0.0.1:8080")?;
/// let allowed = AllowList::parse(["127.0.0.1:9000"])?;
/// let consumer = Consumer::with_options(registry, Options::default().allowed(allowed))?
///     .with_middleware(Logging)
///     .with_settings(Settings::new().header("X-Team", "weather"));
/// let agent = consumer.agent("urn:example:weather").await?;
/// println!("{}", agent.ask("Will it rain in Bonn?").await?.message());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Consumer(Arc<Context>);

impl Consumer {
    /// Returns the consumer of an agent.
    pub(super) fn of(agent: &Agent) -> Consumer {
        Consumer(agent.context().clone())
    }

    /// Creates a consumer for agents on the public internet only.
    ///
    /// # Errors
    /// [`Error::Setting`] if TLS can't be set up.
    pub fn new(directory: impl Directory + 'static) -> Result<Consumer> {
        Consumer::with_options(directory, fetch::Options::default())
    }

    /// Creates a consumer with connection options: hosts allowed in addition to the public internet, certificates, a
    /// proxy, and a connection timeout.
    ///
    /// # Errors
    /// [`Error::Setting`] if an option is invalid.
    pub fn with_options(directory: impl Directory + 'static, options: fetch::Options) -> Result<Consumer> {
        Ok(Consumer(Arc::new(Context {
            directory: Arc::new(directory),
            network: Network::new(options)?,
            bindings: bindings::all(),
            middleware: Vec::new(),
            settings: Arc::default(),
            authorizer: Arc::default(),
        })))
    }

    /// Adds settings for all agents. They take precedence over earlier settings.
    pub fn with_settings(mut self, settings: Settings) -> Consumer {
        let inner = Arc::make_mut(&mut self.0);
        inner.settings = Arc::new(inner.settings.update(settings));
        self
    }

    /// Adds a binding to the built-in bindings. If several bindings fit a form with the same
    /// [`Fit::rank`](super::Fit::rank), the binding added last is used.
    pub fn with_binding(mut self, binding: impl Binding + 'static) -> Consumer {
        Arc::make_mut(&mut self.0).bindings.push(Arc::new(binding));
        self
    }

    /// Adds a middleware around each call. Middleware added earlier is outermost.
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Consumer {
        Arc::make_mut(&mut self.0).middleware.push(Arc::new(middleware));
        self
    }

    /// Closes connections kept between calls, and cancels calls in which an agent is waiting for an answer of the user.
    /// Call this before the process exits.
    pub async fn close(&self) {
        for binding in &self.0.bindings {
            if let Err(error) = binding.close().await {
                tracing::debug!(binding = binding.name(), %error, "closing a binding failed");
            }
        }
    }

    /// Returns the best match for a query among the agents that can be called. Only the 10 best matches are considered.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Directory`]. If none of the matches can be called, the error of the best match.
    pub async fn find(&self, query: &str) -> Result<Agent> {
        let mut first_error = None;
        for agent in self.find_all(query).await? {
            match agent.check() {
                Ok(()) => return Ok(agent),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| Error::NotFound { query: query.to_owned() }))
    }

    /// Returns up to 10 matches for a query, best match first, including agents that can't be called.
    ///
    /// # Errors
    /// [`Error::Directory`] if the directory can't be queried.
    pub async fn find_all(&self, query: &str) -> Result<Vec<Agent>> {
        let search = Search { query: Some(query.to_owned()), capability: None, limit: MAX_CANDIDATES };
        let mut agents = Vec::new();
        for candidate in self.0.directory.search(&search).await? {
            if let Some(agent) = self.of_candidate(candidate, &format!("it matches {query:?}")).await? {
                agents.push(agent);
            }
        }
        Ok(agents)
    }

    /// Searches the directory.
    pub(super) async fn search(&self, search: &Search) -> Result<Vec<Candidate>> {
        self.0.directory.search(search).await
    }

    pub(super) async fn of_candidate(&self, candidate: Candidate, why: &str) -> Result<Option<Agent>> {
        // Removed since the search, or not readable: one of several.
        let Some(text) = self.0.directory.description(&candidate.id).await? else { return Ok(None) };
        let Ok(description) = Description::parse(&text) else { return Ok(None) };
        let why = format!("{why} with a score of {:.2}", candidate.score);
        let agent = Agent::new(self.0.clone(), description).found(candidate.capabilities, why);
        Ok(Some(agent.ranked(candidate.score, candidate.is_doubtful)))
    }

    /// Returns the agent with the given id.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Directory`], [`Error::InvalidDescription`].
    pub async fn agent(&self, id: &str) -> Result<Agent> {
        let text = self.0.directory.description(id).await?;
        let text = text.ok_or_else(|| Error::NotFound { query: id.to_owned() })?;
        self.agent_of(&text)
    }

    /// Creates an agent from a Thing Description, without a lookup in the directory.
    ///
    /// # Errors
    /// [`Error::InvalidDescription`] if the text is not JSON or has no `id`.
    pub fn agent_of(&self, description: &str) -> Result<Agent> {
        Ok(Agent::new(self.0.clone(), Description::parse(description)?))
    }
}
