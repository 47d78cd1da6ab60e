//! Verification of a card's signatures, with limits: neither the owner of a card nor the owner of its keys must be able
//! to keep the registry busy.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Form, Status, TrustedKeys, Verification,
    entry::{Entry, encode_payload},
    header::Unreadable,
};
use crate::td::{Document, Timestamp, internal::Path};

/// The maximum number of signatures of a card.
const MAX_SIGNATURES: usize = 16;
/// The maximum number of keys that a signature is checked with.
const MAX_KEYS: usize = 4;
/// The maximum number of verifications for a card, over all key sets.
const MAX_VERIFICATIONS: usize = 32;
/// Greater integers are rounded by canonical forms (RFC 8785, section 3.2.2.3): others would verify alike.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// The verification of a card, with one set of keys after the other.
pub struct Checking<'c> {
    card: Cow<'c, Document>,
    payloads: Payloads,
    /// Number of verifications that are left.
    left: usize,
}

impl<'c> Checking<'c> {
    /// Starts the verification of a card.
    pub fn of(card: Cow<'c, Document>) -> Checking<'c> {
        Checking { card, payloads: Payloads::default(), left: MAX_VERIFICATIONS }
    }

    /// Verifies the card with these keys, and returns the result.
    pub fn with(&mut self, keys: &TrustedKeys, now: Timestamp) -> Verification {
        let result = |status| Verification {
            status,
            kid: None,
            alg: None,
            form: None,
            trusted_by: None,
            reason: None,
            checked_at: now,
        };
        let invalid = |reason: String| Verification { reason: Some(reason), ..result(Status::Invalid) };
        let entries = match self.card.value().get("signatures") {
            None | Some(Value::Null) => return result(Status::Unsigned),
            Some(Value::Array(entries)) if entries.is_empty() => return result(Status::Unsigned),
            Some(Value::Array(entries)) => entries,
            Some(_) => return invalid("`signatures` is not a list".into()),
        };
        if entries.len() > MAX_SIGNATURES {
            return invalid(format!("there are more than {MAX_SIGNATURES} signatures"));
        }
        if let Some(reason) = ambiguity(&self.card) {
            return invalid(reason);
        }
        let mut best: Option<Verification> = None;
        for entry in entries {
            let found = match Entry::read(entry) {
                Ok(entry) => {
                    let mut check =
                        Check { card: self.card.value(), payloads: &mut self.payloads, left: &mut self.left };
                    check.signature(&entry, keys, result(Status::Untrusted))
                }
                Err(Unreadable { reason, kid, alg }) => Verification { kid, alg, ..invalid(reason) },
            };
            let is_better = best.as_ref().is_none_or(|best| rank(found.status) < rank(best.status));
            if is_better {
                best = Some(found);
            }
        }
        best.unwrap_or_else(|| result(Status::Unsigned))
    }
}

/// Why readers of the card may see another one than was signed.
fn ambiguity(card: &Document) -> Option<String> {
    if let Some(pointer) = card.repeated_members().first() {
        return Some(format!("the member {pointer} is repeated, so different readers may see different cards"));
    }
    let members = card.value().as_object()?;
    let signed = members.iter().filter(|(name, _)| *name != "signatures");
    let rounded = signed.into_iter().find_map(|(name, value)| find_rounded(value, &Path::ROOT.member(name)));
    rounded.map(|pointer| {
        format!("the number at {pointer} exceeds 2^53; signatures can't distinguish such numbers from their neighbors")
    })
}

/// A JSON Pointer to an integer that canonical forms round.
fn find_rounded(value: &Value, at: &Path<'_>) -> Option<String> {
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            size.is_some_and(|size| size > MAX_INTEGER).then(|| at.to_pointer())
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| find_rounded(item, &at.index(index))),
        Value::Object(members) => members.iter().find_map(|(name, member)| find_rounded(member, &at.member(name))),
        _ => None,
    }
}

fn rank(status: Status) -> Option<usize> {
    Status::ALL.iter().position(|other| *other == status)
}

/// The check of one signature, with the state of the card's check that it shares.
struct Check<'a> {
    card: &'a Value,
    payloads: &'a mut Payloads,
    left: &'a mut usize,
}

impl Check<'_> {
    fn signature(&mut self, entry: &Entry<'_>, keys: &TrustedKeys, untrusted: Verification) -> Verification {
        let named = Verification { kid: Some(entry.kid.clone()), alg: Some(entry.alg.clone()), ..untrusted };
        let invalid = |reason| Verification { status: Status::Invalid, reason: Some(reason), ..named.clone() };
        let known = keys.called(&entry.kid);
        if known.is_empty() {
            return Verification { reason: Some(format!("no trusted key has the id {:?}", entry.kid)), ..named };
        }
        let fitting: Vec<_> = known.into_iter().filter(|trusted| trusted.key.fits(entry.algorithm)).collect();
        if fitting.is_empty() {
            return invalid(format!("the trusted key {:?} is not for the algorithm {}", entry.kid, entry.alg));
        }
        let mut reason = format!(
            "the signature with the key {:?} doesn't match the card; the card may have been changed, or signed with \
             another key",
            entry.kid
        );
        for form in Form::ALL {
            let Some(payload) = self.payloads.encoded(self.card, form) else { continue };
            let message = entry.signing_input(payload);
            for trusted in fitting.iter().take(MAX_KEYS) {
                let Some(left) = self.left.checked_sub(1) else {
                    return invalid(format!(
                        "checking the signatures would take more than {MAX_VERIFICATIONS} verifications"
                    ));
                };
                *self.left = left;
                if !trusted.key.verifies(entry.algorithm, message.as_bytes(), &entry.signature) {
                    continue;
                }
                let Some(pointer) = form.uncovered(self.card) else {
                    let trusted_by = Some(trusted.origin.to_string());
                    return Verification { status: Status::Valid, form: Some(form), trusted_by, ..named };
                };
                reason = format!(
                    "the signature doesn't cover the empty member {pointer}, so anyone could have added \
                    it"
                );
            }
        }
        invalid(reason)
    }
}

/// The forms of a card, made when they are needed; none for one that is like an earlier one.
#[derive(Default)]
struct Payloads(Vec<Option<String>>);

impl Payloads {
    fn encoded(&mut self, card: &Value, form: Form) -> Option<&str> {
        let index = Form::ALL.iter().position(|other| *other == form)?;
        while self.0.len() <= index {
            let form = Form::ALL.get(self.0.len())?;
            let encoded = form.payload(card).map(|payload| encode_payload(&payload));
            let is_new = !self.0.contains(&encoded);
            self.0.push(encoded.filter(|_| is_new));
        }
        self.0.get(index)?.as_deref()
    }
}
