//! An event stream as a client reads it.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::call::Call;

/// How long an event may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// One event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: String,
    pub kind: String,
    pub data: String,
}

impl Event {
    /// The data as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// An event stream that is open.
pub struct EventStream {
    runtime: Runtime,
    response: reqwest::Response,
    text: String,
    /// The last id that was received, at first where the stream starts: what a client reconnects with.
    pub last_id: String,
}

impl EventStream {
    /// Sends a request and expects an event stream. It is at its position when this returns.
    pub fn open(call: Call) -> EventStream {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let response = runtime.block_on(async { call.request.send().await.unwrap() });
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let start = response.headers().get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        EventStream { runtime, response, text: String::new(), last_id: start.unwrap_or_default() }
    }

    /// The next event with data; none once the stream has ended.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    let values: Vec<_> = block.lines().filter_map(|line| line.strip_prefix(name)).collect();
                    (!values.is_empty()).then(|| values.join("\n"))
                };
                if let Some(id) = field("id: ") {
                    self.last_id = id;
                }
                if let Some(data) = field("data: ") {
                    return Some(Event { id: self.last_id.clone(), kind: field("event: ").unwrap_or_default(), data });
                }
            }
            if !self.read() {
                return None;
            }
        }
    }

    /// The next so many events.
    pub fn take(&mut self, count: usize) -> Vec<Event> {
        (0..count).map(|_| self.next().expect("the stream ended")).collect()
    }

    /// Waits until the text that came matches.
    pub fn wait_for_text(&mut self, wanted: &str) {
        while !self.text.contains(wanted) {
            assert!(self.read(), "the stream ended without {wanted:?}");
        }
    }

    fn read(&mut self) -> bool {
        let response = &mut self.response;
        let chunk = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, response.chunk()).await });
        match chunk.expect("no event in time").unwrap_or(None) {
            Some(chunk) => {
                self.text.push_str(std::str::from_utf8(&chunk).unwrap());
                true
            }
            None => false,
        }
    }
}
