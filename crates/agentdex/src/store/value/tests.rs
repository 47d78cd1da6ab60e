//! Values as they are stored and read again.

use super::*;

/// The position of all entries.
const AT: Seq = Seq(42);

fn change(kind: ChangeKind, body: Body) -> ChangeEntry {
    ChangeEntry {
        kind,
        end: None,
        id: "urn:ä".into(),
        before: vec!["a".into(), String::new()],
        after: vec!["b".repeat(300)],
        access_before: Access::default(),
        access_after: Access::default(),
        body,
    }
}

fn entry(change: ChangeEntry) -> Entry {
    let (at, arrival, actor) = (Timestamp(-1), Timestamp(-7), Some("eve".into()));
    Entry { previous: Seq(41), at, arrival, actor, content: Content::Change(Box::new(change)) }
}

fn access(visibility: Visibility) -> Access {
    let namespace = (visibility != Visibility::Private).then(|| "weather".parse().unwrap());
    let number = namespace.as_ref().map(|_| NamespaceNumber(1 << 40));
    Access { owner: Some("team".parse().unwrap()), visibility, namespace, number }
}

fn deleted(reason: DeletionReason) -> ChangeEntry {
    let change = change(ChangeKind::Deleted, Body::None);
    ChangeEntry { end: Some((reason, Seq(13))), before: vec![], after: vec![], ..change }
}

fn membership() -> Entry {
    let membership = MembershipEntry {
        number: NamespaceNumber(3),
        joined: vec!["bob".parse().unwrap(), "eve".parse().unwrap()],
        left: vec!["mallory".parse().unwrap()],
    };
    Entry { actor: None, content: Content::Membership(membership), ..entry(deleted(DeletionReason::Removed)) }
}

#[test]
fn entries_are_read_as_they_were_written() -> Result<()> {
    for change in [
        change(ChangeKind::Created, Body::Apart),
        change(ChangeKind::Updated, Body::Text("{\"ä\":null}".into())),
        deleted(DeletionReason::Removed),
        deleted(DeletionReason::Expired),
        deleted(DeletionReason::SourceGone),
    ] {
        let plain = entry(change.clone());
        assert_eq!(Entry::decode(AT, &plain.encode())?, plain);
        for visibility in Visibility::ALL {
            let change = ChangeEntry { access_before: access(visibility), ..change.clone() };
            let entry = entry(ChangeEntry { access_after: access(Visibility::Private), ..change });
            let entry = Entry { previous: Seq(7), ..entry };
            assert_eq!(Entry::decode(AT, &entry.encode())?, entry);
        }
    }
    assert_eq!(Entry::decode(AT, &membership().encode())?, membership());
    let declaration = Entry { content: Content::Declaration("urn:ä".into()), ..membership() };
    assert_eq!(Entry::decode(AT, &declaration.encode())?, declaration);
    Ok(())
}

#[test]
fn records_are_read_as_they_were_written() -> Result<()> {
    let capabilities = block_of(&["a".into(), "b".into()]);
    let access = encode_access(&access(Visibility::Namespace));
    let declarations = b"declarations".to_vec();
    for flags in 0..128 {
        let record = StoredRecord {
            has_expiry: flags & 1 != 0,
            is_creation: flags & 4 != 0,
            seq: Seq(u64::MAX),
            life: Seq(7),
            created: Timestamp(-5),
            modified: Timestamp(7),
            text: Digest::of(b"text"),
            original: (flags & 2 != 0).then(|| Digest::of(b"original")),
            format: (flags & 2 != 0).then_some("a2a"),
            capabilities: &capabilities,
            access: if flags & 8 != 0 { &access } else { &[] },
            has_parts: flags & 16 != 0,
            declarations: if flags & 32 != 0 { &declarations } else { &[] },
            edits: (flags & 64 != 0).then(|| Digest::of(b"edits")),
        };
        let encoded = record.encode();
        assert_eq!(StoredRecord::decode(&encoded)?, record);
        assert_eq!(StoredRecord::decode(&encoded)?.capability_keys()?, ["a", "b"]);
        let later = [&*encoded, &[9]].concat();
        let error = StoredRecord::decode(&later).unwrap_err();
        let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(why.contains("a part 9") && why.contains("format 5"), "{why}");
    }
    Ok(())
}

#[test]
fn expiries_are_read_as_they_were_written() -> Result<()> {
    for ttl in [None, Some(0), Some(u64::MAX)] {
        for expires in [None, Some(Timestamp(0)), Some(Timestamp::MAX)] {
            let expiry = Expiry { ttl, expires };
            assert_eq!(decode_expiry(&encode_expiry(&expiry))?, expiry);
        }
    }
    Ok(())
}

#[test]
fn values_that_are_cut_off_are_errors() {
    for entry in [Entry { previous: Seq(7), ..entry(deleted(DeletionReason::Removed)) }, membership()] {
        let encoded = entry.encode();
        for length in 0..encoded.len() {
            assert!(Entry::decode(AT, &encoded[..length]).is_err(), "{length} bytes of an entry");
        }
        assert!(Entry::decode(entry.previous, &encoded).is_err(), "it doesn't come before itself");
    }
    let expiry = encode_expiry(&Expiry::default());
    assert!(decode_expiry(&expiry[..expiry.len() - 1]).is_err());
    assert!(StoredRecord::decode(&[0; 20]).is_err());
    let state = State { last: Seq(50), records: 3, entries: 30, commit: 7, sum: Sum(u128::MAX - 1), namespaces: 2 };
    let encoded = state.encode();
    assert_eq!(State::decode(&encoded).ok(), Some(state));
    assert!(State::decode(&encoded[1..]).is_err() && State::decode(&[&*encoded, &[0]].concat()).is_err());
    let origin = Origin { kind: OriginKind::Salvaged, epoch: Epoch(7), last: Seq(9) };
    assert_eq!(Origin::decode(&origin.encode()).ok(), Some(origin));
    assert!(Origin::decode(&[4; 17]).is_err() && Origin::decode(&[1; 16]).is_err());
    assert!(decode_original(&[0, 0, 0, 9, 1]).is_err());
}
