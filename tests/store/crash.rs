//! A process that is killed leaves whole transactions, and all that were acknowledged.

use std::{
    io::{BufRead, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use super::*;

const ROUNDS: u64 = 24;
const WRITES: u64 = 5;
/// Tells the test below which directory it is to write to until it is killed.
const DIRECTORY: &str = "AGENTDEX_TEST_STORE_WRITER";

#[test]
fn killed_writer_leaves_whole_transactions() {
    let directory = directory_on_disk();
    let mut last = 0;
    for round in 0..ROUNDS {
        let acknowledged = write_and_kill(directory.path(), Duration::from_millis(5 + round * 37 % 90));
        let store = Store::open(directory.path(), Options::default()).expect("it opens again");
        let values = values(&store);
        assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "half a transaction: {values:?}");
        let value = values.first().copied().unwrap_or(0);
        assert!(value >= acknowledged.max(last), "{value} is there, {acknowledged} was acknowledged");
        // One change a write and a value, and nothing else.
        assert_eq!(*store.durable().borrow(), nth(value * WRITES));
        assert_eq!(
            store.changes(Seq::ZERO, usize::MAX).expect("reading succeeds").changes().len() as u64,
            value * WRITES
        );
        last = value;
    }
    assert!(last >= ROUNDS);
}

/// No test but the process that the other one kills: raises the same value in all records for ever.
#[test]
fn writer_to_be_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let store = Store::open(Path::new(&directory), Options::default()).expect("it opens");
    let first = values(&store).first().copied().unwrap_or(0) + 1;
    for value in first.. {
        let text = format!(r#"{{"value":{value},"padding":"{}"}}"#, "x".repeat(3000));
        let writes = (0..WRITES).map(|index| write(&format!("urn:{index}"), Precondition::Any, put(&text))).collect();
        store.submit(writes).wait().expect("it succeeds");
        println!("acknowledged {value}");
        std::io::stdout().flush().expect("the parent reads");
    }
}

/// Runs the writer for a while and returns the last value that it said was acknowledged.
fn write_and_kill(directory: &Path, time: Duration) -> u64 {
    let mut writer = Command::new(std::env::current_exe().expect("this test has a binary"))
        .args(["--exact", "store::crash::writer_to_be_killed", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts again");
    let lines = BufReader::new(writer.stdout.take().expect("it is piped")).lines();
    let mut acknowledged = lines
        .map_while(Result::ok)
        .filter_map(|line| Some(line.rsplit_once("acknowledged ")?.1.parse().expect("a number")));
    // It has started once it has acknowledged something.
    let mut last = acknowledged.next().expect("the writer writes");
    std::thread::sleep(time);
    writer.kill().expect("it runs");
    writer.wait().expect("it was ours");
    last = acknowledged.last().unwrap_or(last);
    last
}

fn values(store: &Store) -> Vec<u64> {
    let value = |record: agentdex::Result<agentdex::store::Record>| {
        let value: serde_json::Value =
            serde_json::from_str(&record.expect("reading succeeds").text).expect("whole JSON");
        value["value"].as_u64().expect("a number")
    };
    store.records(None).map(value).collect()
}
