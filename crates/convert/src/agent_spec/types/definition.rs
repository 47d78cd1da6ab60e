//! How a component type is written down.

use super::{super::version::Version, field::Field};

/// A type as it is written down.
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// The type it extends; empty for the first.
    pub(super) parent: &'static str,
    pub(super) is_abstract: bool,
    pub(super) since: Version,
    /// What it is to those around it, if it isn't what its parent is.
    pub(super) role: Option<Role>,
    /// What goes in and out of it, if that isn't as with its parent.
    pub(super) io: Option<Io>,
    /// How it is left as a node, if that isn't as with its parent.
    pub(super) leaving: Option<Leaving>,
    /// How it says itself that it is called, if that isn't as with its parent.
    pub(super) call: Option<Call>,
    /// Its own fields, and those of its parents that it changes.
    pub(super) fields: &'static [Field],
}

/// What a component is to those around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Role {
    /// Nothing that anybody calls.
    None,
    /// An agent: it can do what it is made for, and what its tools do.
    Agent,
    Tool,
    ToolBox,
    /// A step of a flow that does something by itself.
    Step,
    /// A step of a flow that has something else done.
    Frame,
    /// What its tools do is done by the component around it.
    Part,
}

impl Role {
    /// True if it can be a Thing of its own.
    pub(in super::super) fn is_thing(self) -> bool {
        matches!(self, Role::Agent | Role::Tool | Role::ToolBox)
    }
}

/// What goes in and out of a component, beyond what it declares.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Io {
    /// Nothing.
    Declared,
    /// The placeholders in its texts go in; messages call these `of`.
    Template { of: &'static str, outputs: Outputs },
    /// One text, by which it chooses a branch.
    Choice,
    /// On one side what it declares on the other.
    Mirror,
    /// What the component in a field has, which messages call so.
    Part(&'static str, &'static str),
    /// What its subflow has, and the exception.
    Caught,
    /// Lists of what its subflow has.
    Mapped,
    /// What its subflows have.
    Parallel,
    /// What the agent and its specialization have.
    Specialized,
    /// The inputs of its start node, and the outputs that its end nodes have in common.
    Flow,
}

impl Io {
    /// What the inputs and outputs follow from, as messages call it.
    pub(in super::super) fn origin(self) -> &'static str {
        match self {
            Io::Declared | Io::Choice | Io::Mirror => "the component",
            Io::Template { of, .. } | Io::Part(_, of) => of,
            Io::Caught | Io::Mapped => "the subflow",
            Io::Parallel => "one of the subflows",
            Io::Specialized => "the agent with its specialization",
            Io::Flow => "the start node",
        }
    }
}

/// What comes out of a component whose inputs are placeholders.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Outputs {
    /// What it declares.
    Declared,
    Nothing,
    /// What a model generates, unless it declares any.
    Generated,
    /// The answer to a request, unless it declares what that is.
    Response,
    /// What a user wrote.
    Message,
}

/// By which branches a node is left.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Leaving {
    /// By one.
    Next,
    /// It ends the flow.
    Never,
    /// By those that the end nodes of its subflow close.
    Subflow,
    /// By those, and by one for an exception.
    SubflowOrException,
    /// By those that it maps values to.
    Mapping,
    /// By one, or by those that its agent may choose from.
    Agent,
}

/// How a component says itself that it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Call {
    /// Not at all.
    Unsaid,
    /// By the HTTP request that it describes.
    Request,
    /// By MCP, over its transport.
    Mcp,
    /// By A2A, at its URL.
    A2a,
}

/// A type that a component can have.
pub(super) const fn component(name: &'static str, parent: &'static str, fields: &'static [Field]) -> Definition {
    let since = Version::V25_4_1;
    Definition { name, parent, is_abstract: false, since, role: None, io: None, leaving: None, call: None, fields }
}

/// A family of types, which no component has itself.
pub(super) const fn family(name: &'static str, parent: &'static str, fields: &'static [Field]) -> Definition {
    Definition { is_abstract: true, ..component(name, parent, fields) }
}

impl Definition {
    pub(super) const fn since(mut self, version: Version) -> Definition {
        self.since = version;
        self
    }

    pub(super) const fn role(mut self, role: Role) -> Definition {
        self.role = Some(role);
        self
    }

    pub(super) const fn io(mut self, io: Io) -> Definition {
        self.io = Some(io);
        self
    }

    pub(super) const fn leaving(mut self, leaving: Leaving) -> Definition {
        self.leaving = Some(leaving);
        self
    }

    pub(super) const fn call(mut self, call: Call) -> Definition {
        self.call = Some(call);
        self
    }
}
