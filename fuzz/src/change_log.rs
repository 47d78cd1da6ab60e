//! What lies in the store, damaged: entries of the log, records and the rest are read or refused, and what is read is
//! written and read as the same.

#![no_main]

use agentdex::store::reread;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    assert_eq!(reread(bytes), Ok(()));
});
