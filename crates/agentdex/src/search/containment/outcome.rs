//! Outcomes of comparisons, and how they are combined.

/// Certainty that the values of a schema satisfy another schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::search) enum Certainty {
    /// All values do.
    Fits,
    /// The giver leaves a requirement of the taker open.
    Unstated,
    /// Some values don't, or have to be converted.
    MayFail,
    /// No value does.
    Cannot,
}

/// The answer for two schemas.
#[derive(Debug, Clone)]
pub(in crate::search) struct Verdict {
    pub certainty: Certainty,
    /// True if values are converted by the rules of Agent Spec.
    pub is_converted: bool,
    /// Doubts about possible failures, or the reason why the schemas are incompatible. Empty unless an explanation is
    /// requested.
    pub notes: Vec<Note>,
}

/// A doubt or a reason, and the part that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct Note {
    /// From the innermost part to the outermost.
    steps: Vec<Step>,
    /// Wording of the note as a reason, such as `string can't be cast to number`.
    pub reason: String,
    /// As a doubt, behind the name of the part: `may be a string`.
    doubt: String,
}

/// A step from a value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Member(Box<str>),
    Items,
    Item(usize),
    Others,
}

/// Maximum number of reported doubts.
const MAX_NOTES: usize = 4;

impl Note {
    pub(super) fn new(reason: String, doubt: String) -> Note {
        Note { steps: Vec::new(), reason, doubt }
    }

    /// Returns the tokens of a JSON Pointer to the part within the schema of the taker.
    pub fn pointer(&self) -> Vec<String> {
        let tokens = |step: &Step| match step {
            Step::Member(name) => vec!["properties".to_owned(), name.to_string()],
            Step::Items => vec!["items".to_owned()],
            Step::Item(index) => vec!["prefixItems".to_owned(), index.to_string()],
            Step::Others => vec!["additionalProperties".to_owned()],
        };
        self.steps.iter().rev().flat_map(tokens).collect()
    }

    /// Describes the doubt in a sentence. `name` is the name of the data, or empty.
    pub fn doubt(&self, name: &str) -> String {
        let mut part = name.to_owned();
        for step in self.steps.iter().rev() {
            match step {
                Step::Member(name) if part.is_empty() => part.push_str(name),
                Step::Member(name) => {
                    part.push('.');
                    part.push_str(name);
                }
                Step::Items => part.push_str("[]"),
                Step::Item(index) => part.push_str(&format!("[{index}]")),
                Step::Others => part.push_str(".*"),
            }
        }
        match part.is_empty() {
            true => format!("the data {}", self.doubt),
            false => format!("`{part}` {}", self.doubt),
        }
    }
}

/// A verdict in the making.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub certainty: Certainty,
    pub is_converted: bool,
    /// True if only values without the concerned part can satisfy the taker.
    pub is_loose: bool,
    pub notes: Vec<Note>,
}

impl Outcome {
    pub const FITS: Outcome =
        Outcome { certainty: Certainty::Fits, is_converted: false, is_loose: false, notes: Vec::new() };

    pub fn is_impossible(&self) -> bool {
        self.certainty == Certainty::Cannot
    }

    /// Extends the location of the notes by a step, for a part of the values.
    pub fn within(mut self, step: impl FnOnce() -> Step) -> Outcome {
        if !self.notes.is_empty() {
            let step = step();
            self.notes.iter_mut().for_each(|note| note.steps.push(step.clone()));
        }
        self
    }

    /// Combines with another requirement that must also hold.
    pub fn and(&mut self, other: Outcome) {
        match (self.is_impossible(), other.is_impossible()) {
            (true, true) if self.is_loose && !other.is_loose => *self = other,
            (true, _) => {}
            (false, true) => *self = other,
            (false, false) => {
                self.certainty = self.certainty.max(other.certainty);
                self.is_converted |= other.is_converted;
                self.notes.extend(other.notes);
                self.notes.truncate(MAX_NOTES);
            }
        }
    }

    /// Marks the concerned part as optional.
    pub fn loosened(mut self) -> Outcome {
        self.is_loose = true;
        self
    }

    /// Weakens an impossible outcome to a possible failure, since the outcome applies only to some of the values.
    pub fn weakened(mut self) -> Outcome {
        if self.is_impossible() {
            self.certainty = Certainty::MayFail;
            self.is_loose = false;
        }
        self
    }

    /// Combines the outcomes of alternatives, each of which applies to some of the values.
    pub fn of_alternatives(all: Vec<Outcome>) -> Outcome {
        let is_loose = all.iter().any(|one| one.is_loose);
        match all.iter().all(Outcome::is_impossible) {
            true => all.into_iter().next().map_or(Outcome::FITS, |one| Outcome { is_loose, ..one }),
            false => {
                let mut whole = Outcome::FITS;
                all.into_iter().for_each(|one| whole.and(one.weakened()));
                whole
            }
        }
    }

    pub fn verdict(self) -> Verdict {
        Verdict { certainty: self.certainty, is_converted: self.is_converted, notes: self.notes }
    }
}
