//! `agentdex validate`: would the registry take this description, and if not, why?
//!
//! Without flags the question is what a registry with `--validation lenient` would do: what it would
//! fix is a warning. `--strict` fixes nothing. `--schema-only` fixes nothing either and runs the
//! JSON Schemas alone. Documents in other formats are checked by their own rules.

use std::{
    borrow::Cow,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde::Serialize;

use super::{
    document::{self, FileDocument, ReadError},
    mapping::{Reading, help_of_format},
    output::{Style, visible},
    terminal::stdout,
};
use agentdex::{
    Error,
    convert::{Credentials, Format},
    td::{self, Layers, Report, Strictness, Version, Violation},
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// JSON, YAML (.yaml, .yml), or JSON5 files, folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(long, help = help_of_format("Format of all files"))]
    format: Option<Format>,
    /// Report problems in Thing Descriptions as errors, even if a lenient registry would fix them
    #[arg(long)]
    strict: bool,
    /// Print a line of JSON for each file
    #[arg(long)]
    json: bool,
    /// Check Thing Descriptions only against the JSON Schema of their version (TD 1.0 or 1.1), without fixing them
    /// first
    #[arg(long)]
    schema_only: bool,
    #[command(flatten)]
    reading: Reading,
}

/// The rule that a file without a document breaks.
const UNREADABLE: &str = "unreadable";

/// The result for a file, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Verdict<'a> {
    file: Cow<'a, str>,
    format: Option<&'static str>,
    valid: bool,
    version: Option<Version>,
    violations: Vec<Finding<'a>>,
    warnings: Vec<Finding<'a>>,
}

#[derive(Debug, Serialize)]
struct Finding<'a> {
    severity: &'static str,
    #[serde(flatten)]
    violation: &'a Violation,
}

impl Verdict<'_> {
    fn new<'a>(file: Cow<'a, str>, format: Option<Format>, report: &'a Report) -> Verdict<'a> {
        let with = |severity| move |violation| Finding { severity, violation };
        Verdict {
            file,
            format: format.map(Format::name),
            valid: report.is_valid(),
            version: report.version,
            violations: report.violations.iter().map(with("error")).collect(),
            warnings: report.warnings.iter().map(with("warning")).collect(),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let style = Style::stdout();
    let components = arguments.reading.0.read_components()?;
    let mut out = stdout();
    let (mut valid, mut invalid) = (0, 0);
    for path in document::files(&arguments.files)? {
        let (format, report) = check(arguments, &components, &path);
        if report.is_valid() {
            valid += 1;
        } else {
            invalid += 1;
        }
        let file = path.to_string_lossy();
        if arguments.json {
            writeln!(out, "{}", serde_json::to_string(&Verdict::new(file, format, &report))?)?;
        } else {
            print(&mut out, style, &file, format, &report)?;
        }
    }
    if !arguments.json && valid + invalid > 1 {
        writeln!(out, "{valid} valid, {invalid} invalid")?;
    }
    Ok(if invalid == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Validates a file. Returns its format as far as that is known, and the report of what is wrong.
fn check(arguments: &Arguments, components: &[FileDocument], path: &Path) -> (Option<Format>, Report) {
    let document = match FileDocument::read(path) {
        Ok(document) => document,
        Err(ReadError::File(error)) => return (arguments.format, refused(UNREADABLE, error.to_string())),
        Err(ReadError::Document(error)) => return (arguments.format, report_of(error)),
        Err(error @ ReadError::Unknown(_)) => return (arguments.format, refused(UNREADABLE, error.to_string())),
    };
    let format = match document.format(arguments.format) {
        Ok(format) => format,
        Err(error) => return (None, report_of(error)),
    };
    let components = document::component_inputs(components);
    let checked = match format.import() {
        None => document.thing_description().map(|thing| check_thing(arguments, thing)),
        Some(import) => match arguments.reading.0.options(format) {
            Ok(options) => import.validate(&document.input(&components), &options).map_err(Error::from),
            Err(error) => return (Some(format), refused("refused", error.to_string())),
        },
    };
    let mut report = checked.unwrap_or_else(report_of);
    let Some(departure) = document.not_json else { return (Some(format), report) };
    if arguments.strict || arguments.schema_only {
        return (Some(format), refused("malformed-json", departure));
    }
    let message =
        format!("the file is JSON5, which the REST API doesn't accept (`agentdex register` does): {departure}");
    report.warnings.insert(0, Violation { pointer: String::new(), rule: "not-json".into(), message });
    (Some(format), report)
}

fn check_thing(arguments: &Arguments, thing: td::Document) -> Report {
    if arguments.schema_only {
        return td::validate(&thing, Layers::Schema);
    }
    let credentials = Credentials::find(thing.text(), thing.value());
    let mut report = td::assess(thing, if arguments.strict { Strictness::Strict } else { Strictness::Lenient });
    report.warnings.extend(credentials.warnings());
    report
}

fn report_of(error: Error) -> Report {
    if let Error::InvalidSource { report, .. } = error {
        return report;
    }
    let rule = match &error {
        Error::MalformedJson { .. } => "malformed-json",
        Error::MalformedYaml { .. } => "malformed-yaml",
        Error::DocumentTooLarge { .. } | Error::LimitExceeded { .. } => "limit-exceeded",
        Error::UnclearFormat { .. } => "unclear-format",
        _ => "refused",
    };
    refused(rule, error.to_string())
}

fn refused(rule: &'static str, message: String) -> Report {
    let violation = Violation { pointer: String::new(), rule: rule.into(), message };
    Report { violations: vec![violation], ..Report::default() }
}

fn print(out: &mut impl Write, style: Style, file: &str, format: Option<Format>, report: &Report) -> io::Result<()> {
    if let [violation] = report.violations.as_slice()
        && violation.rule == UNREADABLE
    {
        return writeln!(out, "{}: {}: {}", style.bold(file), style.red(UNREADABLE), visible(&violation.message));
    }
    let version = match (report.version, format) {
        (Some(Version::V1_0), _) => " (TD 1.0)".to_owned(),
        (Some(Version::V1_1), _) => " (TD 1.1)".to_owned(),
        (None, None | Some(Format::ThingDescription)) => String::new(),
        (None, Some(format)) => format!(" ({format})"),
    };
    let verdict = if report.is_valid() { style.green("valid") } else { style.red("invalid") };
    writeln!(out, "{}: {verdict}{version}", style.bold(file))?;
    for violation in &report.violations {
        print_finding(out, &style.red("error"), violation)?;
    }
    for warning in &report.warnings {
        print_finding(out, &style.yellow("warning"), warning)?;
    }
    Ok(())
}

fn print_finding(out: &mut impl Write, kind: &str, finding: &Violation) -> io::Result<()> {
    let pointer = if finding.pointer.is_empty() { "the document" } else { &finding.pointer };
    writeln!(out, "  {kind} at {}: {} [{}]", visible(pointer), visible(&finding.message), finding.rule)
}
