//! Searches, calls and changes in a demo, a line each, and their totals.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    super::output::{columns, counted, shorten, visible},
    bus_stop::BusStop,
    printer::Printer,
};
use agentdex::{
    Change, ChangeKind, Registry, Timestamp,
    registry::{Event, Subscription},
};
use agentdex_server::http::Activity;

/// Time that a search waits for one that goes on where it ends: the page searches while somebody types.
const TYPING: Duration = Duration::from_millis(700);
/// The longest text of others in a line, in characters.
const MAX_TEXT: usize = 100;

/// Numbers of searches and calls.
#[derive(Debug, Default)]
pub(super) struct Totals {
    searches: AtomicU64,
    calls: AtomicU64,
}

impl Totals {
    pub(super) fn count(&self, activity: &Activity) {
        let total = if matches!(activity, Activity::Searched { .. }) { &self.searches } else { &self.calls };
        total.fetch_add(1, Ordering::Relaxed);
    }

    /// The last line.
    pub(super) fn sentence(&self, agents: u64) -> String {
        let agents = counted(agents, "agent", "agents");
        let searches = counted(self.searches.load(Ordering::Relaxed), "search", "searches");
        let calls = counted(self.calls.load(Ordering::Relaxed), "call", "calls");
        format!(
            "{agents}, {searches}, {calls}. Nothing was kept. `agentdex serve --help` explains how to run a registry \
             that keeps its agents."
        )
    }
}

/// An activity as it is shown, with no text longer than [`MAX_TEXT`]: many of them wait.
#[derive(Debug, PartialEq)]
pub(super) enum Shown {
    Searched { query: String, found: Option<String> },
    Answered { verb: &'static str, agent: &'static str, details: String },
}

impl Shown {
    /// An activity with its texts shortened; none for one that isn't shown.
    pub(super) fn of(activity: Activity) -> Option<Shown> {
        Some(match activity {
            Activity::Searched { query, found } => {
                Shown::Searched { query: text(&query), found: found.as_deref().map(text) }
            }
            Activity::Asked { agent, question, answer } => {
                let details = format!("{} → {}", quoted(&question), quoted(&answer));
                Shown::Answered { verb: "asked", agent, details }
            }
            Activity::Called { agent, action, input, output } => {
                let details = format!("{} {} → {}", text(&action), brief(&input), brief(&output));
                Shown::Answered { verb: "called", agent, details }
            }
            _ => return None,
        })
    }
}

/// The log on the terminal, with a line for each activity and each change.
pub(super) struct ActivityLog {
    registry: Registry,
    activities: mpsc::Receiver<Shown>,
    changes: Subscription,
    bus_stop: BusStop,
    printer: Printer,
    /// A search that may go on, and until when it is waited for.
    search: Option<(String, Option<String>, Instant)>,
}

impl ActivityLog {
    pub(super) fn new(
        registry: Registry,
        activities: mpsc::Receiver<Shown>,
        changes: Subscription,
        printer: Printer,
    ) -> ActivityLog {
        ActivityLog { registry, activities, changes, bus_stop: BusStop::new(), printer, search: None }
    }

    /// Prints until the registry is closed.
    pub(super) async fn show(mut self) {
        loop {
            let waited = self.search.as_ref().map(|(.., until)| *until);
            let waited = async move {
                match waited {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(activity) = self.activities.recv() => self.show_activity(activity),
                change = self.changes.next_event() => match change {
                    Some(Ok(Event::Change(change))) => {
                        let (verb, details) = self.changed(&change);
                        self.line(verb, &details);
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
                () = self.bus_stop.is_due() => self.bus_stop.change(&self.registry).await,
                () = waited => self.print_search(),
            }
        }
    }

    fn show_activity(&mut self, activity: Shown) {
        match activity {
            Shown::Searched { query, found } => {
                let goes_on = |before: &str| query.starts_with(before) || before.starts_with(&query);
                if self.search.as_ref().is_some_and(|(before, ..)| !goes_on(before)) {
                    self.print_search();
                }
                self.search = Some((query, found, Instant::now() + TYPING));
            }
            Shown::Answered { verb, agent, details } => {
                let agent = self.title(agent);
                self.line(verb, &format!("{agent}: {details}"));
            }
        }
    }

    fn print_search(&mut self) {
        let Some((query, found, _)) = self.search.take() else { return };
        self.line("searched", &format!("\"{query}\" → {}", found.as_deref().unwrap_or("nothing")));
    }

    /// The verb for a change, and its details.
    fn changed(&self, change: &Change) -> (&'static str, String) {
        let members = |json: Option<&str>| json.and_then(|json| serde_json::from_str::<Value>(json).ok());
        let title = self.title(&change.id);
        match change.kind {
            ChangeKind::Created => {
                let created = members(change.td.as_ref().map(|td| td.get()));
                let title = created.and_then(|td| Some(text(td.get("title")?.as_str()?))).unwrap_or(title);
                ("created", format!("{title} ({})", text(&change.id)))
            }
            ChangeKind::Updated => {
                let patch = members(change.patch.as_ref().map(|patch| patch.get())).unwrap_or_default();
                let description = patch.get("description").and_then(Value::as_str).map(text);
                let names = || patch.as_object().map(|patch| patch.keys().cloned().collect::<Vec<_>>().join(", "));
                let details = description.or_else(names).unwrap_or_default();
                ("updated", format!("{title}: {}", text(&details)))
            }
            ChangeKind::Deleted => {
                let reason = change.reason.map(|reason| format!(" ({})", reason.as_str())).unwrap_or_default();
                ("removed", format!("{}{reason}", text(&change.id)))
            }
        }
    }

    /// The title of an agent, else its id.
    fn title(&self, id: &str) -> String {
        let found = self.registry.find(id).ok().flatten();
        let value = found.and_then(|thing| serde_json::from_str::<Value>(thing.text()).ok());
        text(value.as_ref().and_then(|value| value.get("title")?.as_str()).unwrap_or(id))
    }

    /// Prints a line, after the search that came before it.
    fn line(&mut self, verb: &str, details: &str) {
        if verb != "searched" {
            self.print_search();
        }
        let time = Timestamp::now().to_string();
        let start = format!("{}  {verb:<9}", time.get(11..19).unwrap_or_default());
        let details = shorten(details, columns().map_or(usize::MAX, |columns| columns.saturating_sub(start.len())));
        self.printer.print(format!("{start}{details}"));
    }
}

/// A text of others as a part of a line.
fn text(text: &str) -> String {
    shorten(&visible(text), MAX_TEXT)
}

fn quoted(words: &str) -> String {
    format!("\"{}\"", text(words))
}

fn brief(value: &Value) -> String {
    text(&value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_more_of_an_activity_waits_than_is_shown() {
        let long = "é".repeat(1_000_000);
        let short = format!("{}…", "é".repeat(MAX_TEXT));
        assert_eq!(text(&long), short);
        assert_eq!(brief(&json!(long)), format!("\"{}…", "é".repeat(MAX_TEXT - 1)));
        let searched = Activity::Searched { query: long.clone(), found: Some(long.clone()) };
        let shown = Shown::Searched { query: short.clone(), found: Some(short.clone()) };
        assert_eq!(Shown::of(searched), Some(shown));
        let asked = Activity::Asked { agent: "urn:demo:units", question: long.clone(), answer: long };
        let details = format!("\"{short}\" → \"{short}\"");
        assert_eq!(Shown::of(asked), Some(Shown::Answered { verb: "asked", agent: "urn:demo:units", details }));
    }
}
