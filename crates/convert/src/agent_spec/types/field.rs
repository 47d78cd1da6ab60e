//! `Field`: a field of a component type, and the kind of its values.

use super::super::{Profile, version::Version};

/// A field of a component, or of a [`Record`] within one.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Field {
    /// Its name.
    pub(in super::super) name: &'static str,
    /// Another name that the text of the language uses for it; read, never written.
    alias: Option<&'static str>,
    kind: Kind,
    /// Kind of values that the SDK takes, where it differs.
    sdk_kind: Option<Kind>,
    required: Required,
    /// Profiles in which `null` may stand for the value.
    pub(in super::super) null: Null,
    /// Confidentiality of the value.
    pub(in super::super) secrecy: Secrecy,
    /// True if `{{x}}` in it makes an input of the component.
    pub(in super::super) has_placeholders: bool,
    /// Newer versions than the component's that the field needs, each with the values that need it.
    pub(in super::super) since: &'static [(Version, Trigger)],
    /// The profile that alone knows the field.
    only: Option<Profile>,
}

/// The values that a field takes.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Kind {
    /// Any JSON.
    Any,
    /// A string.
    Text,
    /// A string that isn't empty.
    FullText,
    /// A boolean.
    Flag,
    /// An integer within bounds; the SDK compares it before it converts it, so that text won't do.
    ComparedInteger(Bound),
    /// An integer within bounds.
    Integer(Bound),
    /// A number within bounds.
    Number(Bound),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// One of these strings; booleans are an old way of saying so.
    ChoiceOrFlag(&'static [&'static str]),
    /// A version of the language that is known.
    KnownVersion,
    /// A list of strings.
    Texts,
    /// A string or a list of strings.
    TextOrTexts,
    /// A string or an object.
    TextOrObject,
    /// An object.
    Object,
    /// An object of strings.
    TextMap,
    /// An object of lists of strings.
    TextsMap,
    /// An object whose values are among the first strings; with spellings that only the text has, the second.
    ChoiceMap(&'static [&'static str], &'static [&'static str]),
    /// A JSON Schema with a title.
    Schema,
    /// A list of properties.
    Properties,
    /// An object of entities.
    Entities,
    /// An object with fields of its own that is no component.
    Record(&'static Record),
    /// A component of a family.
    Part(&'static str),
    /// A list of components of a family.
    Parts(&'static str),
    /// A list of pairs of components of a family.
    Pairs(&'static str),
    /// A list of components of a family and of strings.
    PartsOrTexts(&'static str),
}

impl Kind {
    /// The family of the components in such a field.
    #[cfg(test)]
    pub(super) fn family(self) -> Option<&'static str> {
        match self {
            Kind::Part(family) | Kind::Parts(family) | Kind::Pairs(family) | Kind::PartsOrTexts(family) => Some(family),
            _ => None,
        }
    }
}

/// The smallest number that is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Bound {
    /// Any.
    None,
    /// Zero or more.
    NotNegative,
    /// More than zero.
    Positive,
}

/// An object with fields that is no component: it has no id, and nothing refers to it.
#[derive(Debug)]
pub(in super::super) struct Record {
    /// Its name in messages.
    pub(in super::super) name: &'static str,
    pub(in super::super) fields: &'static [Field],
    /// Further members are meant to be there.
    pub(in super::super) is_open: bool,
    /// Two numbers and their defaults, the first of which can't be above the second.
    pub(in super::super) in_order: Option<[(&'static str, f64); 2]>,
}

/// The profiles in which `null` may stand for a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Null {
    Refused,
    Taken,
    /// The text of the language takes it, its SDK doesn't.
    TakenBySpec,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Required {
    No,
    Yes,
    /// The text of the language demands it, its SDK doesn't.
    BySpec,
}

/// The confidentiality of a value, by which it may be exported or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Secrecy {
    /// Nothing speaks against exporting it.
    Public,
    /// The language lists it as sensitive, or the classes of its SDK mark it, or it is a credential by its
    /// meaning: never exported.
    Secret,
    /// An address, which may carry credentials.
    Address,
    /// Parts of it may be secrets: headers, parameters, environments.
    MayHoldSecrets,
    /// Instructions of an agent: exported only if its publisher wants that.
    Prompt,
}

/// A condition on a value under which it needs a newer version.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Trigger {
    /// It is there and not `null`.
    Present,
    /// It is neither false, zero, empty nor `null`.
    Truthy,
    /// It is false.
    False,
    /// It is another text than this one.
    OtherThan(&'static str),
    /// It is this text.
    Is(&'static str),
    /// It isn't an object.
    NoObject,
}

impl Field {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Field {
        Field {
            name,
            alias: None,
            kind,
            sdk_kind: None,
            required: Required::No,
            null: Null::Refused,
            secrecy: Secrecy::Public,
            has_placeholders: false,
            since: &[],
            only: None,
        }
    }

    /// The kind of values that a profile takes.
    pub(in super::super) fn kind(&self, profile: Profile) -> Kind {
        match (profile, self.sdk_kind) {
            (Profile::Sdk, Some(kind)) => kind,
            _ => self.kind,
        }
    }

    /// True if a component without it is refused.
    pub(in super::super) fn is_required(&self, profile: Profile) -> bool {
        match self.required {
            Required::No => false,
            Required::Yes => self.is_known(profile),
            Required::BySpec => profile == Profile::Spec,
        }
    }

    /// True if a profile takes `null` for a value.
    pub(in super::super) fn takes_null(&self, profile: Profile) -> bool {
        match self.null {
            Null::Refused => false,
            Null::Taken => true,
            Null::TakenBySpec => profile == Profile::Spec,
        }
    }

    /// True if a profile knows the field at all.
    pub(in super::super) fn is_known(&self, profile: Profile) -> bool {
        self.only.is_none_or(|only| only == profile)
    }

    /// Its names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.alias)
    }

    /// Another name that it is read by.
    pub(in super::super) fn alias(&self) -> Option<&'static str> {
        self.alias
    }

    pub(super) const fn alias_of_text(mut self, alias: &'static str) -> Field {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn in_sdk(mut self, kind: Kind) -> Field {
        self.sdk_kind = Some(kind);
        self
    }

    pub(super) const fn required(mut self) -> Field {
        self.required = Required::Yes;
        self
    }

    pub(super) const fn required_by_spec(mut self) -> Field {
        self.required = Required::BySpec;
        self
    }

    pub(super) const fn or_null(mut self) -> Field {
        self.null = Null::Taken;
        self
    }

    pub(super) const fn or_null_by_spec(mut self) -> Field {
        self.null = Null::TakenBySpec;
        self
    }

    pub(super) const fn secret(mut self) -> Field {
        self.secrecy = Secrecy::Secret;
        self
    }

    pub(super) const fn address(mut self) -> Field {
        self.secrecy = Secrecy::Address;
        self
    }

    pub(super) const fn may_hold_secrets(mut self) -> Field {
        self.secrecy = Secrecy::MayHoldSecrets;
        self
    }

    pub(super) const fn prompt(mut self) -> Field {
        self.secrecy = Secrecy::Prompt;
        self
    }

    pub(super) const fn placeholders(mut self) -> Field {
        self.has_placeholders = true;
        self
    }

    pub(super) const fn since(mut self, since: &'static [(Version, Trigger)]) -> Field {
        self.since = since;
        self
    }

    pub(super) const fn only(mut self, profile: Profile) -> Field {
        self.only = Some(profile);
        self
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident $(($argument:ident: $type:ty))? => $kind:expr;)*) => {
        $(
            $(#[$doc])*
            pub(super) const fn $name(name: &'static str $(, $argument: $type)?) -> Field {
                Field::new(name, $kind)
            }
        )*
    };
}

constructors! {
    any => Kind::Any;
    text => Kind::Text;
    full_text => Kind::FullText;
    flag => Kind::Flag;
    integer(bound: Bound) => Kind::Integer(bound);
    number(bound: Bound) => Kind::Number(bound);
    choice(choices: &'static [&'static str]) => Kind::Choice(choices);
    texts => Kind::Texts;
    object => Kind::Object;
    text_map => Kind::TextMap;
    properties => Kind::Properties;
    entities => Kind::Entities;
    record(record: &'static Record) => Kind::Record(record);
    part(family: &'static str) => Kind::Part(family);
    parts(family: &'static str) => Kind::Parts(family);
}
