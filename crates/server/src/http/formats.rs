//! Other formats in the REST API: the paths where each is imported and exported, from the table of formats.

use std::sync::LazyLock;

use agentdex_api::{DocumentFormat, FormatParameter};

use super::problem::Problem;
use crate::{
    Error,
    convert::{Export, Format, Import, Parameter, ParameterKind, detect},
};

/// Query parameters of an import in any format.
pub(super) const COMMON_PARAMETERS: [&str; 7] =
    ["if_exists", "replace", "ttl", "dry_run", "visibility", "namespace", "versions"];

/// The endpoint that imports documents of a format.
pub(super) struct ImportPath {
    pub format: Format,
    pub import: &'static Import,
    pub path: String,
}

/// The endpoint that exports Things in a format.
pub(super) struct ExportPath {
    pub format: Format,
    pub export: &'static Export,
    /// The path, with `{id}` in it.
    pub path: String,
    /// Path suffix after the id, with a slash.
    pub end: String,
}

/// The endpoints of all formats that can be imported.
pub(super) static IMPORTS: LazyLock<Vec<ImportPath>> = LazyLock::new(|| {
    let path = |(format, import)| ImportPath { format, import, path: format!("/import/{format}") };
    Format::imports().map(path).collect()
});

/// The endpoints of all formats that can be exported.
pub(super) static EXPORTS: LazyLock<Vec<ExportPath>> = LazyLock::new(|| {
    let path = |(format, export): (Format, &'static Export)| {
        let end = format!("/{}", export.path);
        ExportPath { format, export, path: format!("/things/{{id}}{end}"), end }
    };
    Format::exports().map(path).collect()
});

/// The problem of a document that is refused; where it is in another format than expected, it names the
/// endpoint that takes it.
pub(super) fn explain(error: Error, json: &[u8], expected: Format) -> Problem {
    let is_about_kind = matches!(
        error,
        Error::Invalid(_) | Error::InvalidSource { .. } | Error::MissingId | Error::UnexpectedId { .. }
    );
    let other = is_about_kind.then(|| other_format(json, expected)).flatten();
    let problem = Problem::from(error);
    let Some(other) = other else { return problem };
    let detail = format!("{other}; the error was: {problem}");
    problem.with_detail(detail)
}

/// Of a document in another format than expected, what it is and which endpoint takes it.
pub(super) fn other_format(json: &[u8], expected: Format) -> Option<String> {
    let found = detect(str::from_utf8(json).ok()?).ok().filter(|found| *found != expected)?;
    Some(format!("the document is {}; POST it to {}", found.descriptor().noun, path_of_import(found)))
}

/// Returns the path that documents of a format are posted to; `/things` for a format without an import of its own.
pub(super) fn path_of_import(format: Format) -> &'static str {
    IMPORTS.iter().find(|import| import.format == format).map_or("/things", |import| &import.path)
}

/// The formats, and what is done with each.
pub(super) fn list(base: &str) -> Vec<DocumentFormat> {
    let describe = |format: &Format| {
        let export = EXPORTS.iter().find(|export| export.format == *format);
        let versions = export.map_or(&[][..], |export| export.export.versions);
        DocumentFormat {
            export: export.map(|export| format!("{base}{}", export.path)),
            import: format!("{base}{}", path_of_import(*format)),
            name: format.name().to_owned(),
            noun: format.descriptor().noun.to_owned(),
            parameters: format.import().map_or(&[][..], |import| import.parameters).iter().map(described).collect(),
            tracked: format.import().is_some_and(|import| import.tracking.is_some()),
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
        }
    };
    Format::ALL.iter().map(describe).collect()
}

fn described(parameter: &Parameter) -> FormatParameter {
    let (kind, choices) = match parameter.kind {
        ParameterKind::Text => ("text", &[][..]),
        ParameterKind::Id => ("id", &[][..]),
        ParameterKind::Source => ("url", &[][..]),
        ParameterKind::Flag => ("flag", &[][..]),
        ParameterKind::Choice(words) => ("choice", words),
    };
    FormatParameter {
        choices: choices.iter().map(|word| (*word).to_owned()).collect(),
        help: parameter.help.to_owned(),
        kind: kind.into(),
        name: parameter.name.to_owned(),
    }
}

/// The problem of what was to be fetched from this URL; where that is in another format than expected, it names the
/// endpoint that takes it.
pub(super) fn explain_fetched(error: Error, url: &str) -> Problem {
    let found = match &error {
        Error::OtherFormat { found, noun, .. } => Some((*found, *noun)),
        Error::RejectedDocument { source, .. } => match &**source {
            Error::OtherFormat { found, noun, .. } => Some((*found, *noun)),
            _ => None,
        },
        _ => None,
    };
    let problem = Problem::of_fetched(error, url);
    let Some((found, noun)) = found else { return problem };
    let import = IMPORTS.iter().find(|import| import.format.name() == found);
    let what_to_do = match import {
        Some(ImportPath { import: Import { tracking: Some(_), .. }, path, .. }) => format!("POST its URL to {path}"),
        Some(import) => format!("POST the document itself to {}", import.path),
        None => "POST the document itself to /things".to_owned(),
    };
    let detail = format!("the document at the URL is {noun}; {what_to_do}; the error was: {problem}");
    problem.with_detail(detail).with("format", found)
}
