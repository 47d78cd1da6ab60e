//! The first lines that a demo prints: its addresses, and commands to try.

use std::{
    env,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
};

use crate::cli::output::quoted;

/// Labels and arguments of the commands.
const COMMANDS: [(&str, &str); 6] = [
    ("Find an agent", r#"search "how late is it in Tokyo""#),
    ("Ask one", r#"ask "convert units" "How many miles are 42 km?""#),
    ("Chat: Convert 42, then km", "chat urn:demo:units"),
    ("Call an action", r#"call urn:demo:dice roll --input '{"dice": 2}'"#),
    ("Watch the bus stop", "watch"),
    ("Run a Flow of two agents", r#"run urn:demo:flow --input '{"city": "Tokyo"}'"#),
];

/// The addresses of a demo.
pub(super) struct Addresses {
    pub(super) http: SocketAddr,
    pub(super) mqtt: Option<SocketAddr>,
    /// True if that is where commands find a registry by themselves.
    pub(super) is_default: bool,
}

/// Prints addresses and commands.
pub(super) fn print(addresses: &Addresses, agents: u64) {
    let Addresses { http, mqtt, is_default } = addresses;
    let mqtt = mqtt.map(|mqtt| format!("    MQTT  mqtt://{mqtt}")).unwrap_or_default();
    let is_named_elsewhere = env::var_os("AGENTDEX_URL").is_some_and(|url| !url.is_empty());
    let end = if *is_default && !is_named_elsewhere { String::new() } else { format!(" --url http://{http}") };
    let program = program();
    let mut lines = vec![
        format!("agentdex demo · {agents} agents, 3 of them answer · nothing is kept · Ctrl-C to stop"),
        String::new(),
        format!("  Page  http://{http}    API  http://{http}/docs{mqtt}"),
        String::new(),
        "In another terminal:".to_owned(),
    ];
    lines.extend(COMMANDS.iter().map(|(label, arguments)| format!("  {label:<27}{program} {arguments}{end}")));
    lines.extend([String::new(), "What happens (times in UTC):".to_owned()]);
    // A demo whose standard output nobody reads, or whose disk is full, goes on all the same.
    let _ = writeln!(io::stdout(), "{}", lines.join("\n"));
}

/// The word that starts this program in a shell here: its name if that finds it, else its path.
fn program() -> String {
    const NAME: &str = "agentdex";
    let Ok(own) = env::current_exe() else { return NAME.to_owned() };
    let found = env::var_os("PATH")
        .and_then(|path| env::split_paths(&path).map(|folder| folder.join(NAME)).find(|candidate| candidate.is_file()));
    if found.and_then(|found| found.canonicalize().ok()).is_some_and(|found| own.canonicalize().ok() == Some(found)) {
        return NAME.to_owned();
    }
    let here = env::current_dir().ok();
    let below = here.as_deref().and_then(|here| own.strip_prefix(here).ok());
    quoted(&below.map_or_else(|| own.clone(), |below| Path::new(".").join(below)).display().to_string())
}
