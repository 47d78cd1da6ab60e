//! Options of a conversion: the validation profile, and the creation of Things.

/// Validation profile of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Validation by the text of the specification.
    #[default]
    Spec,
    /// Validation by the rules of the SDK for Python (pyagentspec 26.3.1): every document accepted by the SDK is valid.
    Sdk,
}

/// Protocol of calls to an agent at the base URL of its deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// A POST request with the agent's inputs as JSON.
    #[default]
    Http,
    /// The A2A protocol, version 1.0, over JSON-RPC.
    A2a,
}

impl Protocol {
    /// All values.
    pub const ALL: [Protocol; 2] = [Protocol::Http, Protocol::A2a];

    /// Returns the name of the protocol in parameters and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::A2a => "a2a",
        }
    }
}

/// Security scheme of a Thing whose configuration names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// It is unknown whether a credential is needed.
    #[default]
    Auto,
    /// No credential is needed.
    Nosec,
    /// User name and password (RFC 7617).
    Basic,
    /// A bearer token (RFC 6750).
    Bearer,
    /// A key in the header `X-API-Key`.
    ApiKey,
}

impl Security {
    /// All values.
    pub const ALL: [Security; 5] =
        [Security::Auto, Security::Nosec, Security::Basic, Security::Bearer, Security::ApiKey];

    /// Returns the name of the scheme (TD 1.1, section 5.3.3), which is also used in parameters and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Security::Auto => "auto",
            Security::Nosec => "nosec",
            Security::Basic => "basic",
            Security::Bearer => "bearer",
            Security::ApiKey => "apikey",
        }
    }
}

/// Options for creating Things from a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Id of the document's Thing. By default, it is derived from the id of the component or, if there is none, from
    /// the content.
    pub id: Option<String>,
    /// Profile in which the configuration must be valid.
    pub profile: Profile,
    /// Address of the agent, such as `https://host/agents/weather`. The placeholders `{id}` and `{name}` are replaced;
    /// a document with several agents needs one of them.
    pub base: Option<String>,
    /// Protocol of calls to `base`.
    pub protocol: Protocol,
    /// Security scheme if the configuration names none.
    pub security: Security,
    /// Publisher of the configuration, part of Thing ids derived from component ids that are not UUIDs.
    pub publisher: String,
    /// True if nested agents become separate Things.
    pub nested: bool,
    /// True if nested tools that can be called become separate Things.
    pub tools: bool,
    /// True if prompts are stored, exported with the configuration, and searchable.
    pub publish_prompts: bool,
    /// True if Thing Models are created for agents without a known endpoint.
    pub thing_model: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            id: None,
            profile: Profile::default(),
            base: None,
            protocol: Protocol::default(),
            security: Security::default(),
            publisher: "local".to_owned(),
            nested: false,
            tools: false,
            publish_prompts: false,
            thing_model: false,
        }
    }
}
