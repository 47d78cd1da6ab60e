//! `Rule`: the reason why a value is hidden.

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
            Rule::Field => "a value that the format's specification declares a secret",
            Rule::Setting => "a header or an environment variable that may be a credential",
            Rule::Value => "a key, a token, or a password",
            Rule::UserInfo => "the user name and password in a URL",
            Rule::Parameter => "the value of a parameter whose name and form suggest a secret",
            Rule::Name => "a value whose name and form suggest a secret",
            Rule::Prompt => "a prompt",
        }
    }

    /// Returns the message of its warnings.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Rule::Field => "the value was hidden: the format's specification declares this field a secret",
            Rule::Setting => {
                "the value was hidden: headers and environment variables are treated as credentials unless their \
                 name and form show otherwise"
            }
            Rule::Value => "a credential in the text was hidden; revoke it, since it was transmitted",
            Rule::UserInfo => {
                "the user name and password in a URL were left out; change the password, since it was transmitted"
            }
            Rule::Parameter => "the value of a parameter in the text was hidden: its name and form suggest a secret",
            Rule::Name => "the value was hidden: its name and form suggest a secret",
            Rule::Prompt => {
                "the prompt is not stored, since it may be confidential; to store it, set the parameter \
                 `publish_prompts` (`--publish-prompts`)"
            }
        }
    }
}
