//! Sources of settings, in order of precedence: flags, `AGENTDEX_*` variables, `agentdex.toml`, defaults.
//!
//! A key of the file is the long flag with `_` for `-`, a variable is the key in capitals. Whatever a value comes from,
//! clap reads it as that of the flag.

use std::{
    collections::BTreeMap,
    error::Error as _,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches,
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};
use serde::de::DeserializeOwned;
use toml::{Spanned, Value};

use super::{Settings, whole_number};
use agentdex::Error;

/// The file that is read where no other is named, if it is there.
const DEFAULT_FILE: &str = "agentdex.toml";
/// The setting that names the file, and is not in it.
const CONFIG: &str = "config";
/// The settings that say which roles callers get.
const LISTS_OF_ROLES: [&str; 2] = ["oidc_role", "tls_client_role"];
/// Variable with the password of etcd's user, which is not a setting: neither a flag nor a file may contain it.
pub const CLUSTER_PASSWORD: &str = "AGENTDEX_CLUSTER_PASSWORD";
/// The most bytes of a settings file.
const LARGEST_FILE: u64 = 1 << 20;
/// Minimum Jaro-Winkler similarity (0 to 1) of a name that is suggested for a misspelled one.
const MIN_SIMILARITY: f64 = 0.88;

const ABOUT_SETTINGS: &str = "Each option can also be set by an environment variable (--mqtt-listen is \
    AGENTDEX_MQTT_LISTEN) and, except --config, in agentdex.toml (mqtt_listen = \"127.0.0.1:1884\"). Flags take \
    precedence over variables, and variables over the file.";

/// Settings that a command line gives, before the others are read.
#[derive(Clone)]
pub struct Flags(ArgMatches);

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags, clap::Error> {
        Ok(Flags(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        // A variable or the file may have the address that this flag switches off.
        let exclude_each_other = |arg: Arg| arg.conflicts_with("mqtt_listen");
        add_flags(command, |_| true).mut_arg("no_mqtt", exclude_each_other).after_help(ABOUT_SETTINGS)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

/// Adds the flags of some settings to a command.
pub fn add_flags(command: Command, is_wanted: impl Fn(&str) -> bool) -> Command {
    let settings = Settings::augment_args(Command::new("settings"));
    let wanted = settings.get_arguments().filter(|arg| is_wanted(arg.get_id().as_str())).cloned();
    // Ranges and entries are checked with those of variables and the file.
    command.args(wanted.map(|arg| match Kind::of(&arg) {
        Kind::Number => arg.value_parser(whole_number),
        Kind::List => arg.value_parser(clap::value_parser!(String)),
        _ => arg,
    }))
}

impl Flags {
    /// Completes the flags by `variable("AGENTDEX_LISTEN")` and so on, the file and defaults. An empty variable counts as
    /// absent.
    ///
    /// # Errors
    /// A file that can't be read, an unknown key, a value that its setting can't have, and settings that contradict each
    /// other; with the flag, variable or line.
    pub fn load(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> anyhow::Result<Settings> {
        let command = Settings::augment_args(Command::new("settings").no_binary_name(true).disable_help_flag(true));
        let variable = |key: &str| variable(&variable_of(key)).filter(|value| !value.is_empty());
        let named = self.values(CONFIG).and_then(|mut values| values.pop()).or_else(|| variable(CONFIG));
        let file = File::read(named.map(PathBuf::from))?;
        file.check_keys(&command)?;

        let mut given = Vec::new();
        for arg in command.get_arguments().filter(|arg| arg.get_id() != CONFIG) {
            let key = arg.get_id().as_str();
            if let Some(values) = self.values(key) {
                given.push(Given { arg, layer: Layer::Flag, origin: format!("--{}", long(arg)), values });
            } else if let Some(value) = variable(key) {
                let origin = variable_of(key);
                let read = Kind::of(arg).read_variable(value).and_then(|values| not_empty(key, values));
                let values = read.map_err(|reason| anyhow!("{origin}: {reason}"))?;
                given.push(Given { arg, layer: Layer::Variable, origin, values });
            } else if let Some(value) = file.values.get(key) {
                let origin = file.place(value, key);
                let read = Kind::of(arg).read_toml(key, value.get_ref()).and_then(|values| not_empty(key, values));
                let values = read.map_err(|reason| anyhow!("{origin}: {reason}"))?;
                given.push(Given { arg, layer: Layer::File, origin, values });
            }
        }

        // An address that comes before the switch was meant to be listened on.
        let layer = |key: &str| given.iter().find(|given| given.arg.get_id() == key).map(|given| given.layer);
        if layer("mqtt_listen") > layer("no_mqtt") {
            given.retain(|given| given.arg.get_id() != "no_mqtt");
        }

        let arguments = given.iter().flat_map(Given::arguments);
        let matches = command.clone().try_get_matches_from(arguments).map_err(|error| refusal(&error, &given))?;
        let settings = Settings { config: file.path, ..Settings::from_arg_matches(&matches)? };
        settings.validate()?;
        Ok(settings)
    }

    /// The values of a flag that was given.
    fn values(&self, key: &str) -> Option<Vec<OsString>> {
        let is_given =
            self.0.try_contains_id(key).unwrap_or(false) && self.0.value_source(key) == Some(ValueSource::CommandLine);
        is_given.then(|| self.0.get_raw(key).into_iter().flatten().map(OsStr::to_owned).collect())
    }
}

/// Refuses an empty list if an omitted one has another meaning: no roles are not the default roles.
fn not_empty(key: &str, values: Vec<OsString>) -> Result<Vec<OsString>, String> {
    if values.is_empty() && LISTS_OF_ROLES.contains(&key) {
        return Err("it is empty; omit the setting for the default, or list a role such as `read`".to_owned());
    }
    Ok(values)
}

/// The origin of a setting, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    File,
    Variable,
    Flag,
}

/// A setting that isn't left to its default.
struct Given<'a> {
    arg: &'a Arg,
    layer: Layer,
    /// The flag, variable, or line and key, for errors.
    origin: String,
    values: Vec<OsString>,
}

impl Given<'_> {
    /// The setting as flags.
    fn arguments(&self) -> Vec<OsString> {
        let flag = OsString::from(format!("--{}", long(self.arg)));
        match Kind::of(self.arg) {
            Kind::Switch => self.values.iter().filter(|value| *value == "true").map(|_| flag.clone()).collect(),
            _ => {
                let with_value = |value: &OsString| {
                    let mut argument = flag.clone();
                    argument.push("=");
                    argument.push(value);
                    argument
                };
                self.values.iter().map(with_value).collect()
            }
        }
    }
}

/// An error of clap with the origin of the value instead of its flag.
fn refusal(error: &clap::Error, given: &[Given<'_>]) -> anyhow::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    // As in `--listen <ADDRESS:PORT>`.
    let flag = text(ContextKind::InvalidArg).split(' ').next().and_then(|flag| flag.strip_prefix("--"));
    let is_about = |given: &&Given<'_>| given.arg.get_long() == flag;
    let origin = given.iter().find(is_about).map_or("settings", |given| &given.origin);
    match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(reason), _) => anyhow!("{origin}: {reason}"),
        (None, Some(ContextValue::Strings(known))) if !known.is_empty() => {
            anyhow!("{origin}: {:?} is not one of `{}`", text(ContextKind::InvalidValue), known.join("`, `"))
        }
        _ => anyhow!("{origin}: it is empty"),
    }
}

/// The ways that values are written in variables and in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Number,
    List,
    /// The name of a file or directory, in whatever encoding.
    Path,
    Text,
}

impl Kind {
    fn of(arg: &Arg) -> Kind {
        let read = arg.get_value_parser().type_id();
        match arg.get_action() {
            ArgAction::SetTrue => Kind::Switch,
            ArgAction::Append => Kind::List,
            _ if read == type_of::<u64>() || read == type_of::<u32>() || read == type_of::<usize>() => Kind::Number,
            _ if read == type_of::<PathBuf>() => Kind::Path,
            _ => Kind::Text,
        }
    }

    /// The values of a variable: those of a list have commas between them.
    fn read_variable(self, value: OsString) -> Result<Vec<OsString>, String> {
        let text = match (self, value.into_string()) {
            (Kind::Path, Err(path)) => return Ok(vec![path]),
            (_, text) => text.map_err(|_| "it is not UTF-8")?,
        };
        Ok(match self {
            Kind::Switch => match text.as_str() {
                "1" | "true" | "yes" | "on" => vec!["true".into()],
                "0" | "false" | "no" | "off" => vec!["false".into()],
                _ => return Err(format!("{text:?} is neither `true` nor `false`")),
            },
            Kind::Number => vec![whole_number(&text)?.to_string().into()],
            Kind::List => {
                text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(OsString::from).collect()
            }
            Kind::Path | Kind::Text => vec![text.into()],
        })
    }

    /// The values of a key. Errors show no text that may be a password.
    fn read_toml(self, key: &str, value: &Value) -> Result<Vec<OsString>, String> {
        match (self, value) {
            (Kind::Switch, Value::Boolean(value)) => Ok(vec![value.to_string().into()]),
            (Kind::Switch, other) => Err(format!("{} is neither `true` nor `false`", shown(other))),
            (Kind::Number, Value::Integer(value)) if *value >= 0 => Ok(vec![value.to_string().into()]),
            (Kind::Number, other) => Err(format!("{} is not a whole number; for example 60", shown(other))),
            (Kind::List, Value::Array(values)) if values.iter().all(Value::is_str) => {
                Ok(values.iter().filter_map(Value::as_str).map(OsString::from).collect())
            }
            (Kind::List, _) => Err(format!("it is not a list of strings; write {key} = [\"…\"]")),
            (Kind::Path | Kind::Text, Value::String(value)) => Ok(vec![value.into()]),
            (Kind::Path | Kind::Text, _) => Err(format!("it is not a string in quotes; write {key} = \"…\"")),
        }
    }
}

/// A value of the file in an error.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        _ => "it".to_owned(),
    }
}

/// The file with settings.
#[derive(Default)]
struct File {
    /// Its path; none: there is no file.
    path: Option<PathBuf>,
    text: String,
    values: BTreeMap<String, Spanned<Value>>,
}

impl File {
    /// Reads the file with this name, which must exist, else [`DEFAULT_FILE`], which need not.
    fn read(named: Option<PathBuf>) -> anyhow::Result<File> {
        let path = match named {
            Some(path) => path,
            // A link that leads nowhere is there: what it should have led to may have been `auth = true`.
            None => match fs::symlink_metadata(DEFAULT_FILE) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(File::default()),
                _ => DEFAULT_FILE.into(),
            },
        };
        let text = read_text(&path).with_context(|| format!("reading {}", path.display()))?;
        let values = read_toml(&text, &path.display().to_string())?;
        Ok(File { path: Some(path), text, values })
    }

    /// Refuses the first key that is not a setting.
    fn check_keys(&self, settings: &Command) -> anyhow::Result<()> {
        let known: Vec<&str> = keys(settings).filter(|key| *key != CONFIG).collect();
        let Some((key, value)) = self.values.iter().find(|(key, _)| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        let hint = match nearest(key, known) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "`agentdex serve --help` lists the settings".to_owned(),
        };
        Err(anyhow!("{} is not a setting; {hint}", self.place(value, &format!("`{key}`"))))
    }

    /// The file, the line of a value and its key.
    fn place(&self, value: &Spanned<Value>, key: &str) -> String {
        let path = self.path.as_deref().unwrap_or(Path::new(DEFAULT_FILE));
        format!("{}: line {}: {key}", path.display(), line_of(&self.text, value.span().start))
    }
}

/// The text of a file of at most [`LARGEST_FILE`] bytes.
fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    match read as u64 > LARGEST_FILE {
        true => Err(io::Error::other("it exceeds 1 MiB")),
        false => Ok(text),
    }
}

/// Reads something that is written in TOML; `origin` is its name in errors.
///
/// # Errors
/// [`Error::InvalidSetting`] with the line.
pub fn read_toml<T: DeserializeOwned>(text: &str, origin: &str) -> agentdex::Result<T> {
    toml::from_str(text).map_err(|error| {
        // Without the line itself, which may be the one with a broker's password.
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        Error::InvalidSetting { origin: origin.into(), message: format!("line {line}: {}", error.message()) }
    })
}

/// The number of the line that has this byte.
fn line_of(text: &str, position: usize) -> usize {
    text.get(..position).unwrap_or_default().matches('\n').count() + 1
}

/// A line for each `AGENTDEX_*` variable among `names` that is neither a setting nor one of `others`.
pub fn unknown_variables(names: impl IntoIterator<Item = String>, others: &[String]) -> Vec<String> {
    let settings = Settings::augment_args(Command::new("settings"));
    let known: Vec<String> = keys(&settings).map(variable_of).chain(others.iter().cloned()).collect();
    let mut names: Vec<String> = names.into_iter().filter(|name| name.starts_with("AGENTDEX_")).collect();
    names.sort();
    // Kubernetes describes services that are called agentdex, agentdex-mqtt and so on to all its containers.
    let services: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix("_SERVICE_HOST")).collect();
    let is_of_cluster = |name: &str| {
        let rests = services.iter().filter_map(|service| name.strip_prefix(service));
        rests.into_iter().any(|rest| rest.starts_with("_SERVICE_") || rest.starts_with("_PORT"))
    };
    // Credentials of agents are called like their security schemes; what tests set is for debug builds.
    let is_other = |name: &str| {
        name.starts_with("AGENTDEX_CREDENTIAL_") || name.starts_with("AGENTDEX_TEST_") || name == CLUSTER_PASSWORD
    };
    let is_meant = |name: &String| known.contains(name) || is_other(name) || is_of_cluster(name);
    let line = |name: &String| match nearest(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!("{name} is not a setting; did you mean {nearest}?"),
        None => format!("{name} is not a setting"),
    };
    names.iter().filter(|name| !is_meant(name)).map(line).collect()
}

/// Returns the name most similar to another, if any is similar enough.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let key = |name: &str| name.strip_prefix("AGENTDEX_").unwrap_or(name).to_lowercase();
    let similar = known.into_iter().map(|known| (strsim::jaro_winkler(&key(name), &key(known)), known));
    let best = similar.max_by(|(left, _), (right, _)| left.total_cmp(right));
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).map(|(_, known)| known)
}

fn keys(settings: &Command) -> impl Iterator<Item = &str> {
    settings.get_arguments().map(|arg| arg.get_id().as_str())
}

fn variable_of(key: &str) -> String {
    format!("AGENTDEX_{}", key.to_ascii_uppercase())
}

fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

/// The type that a setting is read as.
fn type_of<T: 'static>() -> std::any::TypeId {
    std::any::TypeId::of::<T>()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{EmbeddingModel, LogFormat, MqttListener, Validation},
        *,
    };

    /// Settings of flags, variables and a file.
    fn load(flags: &[&str], variables: &[(&str, &str)], toml: &str) -> Result<Settings, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.toml");
        fs::write(&file, toml).unwrap();
        let command = Flags::augment_args(Command::new("serve").no_binary_name(true));
        let matches = command.get_matches_from([&["--config", file.to_str().unwrap()], flags].concat());
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let flags = Flags::from_arg_matches(&matches).unwrap();
        flags.load(&value).map_err(|error| format!("{error:#}").replace(directory.path().to_str().unwrap(), ""))
    }

    #[test]
    fn flags_come_before_variables_before_the_file_before_defaults() {
        let toml = "listen = \"file:1\"\ndata = \"from-file\"\nmqtt_prefix = \"file\"\nauth = true\nsparql = true";
        let variables =
            [("AGENTDEX_LISTEN", "variable:1"), ("AGENTDEX_DATA", "from-variable"), ("AGENTDEX_AUTH", "false")];
        let settings = load(&["--listen", "flag:1"], &variables, toml).unwrap();
        assert_eq!((settings.listen.as_str(), settings.mqtt_prefix.as_str()), ("flag:1", "file"));
        assert_eq!(settings.data, Path::new("from-variable"));
        assert_eq!((settings.auth, settings.sparql, settings.examples), (false, true, false));
        assert_eq!((settings.mqtt(), settings.fetch_timeout), (MqttListener::Default, 15));
        assert!(settings.config.is_some_and(|file| file.ends_with("settings.toml")));
    }

    #[test]
    fn address_of_mqtt_and_its_switch_count_by_where_they_stand() {
        let mqtt =
            |flags: &[&str], variables: &[(&str, &str)], toml: &str| match load(flags, variables, toml).unwrap().mqtt()
            {
                MqttListener::Off => "off".to_owned(),
                MqttListener::Default => "default".to_owned(),
                MqttListener::At(address) => address.to_owned(),
            };
        assert_eq!(mqtt(&["--mqtt-listen", "a:1"], &[("AGENTDEX_NO_MQTT", "1")], "no_mqtt = true"), "a:1");
        assert_eq!(mqtt(&[], &[("AGENTDEX_MQTT_LISTEN", "a:1")], "no_mqtt = true"), "a:1");
        assert_eq!(mqtt(&["--no-mqtt"], &[("AGENTDEX_MQTT_LISTEN", "a:1")], "mqtt_listen = \"b:1\""), "off");
        assert_eq!(mqtt(&[], &[], "no_mqtt = true\nmqtt_listen = \"a:1\""), "off");
    }

    #[test]
    fn variables_are_read_as_what_they_are() {
        let variables = [
            ("AGENTDEX_NO_MQTT", "1"),
            ("AGENTDEX_MAX_TTL", "18446744073709551615"),
            ("AGENTDEX_CORS_ORIGIN", "https://a.example, https://b.example"),
            ("AGENTDEX_MQTT_URL", ""),
            ("AGENTDEX_ALLOW_FETCH", "10.1.0.0/16,cards.internal:80"),
            ("AGENTDEX_VALIDATION", "strict"),
            ("AGENTDEX_EMBEDDING_MODEL", "-model"),
        ];
        let settings = load(&[], &variables, "mqtt_url = \"mqtt://broker\"\nmqtt_listen = \"127.0.0.1:0\"").unwrap();
        assert_eq!(settings.mqtt(), MqttListener::Off);
        assert_eq!(settings.max_ttl, Some(u64::MAX));
        assert_eq!(settings.cors_origin, ["https://a.example", "https://b.example"]);
        assert_eq!(settings.mqtt_url.as_deref(), Some("mqtt://broker"));
        assert_eq!(settings.allow_fetch, ["10.1.0.0/16", "cards.internal:80"]);
        assert_eq!(settings.validation, Validation::Strict);
        assert_eq!(settings.embedding_model, EmbeddingModel::Directory("-model".into()));
    }

    #[test]
    fn lists_of_an_origin_replace_those_of_a_lower_one() {
        let toml = "cors_origin = [\"https://c.example\", \"https://d.example\"]\nallowed_host = [\"a,b\"]";
        let settings = load(&["--cors-origin", "https://a.example", "--cors-origin", "*"], &[], toml).unwrap();
        assert_eq!(
            (settings.cors_origin, settings.allowed_host),
            (vec!["https://a.example".into(), "*".into()], vec!["a,b".into()])
        );
    }

    #[test]
    fn empty_list_of_roles_is_refused_and_not_the_default_list() {
        let both = "auth = true\noidc_issuer = \"https://a\"\noidc_audience = \"b\"\n";
        let error = load(&[], &[], &format!("{both}oidc_role = []")).err().unwrap();
        assert!(error.contains("line 4: oidc_role: it is empty"), "{error}");
        let error = load(&[], &[("AGENTDEX_OIDC_ROLE", ",")], both).err().unwrap();
        assert!(error.contains("AGENTDEX_OIDC_ROLE: it is empty"), "{error}");
        assert!(load(&[], &[], "cors_origin = []").unwrap().cors_origin.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn variable_that_is_not_utf8_is_refused_by_name_unless_it_is_a_path() {
        use std::os::unix::ffi::OsStringExt;

        let load = |name: &'static str| {
            let matches = Flags::augment_args(Command::new("serve").no_binary_name(true)).get_matches_from([""; 0]);
            let value = OsString::from_vec(b"\xff".to_vec());
            let flags = Flags::from_arg_matches(&matches).unwrap();
            flags.load(&|asked| (asked == name).then(|| value.clone())).map_err(|error| format!("{error:#}"))
        };
        for name in ["AGENTDEX_LISTEN", "AGENTDEX_CORS_ORIGIN", "AGENTDEX_AUTH"] {
            assert_eq!(load(name).err().unwrap(), format!("{name}: it is not UTF-8"));
        }
        assert!(load("AGENTDEX_DATA").is_ok());
    }

    #[test]
    fn file_that_is_too_large_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.toml");
        let read = |size: u64| {
            fs::write(&file, " ".repeat(size as usize)).unwrap();
            File::read(Some(file.clone())).map_err(|error| format!("{error:#}"))
        };
        assert!(read(LARGEST_FILE).is_ok());
        assert!(read(LARGEST_FILE + 1).err().unwrap().ends_with("it exceeds 1 MiB"));
    }

    #[test]
    fn every_setting_can_be_a_variable_and_a_key() {
        let command = Settings::augment_args(Command::new("settings"));
        for arg in command.get_arguments().filter(|arg| arg.get_id() != CONFIG) {
            let key = arg.get_id().as_str();
            assert_eq!(arg.get_long(), Some(key.replace('_', "-").as_str()));
            // Refused or not, it is known.
            let (text, toml) = match Kind::of(arg) {
                Kind::Switch => ("true", "true"),
                Kind::Number => ("2000000", "2000000"),
                Kind::List => ("admin", "[\"admin\"]"),
                Kind::Path | Kind::Text => ("json", "\"json\""),
            };
            for error in
                [load(&[], &[(&variable_of(key), text)], "").err(), load(&[], &[], &format!("{key} = {toml}")).err()]
            {
                assert!(error.iter().all(|error| !error.contains("is not a setting")), "{error:?}");
            }
        }
        assert_eq!(load(&[], &[("AGENTDEX_LOG_FORMAT", "json")], "").unwrap().log_format, LogFormat::Json);
    }

    #[test]
    fn contradictions_are_refused_with_what_is_missing() {
        let both = "tls_cert = \"a\"\ntls_key = \"b\"\n";
        for (toml, missing) in [
            ("max_ttl = 5\ndefault_ttl = 6".to_owned(), "default_ttl (6 s)"),
            ("tls_cert = \"a\"".to_owned(), "tls_key"),
            ("tls_key = \"b\"".to_owned(), "tls_cert"),
            (format!("{both}tls_client_ca = \"c\""), "auth"),
            ("auth = true\ntls_client_ca = \"c\"".to_owned(), "tls_cert"),
            (format!("{both}auth = true\ntls_client_role = [\"read\"]"), "tls_client_ca"),
            (format!("{both}auth = true\ntls_client_ca = \"c\"\ntls_client_role = [\"root\"]"), "`admin`"),
            ("oidc_issuer = \"https://a\"".to_owned(), "set auth"),
            ("auth = true\noidc_issuer = \"https://a\"".to_owned(), "oidc_audience"),
            ("oidc_scope = \"openid\"".to_owned(), "oidc_issuer"),
        ] {
            let error = load(&[], &[], &toml).err().unwrap();
            assert!(error.contains(missing), "{toml}: {error}");
        }
        let whole = format!("{both}auth = true\ntls_client_ca = \"c\"\ntls_client_role = [\"read\", \"ops=admin\"]");
        assert_eq!(load(&[], &[], &whole).unwrap().tls_client_role, ["read", "ops=admin"]);
        assert!(load(&[], &[], "min_ttl = 5\nmax_ttl = 5\ndefault_ttl = 5").is_ok());
    }

    #[test]
    fn errors_do_not_repeat_a_password() {
        let error = load(&[], &[], "no_mqtt = true\nmqtt_url = \"mqtt://me:secret@broker").err().unwrap();
        assert!(error.contains("line 2") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn variables_of_a_cluster_are_its_own() {
        let unknown = |names: &[&str]| unknown_variables(names.iter().map(|name| (*name).to_owned()), &[]);
        assert_eq!(unknown(&["AGENTDEX_PORT", "HOME"]), ["AGENTDEX_PORT is not a setting"]);
        assert!(unknown(&["AGENTDEX_PORT_8080_TCP", "AGENTDEX_SERVICE_HOST", "AGENTDEX_SERVICE_PORT"]).is_empty());
        let second = ["AGENTDEX_MQTT_PORT_1883_TCP_ADDR", "AGENTDEX_MQTT_SERVICE_HOST", "AGENTDEX_MQTT_SERVICE_PORT"];
        assert!(unknown(&second).is_empty());
    }
}
