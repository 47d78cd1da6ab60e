//! A consumer: where agents are found and how they are called.

use std::sync::Arc;

use super::{
    Agent, Binding, Candidate, Description, Directory, Error, Middleware, Network, Result, Search, Settings, bindings,
    context::Context,
};
use crate::fetch;

/// The most agents that a search is asked for.
const MAX_CANDIDATES: usize = 10;

/// Finds agents and calls them. Cloning is cheap and shares connections and tokens.
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
    /// The consumer that an agent was found by.
    pub(super) fn of(agent: &Agent) -> Consumer {
        Consumer(agent.context().clone())
    }

    /// A consumer that calls agents on the public internet alone.
    ///
    /// # Errors
    /// [`Error::Setting`] where TLS can't be set up.
    pub fn new(directory: impl Directory + 'static) -> Result<Consumer> {
        Consumer::with_options(directory, fetch::Options::default())
    }

    /// A consumer that connects by these options: what is allowed beside the public internet, certificates, a proxy,
    /// how long connecting may take.
    ///
    /// # Errors
    /// [`Error::Setting`] for options that can't be used.
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

    /// With settings for all agents, merged onto those it has.
    pub fn with_settings(mut self, settings: Settings) -> Consumer {
        let inner = Arc::make_mut(&mut self.0);
        inner.settings = Arc::new(inner.settings.update(settings));
        self
    }

    /// With a further binding.
    pub fn with_binding(mut self, binding: impl Binding + 'static) -> Consumer {
        Arc::make_mut(&mut self.0).bindings.push(Arc::new(binding));
        self
    }

    /// With something around each call, within what it has already.
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Consumer {
        Arc::make_mut(&mut self.0).middleware.push(Arc::new(middleware));
        self
    }

    /// Ends what the bindings keep open between calls: calls that wait for the answer of a user are cancelled at their agents.
    /// To be called before the process ends.
    pub async fn close(&self) {
        for binding in &self.0.bindings {
            if let Err(error) = binding.close().await {
                tracing::debug!(binding = binding.name(), %error, "closing a binding failed");
            }
        }
    }

    /// The best match for a query that can be called.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Directory`]; where all that match can't be called, the reason of the best.
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

    /// The matches for a query, the best first, whether they can be called or not.
    ///
    /// # Errors
    /// [`Error::Directory`]
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

    /// The agents that a search of the directory finds.
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

    /// The agent with this id.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Directory`], [`Error::InvalidDescription`].
    pub async fn agent(&self, id: &str) -> Result<Agent> {
        let text = self.0.directory.description(id).await?;
        let text = text.ok_or_else(|| Error::NotFound { query: id.to_owned() })?;
        self.agent_of(&text)
    }

    /// The agent that a Thing Description describes.
    ///
    /// # Errors
    /// [`Error::InvalidDescription`]
    pub fn agent_of(&self, description: &str) -> Result<Agent> {
        Ok(Agent::new(self.0.clone(), Description::parse(description)?))
    }
}
