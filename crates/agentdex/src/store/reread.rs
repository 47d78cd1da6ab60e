//! Fuzzing support: decoding values as read from a damaged disk.

use sled::IVec;

use super::value::{self, Entry, State, StoredRecord};
use crate::{Result, change::Seq};

/// The position of entries of the log.
const AT: Seq = Seq(1 << 63);

/// Decodes bytes as each kind of stored value. A decoded value must be unchanged after encoding and decoding it
/// again.
///
/// # Errors
/// The kind of value that changed.
#[doc(hidden)]
pub fn reread(bytes: &[u8]) -> std::result::Result<(), &'static str> {
    let stays = [
        ("an entry of the log", stays(bytes, |bytes| Entry::decode(AT, bytes), Entry::encode)),
        ("the state", stays(bytes, State::decode, State::encode)),
        ("an expiry", stays(bytes, value::decode_expiry, value::encode_expiry)),
        ("an original", stays(bytes, value::decode_original, value::encode_original)),
        ("a position", stays(bytes, value::decode_position, |position| value::encode_position(*position))),
        ("access", stays(bytes, value::decode_access, |access| value::encode_access(access).into())),
        ("a record", record_stays(bytes)),
    ];
    stays.into_iter().find_map(|(kind, stays)| (!stays).then_some(kind)).map_or(Ok(()), Err)
}

fn stays<T: PartialEq>(bytes: &[u8], decode: fn(&[u8]) -> Result<T>, encode: fn(&T) -> IVec) -> bool {
    let Ok(read) = decode(bytes) else { return true };
    // What was read may say in another way what is written now, such as a text that now lies apart.
    let Ok(again) = decode(&encode(&read)) else { return false };
    decode(&encode(&again)).is_ok_and(|last| last == again)
}

fn record_stays(bytes: &[u8]) -> bool {
    let Ok(record) = StoredRecord::decode(bytes) else { return true };
    let _ = (record.access(), record.capability_keys());
    StoredRecord::decode(&record.encode()).is_ok_and(|again| again == record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_values_are_refused_or_read_as_something() {
        let entry = [&[1_u8, 1][..], &[0; 24], b"\0\0\0\x05urn:a", &[0; 4], &[0; 4], &[0; 4], b"{}"].concat();
        let access = b"\0\0\0\x09\x02\0\0\0\0\0\0\0\0";
        let record = [&[12_u8][..], &[0; 32], &[0; 16], &[0; 4], b"\0\0\0\x05\0\0\0\x01a", access].concat();
        assert!(Entry::decode(AT, &entry).is_ok() && StoredRecord::decode(&record).is_ok());
        for value in [entry, record] {
            for length in 0..=value.len() {
                assert_eq!(reread(value.get(..length).unwrap_or_default()), Ok(()));
            }
            for at in 0..value.len() {
                let mut damaged = value.clone();
                damaged[at] ^= 0xff;
                assert_eq!(reread(&damaged), Ok(()), "{at}");
            }
        }
    }
}
