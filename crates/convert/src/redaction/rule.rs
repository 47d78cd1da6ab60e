//! Why something is hidden.

/// Why something was hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Field,
    Setting,
    Value,
    UserInfo,
    Parameter,
    Name,
    Prompt,
}

impl Rule {
    /// Its name in warnings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rule::Field | Rule::Setting => "secret-field",
            Rule::Value => "secret-value",
            Rule::UserInfo => "user-info",
            Rule::Parameter => "secret-parameter",
            Rule::Name => "secret-name",
            Rule::Prompt => "hidden-prompt",
        }
    }

    /// Noun phrase for what the rule finds.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Rule::Field => "a secret by the format's specification",
            Rule::Setting => "a header or an environment variable that may be a credential",
            Rule::Value => "a key, a token, or a password",
            Rule::UserInfo => "the user and password in a URL",
            Rule::Parameter => "the value of a parameter that by its name and its looks is a secret",
            Rule::Name => "a value that by its name and its looks is a secret",
            Rule::Prompt => "a prompt",
        }
    }

    /// Returns the message of its warnings.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Rule::Field => "the value was hidden: the format's specification says that this field is a secret",
            Rule::Setting => {
                "the value was hidden: a header or an environment variable is taken for a credential unless its name and its \
                 looks say otherwise"
            }
            Rule::Value => "a credential in the text was hidden; it should be replaced, since it was sent",
            Rule::UserInfo => {
                "the user and password in a URL were left out; they should be replaced, since they were sent"
            }
            Rule::Parameter => {
                "the value of a parameter in the text was hidden: by its name and its looks it is a secret"
            }
            Rule::Name => "the value was hidden: by its name and its looks it is a secret",
            Rule::Prompt => {
                "the prompt is not stored, since it may be confidential; the parameter `publish_prompts` (`--publish-prompts`) \
                 stores it"
            }
        }
    }
}
