//! Files that clients have already: odd ones are left as they are, and everything else in the others survives.

use std::os::unix::fs::symlink;

use super::*;

/// Files in JSON that aren't edited; `S` stands for the member with servers.
fn broken_json() -> Vec<(&'static str, Vec<u8>)> {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(9 << 20));
    let wide: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("empty", b"".to_vec()),
        ("spaces", b" \t\r\n ".to_vec()),
        ("comment alone", b"// nothing yet\n".to_vec()),
        ("byte order mark alone", b"\xef\xbb\xbf".to_vec()),
        ("truncated", b"{\"S\": {\"a\": {\"command\": \"x\"".to_vec()),
        ("truncated in a string", b"{\"S\": {\"a".to_vec()),
        ("truncated in a comment", b"{\"S\": {} /* ".to_vec()),
        ("array", b"[]".to_vec()),
        ("text", b"\"S\"".to_vec()),
        ("null", b"null".to_vec()),
        ("servers in an array", b"{\"S\": [{\"name\": \"a\"}]}".to_vec()),
        ("servers are null", b"{\"S\": null}".to_vec()),
        ("servers are a text", b"{\"S\": \"a\"}".to_vec()),
        ("servers are a number", b"{\"S\": 1}".to_vec()),
        ("servers twice", b"{\"S\": {}, \"S\": {\"a\": {}}}".to_vec()),
        ("server twice", b"{\"S\": {\"agentdex\": {}, \"agentdex\": {\"a\": 1}}}".to_vec()),
        ("name taken", b"{\"S\": {\"agentdex\": {\"command\": \"mine\"}}}".to_vec()),
        ("name taken, escaped", b"{\"S\": {\"\\u0061gentdex\": {\"command\": \"mine\"}}}".to_vec()),
        ("single quotes", b"{'S': {}}".to_vec()),
        ("no quotes", b"{S: {}}".to_vec()),
        ("missing comma", b"{\"a\": 1 \"S\": {}}".to_vec()),
        ("two commas", b"{\"a\": 1,, \"S\": {}}".to_vec()),
        ("two documents", b"{}\n{}\n".to_vec()),
        ("text behind", b"{} x".to_vec()),
        ("hexadecimal number", b"{\"a\": 0xff}".to_vec()),
        ("leading zero", b"{\"a\": 01}".to_vec()),
        ("not a number", b"{\"a\": NaN}".to_vec()),
        ("line break in a string", b"{\"a\": \"b\nc\"}".to_vec()),
        ("broken escape", b"{\"a\": \"\\x41\"}".to_vec()),
        ("NUL", b"{\"a\": \"\0\"}".to_vec()),
        ("NUL behind", b"{}\0\0\0".to_vec()),
        ("Latin-1", b"{\"a\": \"\xe4\"}".to_vec()),
        ("UTF-16", [b"\xff\xfe".to_vec(), wide].concat()),
        ("merge conflict", b"<<<<<<< HEAD\n{\"S\": {}}\n=======\n{}\n>>>>>>> x\n".to_vec()),
        ("deep arrays", deep.into_bytes()),
        ("deep objects", objects.into_bytes()),
        ("huge", huge.into_bytes()),
    ]
}

fn broken_toml() -> Vec<(&'static str, Vec<u8>)> {
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let tables = format!("a = {}1{}", "{ b = ".repeat(50_000), " }".repeat(50_000));
    let huge = format!("a = \"{}\"", "x".repeat(9 << 20));
    let wide: Vec<u8> = "a = 1".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("truncated", b"[mcp_servers.a]\ncommand = \"x".to_vec()),
        ("truncated header", b"[mcp_servers.a".to_vec()),
        ("truncated text", b"a = \"\"\"\n[b]\n".to_vec()),
        ("no value", b"a =\n".to_vec()),
        ("JSON", b"{\"mcp_servers\": {}}".to_vec()),
        ("key twice", b"a = 1\na = 2\n".to_vec()),
        ("table twice", b"[mcp_servers.a]\n[mcp_servers.a]\n".to_vec()),
        ("servers are a number", b"mcp_servers = 1\n".to_vec()),
        ("servers are a text", b"mcp_servers = 'a'\n".to_vec()),
        ("servers in an array", b"mcp_servers = []\n".to_vec()),
        ("servers in an array of tables", b"[[mcp_servers]]\nname = 'a'\n".to_vec()),
        ("servers in an inline table", b"mcp_servers = { a = { url = 'https://a.example' } }\n".to_vec()),
        ("servers in an empty inline table", b"mcp_servers = {}\n".to_vec()),
        ("name taken", b"[mcp_servers.agentdex]\ncommand = 'mine'\n".to_vec()),
        ("name taken, quoted", b"[mcp_servers.\"agentdex\"]\ncommand = 'mine'\n".to_vec()),
        ("name taken, dotted", b"mcp_servers.agentdex.command = 'mine'\n".to_vec()),
        ("name taken, inline", b"[mcp_servers]\nagentdex = { command = 'mine' }\n".to_vec()),
        ("no quotes", b"a = b\n".to_vec()),
        ("bare carriage return", b"a = 1\rb = 2\r".to_vec()),
        ("line break in a string", b"a = \"b\nc\"\n".to_vec()),
        ("broken escape", b"a = \"\\q\"\n".to_vec()),
        ("control character", b"a = \"\x07\"\n".to_vec()),
        ("NUL", b"a = \"\0\"\n".to_vec()),
        ("NUL behind", b"a = 1\n\0\0\0".to_vec()),
        ("Latin-1", b"a = \"\xe4\"\n".to_vec()),
        ("UTF-16", [b"\xff\xfe".to_vec(), wide].concat()),
        ("merge conflict", b"<<<<<<< HEAD\na = 1\n=======\n>>>>>>> x\n".to_vec()),
        ("deep arrays", deep.into_bytes()),
        ("deep tables", tables.into_bytes()),
        ("huge", huge.into_bytes()),
    ]
}

/// Files that are edited.
fn odd_json() -> Vec<(&'static str, String)> {
    let own = "\"a\": {\"command\": \"x\", \"args\": [\"-y\", \"ä\\u00e4\\\"\"]}";
    vec![
        ("empty object", "{}".to_owned()),
        ("empty object with spaces", " {  } \n".to_owned()),
        ("byte order mark", format!("\u{feff}{{\n  \"S\": {{\n    {own}\n  }}\n}}\n")),
        ("CRLF", format!("{{\r\n\t\"S\": {{\r\n\t\t{own}\r\n\t}},\r\n\t\"z\": 1.50\r\n}}\r\n")),
        (
            "comments",
            format!(
                "// mine\n{{\n  /* servers */ \"S\": {{ // all\n    // first\n    {own} // of a, {{\"S\": []}}\n    /* last */\n  }} // end\n}} // end\n"
            ),
        ),
        ("trailing commas", format!("{{\n  \"S\": {{\n    {own},\n  }},\n}}")),
        ("trailing comma behind a comment", format!("{{\n  \"S\": {{\n    {own} /* , */ // ,\n    ,\n  }}\n}}")),
        ("one line", format!("{{\"S\":{{{own}}},\"z\":[1,2,{{}}]}}")),
        ("no servers", "{\n    \"theme\": \"dark\",\n    \"S2\": {\"S\": {}}\n}".to_owned()),
        ("empty servers with a comment", "{\n  \"S\": {\n    // none yet\n  }\n}\n".to_owned()),
        ("empty servers on one line", "{\"S\": { /* none */ }}".to_owned()),
        ("numbers", "{\"big\": 123456789012345678901234567890, \"small\": 1.0e-3, \"S\": {}}".to_owned()),
        ("other members twice", "{\n  \"z\": 1,\n  \"z\": 2,\n  \"S\": {}\n}".to_owned()),
        ("no final line break", format!("{{\n  \"z\": true,\n  \"S\": {{\n    {own}}}}}")),
        ("escaped member", "{\"S\": {}, \"\\u0061\": \"\\/ \\ud83d\\ude00\"}".to_owned()),
        ("deep, but not too deep", format!("{{\"a\": {}{}, \"S\": {{}}}}", "[".repeat(100), "]".repeat(100))),
    ]
}

fn odd_toml() -> Vec<(&'static str, String)> {
    vec![
        ("empty", String::new()),
        ("spaces", "  \n\n".to_owned()),
        ("byte order mark", "\u{feff}model = 'x'\n".to_owned()),
        ("CRLF", "# mine\r\nmodel = 'x' # y\r\n\r\n[mcp_servers.a]\r\ncommand = \"\"\"x\r\ny\"\"\"\r\n".to_owned()),
        ("comments", "# first\nmodel = 'x' # y\n# last".to_owned()),
        ("no final line break", "[mcp_servers.a]\ncommand = 'x'".to_owned()),
        ("empty servers", "[mcp_servers]\n".to_owned()),
        ("servers with dotted keys", "mcp_servers.a.command = 'x'\n[z]\nb = 1\n".to_owned()),
        ("quoted names", "[mcp_servers.\"com.example/x\"]\nurl = 'https://a.example'\n".to_owned()),
        ("array of tables", "[[z]]\na = 1\n\n[[z]]\na = 2\n".to_owned()),
        ("text like a table", "a = '''\n[mcp_servers.agentdex]\nurl = 1\n'''\n".to_owned()),
        ("numbers and dates", "a = 1_000\nb = 0xff\nc = 1979-05-27T07:32:00Z\nd = 1e3\n".to_owned()),
    ]
}

/// What happened to a file that stays as it is.
fn check_untouched(home: &Home, client: Client, what: &str) {
    let path = home.path(client);
    let before = fs::symlink_metadata(&path).unwrap();
    let others = names(path.parent().unwrap());
    let output = home.run(&[client.name, "--write"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{}: {what}: {told}", client.name);
    assert!(told.starts_with("error: no file was changed: "), "{}: {what}: {told}", client.name);
    assert!(!told.contains("panicked"), "{told}");
    // The snippet is printed.
    check_shape(client, &client.parse(&stdout(&output)));
    let after = fs::symlink_metadata(&path).unwrap();
    let same = |metadata: &fs::Metadata| {
        (metadata.ino(), metadata.mode(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
    };
    assert_eq!(same(&before), same(&after), "{}: {what}", client.name);
    assert_eq!(names(path.parent().unwrap()), others, "{}: {what}", client.name);
}

#[test]
fn broken_and_odd_files_are_left_as_they_are() {
    let home = Home::new();
    for client in CLIENTS {
        let path = home.path(client);
        let broken = if client.reads_toml() { broken_toml() } else { broken_json() };
        assert!(broken.len() >= 20);
        for (what, bytes) in broken {
            let bytes = match std::str::from_utf8(&bytes) {
                Ok(text) => text.replace("\"S\"", &format!("\"{}\"", client.servers)).into_bytes(),
                Err(_) => bytes,
            };
            fs::write(&path, &bytes).unwrap();
            check_untouched(&home, client, what);
            assert!(fs::read(&path).unwrap() == bytes, "{}: {what}", client.name);
            fs::remove_file(&path).unwrap();
        }
        let text = if client.reads_toml() { "a = 1\n" } else { "{}\n" };
        let elsewhere = home.directory.path().join("elsewhere");
        fs::write(&elsewhere, text).unwrap();
        symlink(&elsewhere, &path).unwrap();
        check_untouched(&home, client, "symbolic link");
        fs::remove_file(&path).unwrap();
        symlink("/nowhere/at/all", &path).unwrap();
        check_untouched(&home, client, "symbolic link to nothing");
        fs::remove_file(&path).unwrap();
        fs::hard_link(&elsewhere, &path).unwrap();
        check_untouched(&home, client, "hard link");
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), text);
        fs::create_dir(&path).unwrap();
        check_untouched(&home, client, "directory");
        fs::remove_dir(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        check_untouched(&home, client, "pipe");
        fs::remove_file(&path).unwrap();
        fs::write(&path, text).unwrap();
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set_mode(&path, 0o444);
        check_untouched(&home, client, "read-only file");
        set_mode(&path, 0o644);
        let directory = path.parent().unwrap();
        set_mode(directory, 0o555);
        check_untouched(&home, client, "read-only directory");
        set_mode(directory, 0o755);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// True if all bytes of a text are in another one, in order.
fn is_within(text: &str, longer: &str) -> bool {
    let mut rest = longer.bytes();
    text.bytes().all(|byte| rest.any(|other| other == byte))
}

#[test]
fn everything_else_in_a_file_survives() {
    let home = Home::new();
    for client in CLIENTS {
        let path = home.path(client);
        let odd = if client.reads_toml() { odd_toml() } else { odd_json() };
        for (what, text) in odd {
            let text = text.replace("\"S\"", &format!("\"{}\"", client.servers));
            fs::write(&path, &text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            let output = home.run(&[client.name, "--write", "--json"]);
            assert_eq!(output.status.code(), Some(0), "{}: {what}: {}", client.name, stderr(&output));
            let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
            assert_eq!(report["effect"], "updated", "{report}");
            let edited = fs::read_to_string(&path).unwrap();
            assert!(is_within(&text, &edited), "{}: {what}:\n{edited}", client.name);
            for comment in text.lines().filter(|line| line.contains("//") || line.contains('#')) {
                let comment = comment.split_once("//").or(comment.split_once('#')).unwrap().1;
                assert!(edited.contains(comment), "{what}: {comment}");
            }
            assert_eq!(edited.contains('\r'), text.contains('\r'), "{what}");
            assert!(!text.contains('\r') || !edited.replace("\r\n", "").contains('\n'), "{what}: {edited:?}");
            let entry = client.parse(report["configuration"].as_str().unwrap())[client.servers]["agentdex"].clone();
            let mut expected = client.parse(&text);
            expected[client.servers]["agentdex"] = entry;
            assert_eq!(client.parse(&edited), expected, "{}: {what}", client.name);
            let backup = PathBuf::from(report["backup"].as_str().unwrap());
            assert_eq!(fs::read_to_string(&backup).unwrap(), text, "{what}");
            for file in [&path, &backup] {
                assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o640, "{what}");
            }
            let others = names(path.parent().unwrap());
            assert!(
                others.iter().all(|name| !name.contains(".agentdex-") || name.ends_with(".agentdex-backup")),
                "{others:?}"
            );
            // A second time nothing is written, and another server only with `--replace`.
            assert!(home.done(&[client.name, "--write"]).contains("already has this entry"), "{what}");
            let other = edited.replace(&home.registry.url(""), "http://127.0.0.1:1");
            fs::write(&path, &other).unwrap();
            check_untouched(&home, client, what);
            home.done(&[client.name, "--write", "--replace"]);
            assert_eq!(client.parse(&fs::read_to_string(&path).unwrap()), expected, "{}: {what}", client.name);
            fs::remove_file(&path).unwrap();
            fs::remove_file(&backup).unwrap();
        }
    }
}
