//! `agentdex records`: out of one registry and into another, also after it broke off.

use std::fs;

use super::{json_lines, run, stderr, stdout};
use crate::process::ServerProcess;

#[test]
fn records_move_to_another_registry_and_an_export_that_broke_off_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let from = ServerProcess::start(&directory.path().join("from"), &["--examples"]);
    let to = ServerProcess::start(&directory.path().join("to"), &[]);
    let file = directory.path().join("agents.ndjson");
    let path = file.to_str().unwrap();
    let export = |arguments: &[&str]| run(&[&["records", "export", path, "--url", from.url()], arguments].concat());
    let exported = export(&[]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let all = fs::read_to_string(&file).unwrap();
    let count = all.lines().count();
    assert!(stderr(&exported).starts_with(&format!("{count} agents in ")), "{}", stderr(&exported));
    let again = export(&[]);
    assert!(!again.status.success() && stderr(&again).contains("--resume"), "{}", stderr(&again));
    for cut in [0, 10, all.len() / 2, all.len() - 1, all.len()] {
        fs::write(&file, &all[..cut]).unwrap();
        let resumed = export(&["--resume"]);
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        assert_eq!(fs::read_to_string(&file).unwrap(), all, "cut at {cut}");
    }
    fs::write(&file, "something else\n").unwrap();
    let other = export(&["--resume"]);
    assert!(!other.status.success() && stderr(&other).contains("its last line"), "{}", stderr(&other));
    assert_eq!(fs::read_to_string(&file).unwrap(), "something else\n");
    fs::write(&file, &all).unwrap();

    let import = |arguments: &[&str]| run(&[&["records", "import", path, "--url", to.url()], arguments].concat());
    let dry = import(&["--dry-run"]);
    assert_eq!(
        stdout(&dry),
        format!("{count} would be created, 0 would be updated, 0 unchanged\n"),
        "{}",
        stderr(&dry)
    );
    assert_eq!(stdout(&import(&[])), format!("{count} created, 0 updated, 0 unchanged\n"));
    assert_eq!(stdout(&import(&[])), format!("0 created, 0 updated, {count} unchanged\n"));
    let listed = |server: &ServerProcess| {
        let mut things = json_lines(&run(&["list", "--json", "--url", server.url()]));
        things.iter_mut().for_each(|thing| {
            let registration = thing["registration"].as_object_mut().unwrap();
            registration.retain(|name, _| name != "retrieved");
        });
        things
    };
    assert_eq!(listed(&from), listed(&to));
    let exported = run(&["records", "export", "-", "--url", to.url()]);
    assert_eq!(stdout(&exported).lines().count(), count);

    fs::write(&file, format!("{{\"td\": 1}}\n{all}")).unwrap();
    let broken = import(&[]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(stderr(&broken).starts_with("line 1: this line is not a record"), "{}", stderr(&broken));
    assert_eq!(stdout(&broken), format!("0 created, 0 updated, {count} unchanged, 1 failed\n"));
}
