//! Normalization of exact values for comparison.

use crate::{
    search::{FacetField, forms, schema::ExactField, text::fold_case},
    td::LMOS_NAMESPACE,
};

/// Comparison of the values of exact fields: types to the letter, the others regardless of case; LMOS types in their
/// short form, protocols without the `s` of their secure form.
pub(in crate::search) struct ExactTerm;

impl ExactTerm {
    /// Calls `add` with the index terms of a Thing's value.
    pub fn for_each_indexed(field: ExactField, value: &str, mut add: impl FnMut(&str)) {
        match field {
            ExactField::Facet(FacetField::Type) => {
                add(value);
                if let Some(name) = lmos_name(value) {
                    let prefixed = format!("lmos:{name}");
                    [prefixed.as_str(), name].into_iter().filter(|&term| term != value).for_each(add);
                }
            }
            ExactField::Facet(_) | ExactField::Tenant | ExactField::Channel => add(&fold_case(value)),
            ExactField::CapabilityVersion | ExactField::Speaks | ExactField::Version => add(value),
            ExactField::Language => {
                let tag = fold_case(value);
                if let Some((primary, _)) = tag.split_once('-') {
                    add(primary);
                }
                add(&tag);
            }
        }
    }

    /// Returns the index term for a value in a query.
    pub fn searched(field: ExactField, value: &str) -> String {
        match field {
            ExactField::CapabilityVersion | ExactField::Version => value.to_owned(),
            ExactField::Facet(FacetField::Type) => lmos_name(value)
                .filter(|_| value.contains(':'))
                .map_or_else(|| value.to_owned(), |name| format!("lmos:{name}")),
            ExactField::Facet(FacetField::Protocol) => forms::protocol(value),
            ExactField::Facet(_)
            | ExactField::Language
            | ExactField::Tenant
            | ExactField::Channel
            | ExactField::Speaks => fold_case(value).into_owned(),
        }
    }
}

/// The local name of an LMOS type; agents and tools are often written without a prefix.
pub(in crate::search) fn lmos_name(value: &str) -> Option<&str> {
    if matches!(value, "Agent" | "Tool") {
        return Some(value);
    }
    let name = value
        .strip_prefix("lmos:")
        .or_else(|| value.strip_prefix(LMOS_NAMESPACE)?.trim_start_matches(['#', '/']).into())?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexed(field: ExactField, value: &str) -> Vec<String> {
        let mut terms = Vec::new();
        ExactTerm::for_each_indexed(field, value, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn lmos_types_meet_in_all_their_forms() {
        let field = ExactField::Facet(FacetField::Type);
        for written in ["lmos:Agent", "Agent", "https://eclipse.dev/lmos/protocol/v1#Agent"] {
            let indexed = indexed(field, written);
            for searched in ["lmos:Agent", "Agent", "https://eclipse.dev/lmos/protocol/v1#Agent"] {
                assert!(indexed.contains(&ExactTerm::searched(field, searched)), "{written} isn't found as {searched}");
            }
        }
        assert_eq!(indexed(field, "saref:Sensor"), ["saref:Sensor"]);
    }

    #[test]
    fn case_and_security_of_a_protocol_do_not_matter() {
        let field = ExactField::Facet(FacetField::Protocol);
        assert_eq!(ExactTerm::searched(field, "HTTPS"), "http");
        assert_eq!(
            ExactTerm::searched(ExactField::Facet(FacetField::Vendor), "Deutsche Telekom AG"),
            "deutsche telekom ag"
        );
    }

    #[test]
    fn case_of_a_capability_does_not_matter() {
        let field = ExactField::Facet(FacetField::Capability);
        assert_eq!(indexed(field, "payBill"), ["paybill"]);
        assert_eq!(ExactTerm::searched(field, "PAYBILL"), "paybill");
        assert_eq!(indexed(field, "Straße"), [ExactTerm::searched(field, "STRASSE")]);
        assert_eq!(indexed(field, "ΧΆΡΤΗΣ"), [ExactTerm::searched(field, "χάρτης")]);
    }

    #[test]
    fn a_language_is_found_by_its_primary_tag() {
        assert_eq!(indexed(ExactField::Language, "de-AT"), ["de", "de-at"]);
    }
}
