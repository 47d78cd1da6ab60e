//! Command lines that can't be understood: what is wrong, and what was probably meant.

use std::process::ExitCode;

use serde_json::json;

use super::output::complain_json;

/// Prints an error of the command line, or the help or version that was asked for.
pub(super) fn report(error: clap::Error, as_json: bool) -> ExitCode {
    let status = u8::try_from(error.exit_code()).unwrap_or(super::misuse::STATUS);
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
