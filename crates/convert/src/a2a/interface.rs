//! Interfaces of a card: URL, binding and protocol version of each.

use serde_json::{Map, Value};

use super::{
    Generation,
    reference::{Unusable, grpc_target, interface_url},
};
use crate::{shape::Findings, td::internal::Path};

type Object = Map<String, Value>;

/// The transport of an interface; a protocol binding in 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding<'c> {
    JsonRpc,
    HttpJson,
    Grpc,
    /// A URI, if it is what it should be.
    Custom(&'c str),
}

impl<'c> Binding<'c> {
    /// Reads a name, also as people write it.
    pub(super) fn read(name: &'c str) -> Binding<'c> {
        if name.len() > 32 || name.contains("://") {
            return Binding::Custom(name);
        }
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        match plain.as_str() {
            "jsonrpc" | "jsonrpc20" => Binding::JsonRpc,
            "httpjson" | "rest" | "http" | "httpjsonrest" | "httprest" => Binding::HttpJson,
            "grpc" => Binding::Grpc,
            _ => Binding::Custom(name),
        }
    }

    pub(super) fn name(self) -> &'c str {
        match self {
            Binding::JsonRpc => "JSONRPC",
            Binding::HttpJson => "HTTP+JSON",
            Binding::Grpc => "GRPC",
            Binding::Custom(name) => name,
        }
    }
}

/// An interface of a card.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interface<'c> {
    pub(super) url: &'c str,
    pub(super) binding: Binding<'c>,
    /// The binding as it is written; none where it is left out.
    pub(super) written: Option<&'c str>,
    /// The protocol version as it is written; none where it is left out.
    pub(super) written_version: Option<&'c str>,
    pub(super) tenant: Option<&'c str>,
    pub(super) listed: Listed,
}

/// Position of an interface in its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    /// `url`
    Main,
    /// An element of `additionalInterfaces`.
    Additional(usize),
    /// An element of `supportedInterfaces`.
    Supported(usize),
}

impl Listed {
    /// Calls `f` with the place of the interface, that of its URL and that of its binding.
    pub(super) fn with_paths<T>(self, f: impl FnOnce(&Path<'_>, &Path<'_>, &Path<'_>) -> T) -> T {
        let root = Path::ROOT;
        let (list, index, binding) = match self {
            Listed::Main => return f(&root, &root.member("url"), &root.member("preferredTransport")),
            Listed::Additional(index) => ("additionalInterfaces", index, "transport"),
            Listed::Supported(index) => ("supportedInterfaces", index, "protocolBinding"),
        };
        let list = root.member(list);
        let own = list.index(index);
        f(&own, &own.member("url"), &own.member(binding))
    }
}

impl<'c> Interface<'c> {
    /// The generation of its methods.
    pub(super) fn generation(&self) -> Generation {
        match self.listed {
            Listed::Main | Listed::Additional(_) => Generation::V0,
            Listed::Supported(_) => self.written_version.and_then(Generation::of_version).unwrap_or(Generation::V1),
        }
    }

    /// Its URL, relative ones resolved, the `host:port` of gRPC as one.
    pub(super) fn resolved_url(&self, base: Option<&str>) -> Result<String, Unusable> {
        let target = (self.binding == Binding::Grpc).then(|| grpc_target(self.url)).flatten();
        target.map_or_else(|| interface_url(self.url, base), Ok)
    }

    /// The protocol version as `Major.Minor`.
    pub(super) fn version(&self) -> String {
        let generation = self.generation();
        let written = self.written_version.filter(|version| Generation::of_version(version) == Some(generation));
        let parts = |version: &str| -> Option<String> {
            let mut parts = version.trim().trim_start_matches(['v', 'V']).split('.');
            let (major, minor) = (parts.next()?.parse::<u32>().ok()?, parts.next().unwrap_or("0").parse::<u32>().ok()?);
            Some(format!("{major}.{minor}"))
        };
        written.and_then(parts).unwrap_or_else(|| generation.name().to_owned())
    }

    /// A card of 1.0 says the version of each interface.
    pub(super) fn check_version(&self, findings: &mut Findings) {
        let (Listed::Supported(index), Some(written)) = (self.listed, self.written_version) else { return };
        let major = Generation::of_version(written).and_then(|_| self.version().split('.').next()?.parse::<u32>().ok());
        if Generation::of_version(written).is_some() && major.is_some_and(|major| major <= 1) {
            return;
        }
        let list = Path::ROOT.member("supportedInterfaces");
        findings.add(&list.index(index).member("protocolVersion"), "version-unknown", || {
            format!("{written:?} is not a known version; the methods of version {} are used", self.generation())
        });
    }
}

/// The interfaces of a card as it is written, the preferred one first.
pub(super) fn written_interfaces(card: &Object, generation: Generation) -> Vec<Interface<'_>> {
    match generation {
        Generation::V0 => interfaces_0(card),
        Generation::V1 => supported(card).collect(),
    }
}

/// The elements of a list of objects, with their indexes.
fn objects<'c>(card: &'c Object, name: &str) -> impl Iterator<Item = (usize, &'c Object)> {
    let elements = card.get(name).and_then(Value::as_array).into_iter().flatten();
    elements.enumerate().filter_map(|(index, element)| Some((index, element.as_object()?)))
}

fn text<'c>(owner: &'c Object, name: &str) -> Option<&'c str> {
    owner.get(name).and_then(Value::as_str)
}

/// The interfaces of a card of 1.0.
pub(super) fn supported(card: &Object) -> impl Iterator<Item = Interface<'_>> {
    objects(card, "supportedInterfaces").filter_map(|(index, interface)| {
        let written = text(interface, "protocolBinding");
        Some(Interface {
            url: text(interface, "url")?,
            binding: Binding::read(written.unwrap_or("JSONRPC")),
            written,
            written_version: text(interface, "protocolVersion"),
            tenant: text(interface, "tenant").filter(|tenant| !tenant.is_empty()),
            listed: Listed::Supported(index),
        })
    })
}

/// The main interface, then the additional ones without its duplicate.
fn interfaces_0(card: &Object) -> Vec<Interface<'_>> {
    let of_0 = |url, written: Option<_>, listed| Interface {
        url,
        binding: Binding::read(written.unwrap_or("JSONRPC")),
        written,
        written_version: text(card, "protocolVersion"),
        tenant: None,
        listed,
    };
    let mut interfaces = Vec::new();
    interfaces.extend(text(card, "url").map(|url| of_0(url, text(card, "preferredTransport"), Listed::Main)));
    for (index, additional) in objects(card, "additionalInterfaces") {
        let Some(url) = text(additional, "url") else { continue };
        let additional = of_0(url, text(additional, "transport"), Listed::Additional(index));
        let repeats = |main: &Interface<'_>| main.url == additional.url && main.binding == additional.binding;
        if !interfaces.first().is_some_and(repeats) {
            interfaces.push(additional);
        }
    }
    interfaces
}
