//! Options of a conversion: the validation profile, and the making of Things.

/// Validation profile of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The text of the language.
    #[default]
    Spec,
    /// The checks of the language's SDK for Python (pyagentspec 26.3.1): everything that it accepts is
    /// valid.
    Sdk,
}

/// Protocol of calls to an agent at the base URL of its deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// A POST of its inputs as JSON.
    #[default]
    Http,
    /// The A2A protocol, version 1.0, over JSON-RPC.
    A2a,
}

impl Protocol {
    /// All values.
    pub const ALL: [Protocol; 2] = [Protocol::Http, Protocol::A2a];

    /// Its name in parameters and flags.
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

    /// The name of the scheme (TD 1.1, section 5.3.3), which is its name in parameters and flags, too.
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
    /// The id of the Thing of the document; by default, it is derived from the id of its component, or else from its
    /// content.
    pub id: Option<String>,
    /// Profile in which the configuration must be valid.
    pub profile: Profile,
    /// The address of the agent, such as `https://host/agents/weather`. `{id}` and `{name}` in it are
    /// replaced, which is required for several agents.
    pub base: Option<String>,
    /// Protocol of calls to `base`.
    pub protocol: Protocol,
    /// Security scheme if the configuration names none.
    pub security: Security,
    /// Publisher of the configuration: part of the Thing ids made from component ids that are not UUIDs.
    pub publisher: String,
    /// Nested agents become Things of their own.
    pub nested: bool,
    /// Nested tools that can be reached become Things of their own.
    pub tools: bool,
    /// Prompts are exported with the configuration, and are searched.
    pub publish_prompts: bool,
    /// Thing Models are created if no endpoint is known.
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
