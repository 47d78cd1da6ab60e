//! Entries of the table of component types.

use super::{super::version::Version, field::Field};

/// A type as it is written down.
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// The type it extends; empty for the first.
    pub(super) parent: &'static str,
    pub(super) is_abstract: bool,
    pub(super) since: Version,
    /// Role for the components around it; none if that of its parent applies.
    pub(super) role: Option<Role>,
    /// Origin of its inputs and outputs; none if that of its parent applies.
    pub(super) io: Option<Io>,
    /// Branches by which it is left as a node; none if those of its parent apply.
    pub(super) leaving: Option<Leaving>,
    /// Kind of call that it specifies itself; none if that of its parent applies.
    pub(super) call: Option<Call>,
    /// Its own fields, and those of its parents that it changes.
    pub(super) fields: &'static [Field],
}

/// The role of a component for those around it.
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
    /// A part whose tools count as those of the component around it.
    Part,
}

impl Role {
    /// True if it can be a Thing of its own.
    pub(in super::super) fn is_thing(self) -> bool {
        matches!(self, Role::Agent | Role::Tool | Role::ToolBox)
    }
}

/// The origin of the inputs and outputs that a component has beyond those it declares.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Io {
    /// Nothing.
    Declared,
    /// The placeholders in its texts, which are its inputs; messages call these texts `of`.
    Template { of: &'static str, outputs: Outputs },
    /// One text as input, by which it chooses a branch.
    Choice,
    /// The other side: it has the same on both.
    Mirror,
    /// The component in a field, with the name that messages have for it.
    Part(&'static str, &'static str),
    /// Its subflow, and the exception.
    Caught,
    /// Its subflow, which runs for each element of lists.
    Mapped,
    /// Its subflows.
    Parallel,
    /// The agent and its specialization.
    Specialized,
    /// The inputs of its start node, and the outputs that its end nodes have in common.
    Flow,
}

impl Io {
    /// Returns the origin of the inputs and outputs, as messages call it.
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

/// The outputs of a component whose inputs are placeholders.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Outputs {
    /// Those that it declares.
    Declared,
    Nothing,
    /// The text that a model generates, unless it declares any outputs.
    Generated,
    /// The answer to a request, unless it declares what that is.
    Response,
    /// The text that a user wrote.
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

/// The kind of call that a component itself specifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Call {
    /// None.
    Unsaid,
    /// The HTTP request that it describes.
    Request,
    /// MCP, over its transport.
    Mcp,
    /// A2A, at its URL.
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
