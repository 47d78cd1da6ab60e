//! Command lines that can't be understood: what is wrong, and what was probably meant.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;

use super::{misuse, output::complain_json};

/// Prints an error of the command line, or the help or version that was asked for.
pub(super) fn report(mut error: clap::Error, as_json: bool) -> ExitCode {
    suggest_nearest(&mut error);
    // Nobody who misspells a flag means to pass it as a value.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    let status = u8::try_from(error.exit_code()).unwrap_or(misuse::STATUS);
    match as_json && error.use_stderr() {
        true => {
            let text = error.render().to_string();
            let (message, hint) = text.split_once("\n\n").unwrap_or((&text, ""));
            let message = message.strip_prefix("error: ").unwrap_or(message);
            complain_json(&json!({"error": message.trim_end(), "hint": hint.trim()}));
        }
        // Nobody is left to tell if standard error is closed.
        false => drop(error.print()),
    }
    ExitCode::from(status)
}

/// Leaves the commands that are nearest to the one that was typed, of all that clap suggests, worst first.
fn suggest_nearest(error: &mut clap::Error) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let Some(ContextValue::Strings(suggested)) = error.get(ContextKind::SuggestedSubcommand) else { return };
    let distance = |name: &str| strsim::osa_distance(typed, name);
    let Some(least) = suggested.iter().map(|name| distance(name)).min() else { return };
    let nearest = suggested.iter().filter(|name| distance(name) == least).cloned().collect();
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(nearest));
}
