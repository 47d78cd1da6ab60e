//! Conversion of a card's security schemes and requirements to another generation.
//!
//! For version 1.0, each OAuth 2.0 flow of a scheme becomes a separate scheme, and the requirements list them as
//! alternatives. For version 0.3, schemes that it doesn't define are omitted, as are the alternatives that require
//! them. If no alternative would remain, all are kept, since the card would otherwise require no security.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Generation, MOST_ALTERNATIVES,
    requirements::{self, Alternative},
    schemes::Scheme,
};
use crate::{mcp_server::authentication_requirement, shape::Findings, td::internal::Path};

type Object = Map<String, Value>;

/// The most names that all requirements of a card and its skills are expanded to.
const MOST_NAMES: usize = 50_000;

/// Writes the schemes and all requirements of a card, which is normalized.
pub(super) fn write(card: &mut Object, target: Generation, findings: &mut Findings) {
    let mut rendering = Rendering { target, parts: HashMap::new(), names: 0, findings };
    if let Some(Value::Object(schemes)) = card.remove("securitySchemes") {
        card.insert("securitySchemes".into(), rendering.schemes(schemes).into());
    }
    let root = Path::ROOT;
    rendering.requirements(card, &root);
    if target == Generation::V1
        && let Some((member, true)) = authentication_requirement(card)
        && !card.contains_key("securityRequirements")
    {
        let message = || {
            "version 1.0 of A2A doesn't define this member, so clients can't tell which credentials they need".into()
        };
        rendering.findings.add(&root.member(member), "security-open", message);
    }
    let Some(Value::Array(skills)) = card.get_mut("skills") else { return };
    let list = root.member("skills");
    for (index, skill) in skills.iter_mut().enumerate() {
        if let Value::Object(skill) = skill {
            rendering.requirements(skill, &list.index(index));
        }
    }
}

struct Rendering<'f> {
    target: Generation,
    /// Names of the schemes that replace a scheme, by its name: several if it was split by flow, none if readers of 0.3
    /// know none of its flows.
    parts: HashMap<String, Vec<String>>,
    /// Number of names that requirements were expanded to so far.
    names: usize,
    findings: &'f mut Findings,
}

impl Rendering<'_> {
    fn schemes(&mut self, schemes: Object) -> Object {
        let mut written = Object::new();
        let list = Path::ROOT.member("securitySchemes");
        for (name, declared) in &schemes {
            let path = list.member(name);
            let Some(scheme) = declared.as_object().and_then(|declared| Scheme::read(declared.clone()).ok()) else {
                match self.target {
                    Generation::V1 => {
                        let message = || "unknown kind of security scheme; the scheme is kept unchanged".into();
                        self.findings.add(&path, "scheme-unknown", message);
                        written.insert(name.clone(), declared.clone());
                    }
                    // Its readers refuse cards with schemes that they don't know.
                    Generation::V0 => self.findings.add(&path, "scheme-unknown", || {
                        "unknown kind of security scheme; the scheme is left out, but requirements still name it".into()
                    }),
                }
                continue;
            };
            match self.target {
                Generation::V0 => self.write_old(name, scheme, &path, &mut written),
                Generation::V1 => self.write_new(name, scheme, &schemes, &mut written),
            }
        }
        written
    }

    /// Without flows that 0.3 doesn't know; its readers refuse schemes without any flow, and other incomplete ones.
    fn write_old(&mut self, name: &str, mut scheme: Scheme, path: &Path<'_>, written: &mut Object) {
        if let Some(missing) = scheme.missing() {
            self.findings.add(path, "scheme-incomplete", || {
                format!(
                    "clients of version 0.3 reject cards with a scheme that lacks a valid `{missing}`; the scheme is \
                     left out"
                )
            });
            return;
        }
        let flows = path.member("flows");
        if scheme
            .flows()
            .any(|(flow, members)| flow != "deviceCode" && members.get("pkceRequired") == Some(&true.into()))
        {
            let path = flows.member("authorizationCode");
            let message = || "version 0.3 can't declare that PKCE is required".into();
            self.findings.add(&path.member("pkceRequired"), "flow-unknown", message);
        }
        if let Some(Value::Object(members)) = scheme.members.get_mut("flows")
            && members.remove("deviceCode").is_some()
        {
            let message = || "version 0.3 has no device code flow; it is left out".into();
            self.findings.add(&flows.member("deviceCode"), "flow-unknown", message);
            if scheme.flows().next().is_none() {
                self.parts.insert(name.to_owned(), Vec::new());
                return;
            }
        }
        written.insert(name.to_owned(), scheme.write(Generation::V0));
    }

    /// A scheme for each flow.
    fn write_new(&mut self, name: &str, scheme: Scheme, schemes: &Object, written: &mut Object) {
        let flows: Vec<&'static str> = scheme.flows().map(|(flow, _)| flow).collect();
        if flows.len() < 2 {
            written.insert(name.to_owned(), scheme.write(Generation::V1));
            return;
        }
        let mut names = Vec::new();
        for (index, flow) in flows.iter().enumerate() {
            let mut own = if index == 0 { name.to_owned() } else { format!("{name}_{flow}") };
            while index > 0 && (schemes.contains_key(&own) || written.contains_key(&own)) {
                own.push('_');
            }
            written.insert(own.clone(), with_flow(&scheme, flow).write(Generation::V1));
            names.push(own);
        }
        self.parts.insert(name.to_owned(), names);
    }

    /// The requirements of a card or skill; for readers of 0.3 what it says to them, if it is written for both.
    fn requirements(&mut self, owner: &mut Object, path: &Path<'_>) {
        let [old, new] = [Generation::V0, Generation::V1].map(requirements::member);
        if self.target == Generation::V0 {
            requirements::normalize(owner, Generation::V0);
        }
        let read = requirements::of(owner);
        if self.target == Generation::V1 && self.parts.is_empty() && !read.alternatives.is_empty() {
            requirements::retain_readable(owner);
            return;
        }
        let own = [old, new].map(|name| owner.remove(name));
        if read.alternatives.is_empty() {
            if read.unread > 0 {
                let message = || {
                    "none of the security requirements can be read, so the converted card has no requirements; clients \
                     will assume that no credentials are needed"
                        .into()
                };
                self.findings.add(path, "security-open", message);
            } else if own.into_iter().flatten().any(|list| list.is_array()) {
                // An empty list says nothing, and stays one.
                owner.insert(requirements::member(self.target).into(), Value::Array(Vec::new()));
            }
            return;
        }
        if read.has_more && self.target == Generation::V0 {
            let message = || {
                "requirements of version 0.3 can only contain schemes and their scopes; other members are left out"
                    .into()
            };
            self.findings.add(&path.member("securityRequirements"), "member-left-out", message);
        }
        let alternatives = self.with_parts(read.alternatives, path);
        owner.insert(requirements::member(self.target).into(), requirements::write(&alternatives, self.target));
    }

    /// The alternatives in which a scheme that was split is named by each of its parts.
    fn with_parts(&mut self, alternatives: Vec<Alternative>, path: &Path<'_>) -> Vec<Alternative> {
        if self.parts.is_empty() {
            return alternatives;
        }
        let is_sayable = |alternative: &Alternative| {
            !alternative.iter().any(|(name, _)| self.parts.get(name).is_some_and(Vec::is_empty))
        };
        let (sayable, others): (Vec<_>, Vec<_>) = alternatives.into_iter().partition(is_sayable);
        if !others.is_empty() {
            let message = match sayable.is_empty() {
                true => "all requirements need a flow that version 0.3 lacks; the converted card omits their schemes",
                false => "some requirements need a flow that version 0.3 lacks; these requirements are left out",
            };
            self.findings.add(path, "requirement", || message.into());
        }
        let alternatives = if sayable.is_empty() { others } else { sayable };
        let most = if self.names < MOST_NAMES { MOST_ALTERNATIVES } else { 1 };
        let (expanded, is_complete) = expanded(alternatives, &self.parts, most);
        self.names += expanded.iter().map(|names| 1 + names.len()).sum::<usize>();
        if !is_complete {
            let message = || "there are too many combinations of flows; the requirements list only some of them".into();
            self.findings.add(path, "too-many-alternatives", message);
        }
        expanded
    }
}

/// The scheme with one of its flows alone.
fn with_flow(scheme: &Scheme, flow: &str) -> Scheme {
    let mut one = scheme.clone();
    if let Some(Value::Object(flows)) = one.members.get_mut("flows") {
        flows.retain(|name, _| name == flow);
    }
    one
}

/// Combinations of parts up to a maximum number, and whether all are there.
fn expanded(
    alternatives: Vec<Alternative>,
    parts: &HashMap<String, Vec<String>>,
    most: usize,
) -> (Vec<Alternative>, bool) {
    let mut is_complete = true;
    let mut expanded = Vec::new();
    for alternative in alternatives {
        let mut variants: Vec<Alternative> = vec![Vec::new()];
        for (name, scopes) in alternative {
            let names = parts.get(&name).filter(|names| !names.is_empty());
            let names = names.map_or(std::slice::from_ref(&name), Vec::as_slice);
            let is_fitting = names.len() == 1 || expanded.len() + variants.len() * names.len() <= most;
            is_complete &= is_fitting;
            if let ([name], _) | ([name, ..], false) = (names, is_fitting) {
                variants.iter_mut().for_each(|variant| variant.push((name.clone(), scopes.clone())));
                continue;
            }
            let with = |name: &String, variant: &Alternative| -> Alternative {
                variant.iter().cloned().chain([(name.clone(), scopes.clone())]).collect()
            };
            variants = names.iter().flat_map(|name| variants.iter().map(move |variant| with(name, variant))).collect();
        }
        expanded.extend(variants);
    }
    (expanded, is_complete)
}
