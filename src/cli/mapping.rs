//! Parameters of documents in other formats: a flag for each one in the table of formats, as options of the converters
//! and as parameters of the REST API.

use std::{path::PathBuf, sync::LazyLock};

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser, parser::ValueSource,
};

use super::{document::FileDocument, misuse::misuse};
use agentdex::convert::{Format, ImportOptions, Parameter, ParameterKind};

const HEADING: &str = "Documents in other formats";
const COMPONENTS: &str = "component";

/// Parameters and components of documents in other formats.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapping {
    values: Vec<(&'static str, String)>,
    components: Vec<PathBuf>,
}

/// As much of a [`Mapping`] as matters for what is valid.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading(pub(super) Mapping);

/// The parameters of all formats that have one name.
struct Flag {
    name: &'static str,
    /// The same as a flag, and as the name of its value.
    long: String,
    value_name: String,
    of_formats: Vec<(Format, &'static Parameter)>,
}

static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let mut flags: Vec<Flag> = Vec::new();
    for (format, import) in Format::imports() {
        for parameter in import.parameters {
            if let Some(known) = flags.iter_mut().find(|flag| flag.name == parameter.name) {
                known.of_formats.push((format, parameter));
                continue;
            }
            flags.push(Flag {
                name: parameter.name,
                long: parameter.name.replace('_', "-"),
                value_name: parameter.name.to_uppercase(),
                of_formats: vec![(format, parameter)],
            });
        }
    }
    flags
});

/// Returns the help of a flag, with the formats that have it.
fn help(flag: &Flag) -> String {
    let purpose = match flag.name {
        "id" => return "Id of the agent; overrides the id that is in the document or derived from it".to_owned(),
        "base" => {
            return "agent-spec: address of the agent; {id} and {name} stand for its id and name. Other formats: URL of \
                    the document, used to resolve relative URLs"
                .to_owned();
        }
        "protocol" => "How to call the agent: http sends its inputs as JSON, a2a sends A2A messages",
        "security" => {
            "Security scheme to use if the document doesn't name one: auto leaves it open, apikey is a key in the header \
             X-API-Key"
        }
        "profile" => "Validation rules: spec follows the specification, sdk the Python SDK",
        "publisher" => "Publisher in the id of components without a UUID, urn:agentspec:PUBLISHER:ID; local by default",
        "nested" => "Register nested agents as separate agents, too",
        "tools" => "Register callable tools as separate agents, too",
        "publish_prompts" => "Store prompts, instructions, and resources, and make them searchable",
        _ => flag.of_formats.first().map_or("", |(_, parameter)| parameter.help),
    };
    let formats: Vec<&str> = flag.of_formats.iter().map(|(format, _)| format.name()).collect();
    format!("{purpose} ({} only)", formats.join(" and "))
}

fn argument(flag: &'static Flag) -> Arg {
    let arg = Arg::new(flag.name).long(flag.long.as_str()).help(help(flag)).help_heading(HEADING);
    match flag.of_formats.first().map(|(_, parameter)| parameter.kind) {
        Some(ParameterKind::Flag) => arg.action(ArgAction::SetTrue),
        Some(ParameterKind::Choice(words)) => {
            let first = words.first().copied().unwrap_or_default();
            arg.value_parser(PossibleValuesParser::new(words)).default_value(first).value_name(flag.value_name.as_str())
        }
        Some(ParameterKind::Source) => arg.value_name("URL"),
        _ if flag.name == "base" => arg.value_name("URL"),
        _ => arg.value_name(flag.value_name.as_str()),
    }
}

fn add_flags(mut command: Command, is_wanted: fn(&Parameter) -> bool) -> Command {
    for flag in FLAGS.iter() {
        if flag.of_formats.iter().any(|(_, parameter)| is_wanted(parameter)) {
            command = command.arg(argument(flag));
        }
    }
    let with_components = Format::imports().filter(|(_, import)| import.takes_components).map(|(format, _)| format);
    let help = format!(
        "File with components that the documents refer to; can be repeated ({} only)",
        Format::names(with_components)
    );
    let components = Arg::new(COMPONENTS).long(COMPONENTS).value_name("FILE").action(ArgAction::Append);
    let parser = clap::value_parser!(PathBuf);
    command.arg(components.value_parser(parser).help(help).help_heading(HEADING))
}

fn read_flags(matches: &ArgMatches, is_wanted: fn(&Parameter) -> bool) -> Mapping {
    let mut values = Vec::new();
    for Flag { name, of_formats, .. } in FLAGS.iter() {
        let Some((_, parameter)) = of_formats.iter().find(|(_, parameter)| is_wanted(parameter)) else { continue };
        let value = match parameter.kind {
            ParameterKind::Flag => matches.get_flag(name).then(|| "true".to_owned()),
            // What isn't given isn't sent: the registry knows what the agent was imported with.
            _ if matches.value_source(name) != Some(ValueSource::CommandLine) => None,
            _ => matches.get_one::<String>(name).cloned(),
        };
        values.extend(value.map(|value| (*name, value)));
    }
    let components = matches.get_many::<PathBuf>(COMPONENTS).into_iter().flatten().cloned().collect();
    Mapping { values, components }
}

/// A set of flags that is made of the table of formats.
macro_rules! flags {
    ($name:ident, $is_wanted:expr, $made:expr) => {
        impl FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> Result<$name, clap::Error> {
                Ok($made(read_flags(matches, $is_wanted)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = $name::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl Args for $name {
            fn augment_args(command: Command) -> Command {
                add_flags(command, $is_wanted)
            }

            fn augment_args_for_update(command: Command) -> Command {
                $name::augment_args(command)
            }
        }
    };
}

flags!(Mapping, |_| true, |mapping| mapping);
flags!(Reading, |parameter| parameter.is_for_validation, Reading);

impl Mapping {
    /// Refuses an id that would be given to several agents.
    pub(super) fn check_number(&self, documents: usize) -> anyhow::Result<()> {
        if self.id().is_some() && documents > 1 {
            return Err(misuse(format!("--id sets the id of a single agent, but there are {documents} documents")));
        }
        Ok(())
    }

    /// Returns the options of the converters of a format.
    ///
    /// # Errors
    /// A value that a parameter can't have, and an id or a security scheme where there is no place for one.
    pub(super) fn options(&self, format: Format) -> anyhow::Result<ImportOptions> {
        // A document of another format says both itself.
        for (name, what) in [("id", "contains its own id"), ("security", "declares its own security")] {
            let takes = |format: Format| {
                format.import().is_some_and(|import| import.parameters.iter().any(|parameter| parameter.name == name))
            };
            if self.values.iter().any(|(given, _)| *given == name) && !takes(format) {
                let others = Format::names(Format::ALL.iter().copied().filter(|format| takes(*format)));
                return Err(misuse(format!("--{name} is only for {others}; a document of the format {format} {what}")));
            }
        }
        let mut options = ImportOptions::default();
        for (name, value) in self.parameters(format, false) {
            options.set(format, name, value).map_err(misuse)?;
        }
        Ok(options)
    }

    /// The same as parameters of `POST /import/{format}`; a document that the registry fetches is from where it
    /// was fetched.
    pub(super) fn parameters(&self, format: Format, is_fetched: bool) -> Vec<(&'static str, &str)> {
        let known = format.import().map_or(&[][..], |import| import.parameters);
        let is_known = |name: &str| {
            known.iter().any(|known| known.name == name && !(is_fetched && known.kind == ParameterKind::Source))
        };
        self.values.iter().filter(|(name, _)| is_known(name)).map(|(name, value)| (*name, value.as_str())).collect()
    }

    /// The components that files name, each read once for all documents.
    pub(super) fn read_components(&self) -> anyhow::Result<Vec<FileDocument>> {
        let read = |file: &PathBuf| {
            FileDocument::read(file).map_err(|error| anyhow::anyhow!("the component {}: {error}", file.display()))
        };
        self.components.iter().map(read).collect()
    }

    /// The address of agents that `--base` gives, as the converters take it.
    pub(super) fn base(&self) -> Option<&str> {
        self.values.iter().find(|(name, _)| *name == "base").map(|(_, value)| value.as_str())
    }

    /// The id that `--id` gives to the one agent.
    pub(super) fn id(&self) -> Option<&str> {
        self.values.iter().find(|(name, _)| *name == "id").map(|(_, value)| value.as_str())
    }
}

/// The help of a flag that names the format of files.
pub(super) fn help_of_format(what: &str) -> String {
    format!("{what}: {} [default: detected from the content]", Format::names(Format::ALL.iter().copied()))
}
