//! Status messages of an action in the LMOS protocol. While the action is running, they contain parts of the answer;
//! the last message contains the complete answer.

use serde_json::Value;

use super::{
    Error, Event, Reply, Result, State, Status,
    action_state::{reason, state},
};

/// Maximum length of interim output that is compared with the final output, in bytes of JSON.
const MAX_COMPARED: usize = 64 * 1024;

/// Interim output of an action, as pieces of the answer. The part of the final output, the actual answer, that equals
/// these pieces is not shown again.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    outputs: Vec<Value>,
    bytes: usize,
}

impl Pieces {
    fn push(&mut self, output: &Value) {
        if output.is_null() || self.bytes > MAX_COMPARED {
            return;
        }
        self.bytes += output.to_string().len();
        self.outputs.push(output.clone());
    }

    /// True if a text at the end would stand in the line of the last piece.
    fn are_open_before(&self, output: &Value) -> bool {
        let last = self.outputs.last().and_then(Value::as_str);
        output.is_string() && last.is_some_and(|last| !last.ends_with('\n'))
    }

    /// True if an output equals all pieces together.
    fn are(&self, output: &Value) -> bool {
        if self.outputs.is_empty() || self.bytes > MAX_COMPARED {
            return false;
        }
        let texts: Option<Vec<&str>> = self.outputs.iter().map(Value::as_str).collect();
        match (output, texts, self.outputs.as_slice()) {
            (Value::String(output), Some(texts), _) => *output == texts.concat() || *output == texts.join("\n"),
            (output, _, [only]) => output == only,
            (Value::Array(output), _, pieces) => output == pieces,
            _ => false,
        }
    }
}

/// Request to which the status is an answer.
pub(super) struct Asked<'a> {
    pub(super) binding: &'static str,
    pub(super) target: &'a str,
    /// Task id by which later requests refer to the action.
    pub(super) task: Option<&'a str>,
    /// True if the status itself was requested. It is then the answer in any case.
    pub(super) is_status: bool,
}

/// The events of a message `actionStatus`, after these pieces.
pub(super) fn events(message: &Value, asked: &Asked<'_>, pieces: &mut Pieces) -> Result<Vec<Event>> {
    let status = message.get("status").and_then(Value::as_str).unwrap_or_default();
    let Some(state) = state(status) else {
        let reason = format!("unknown action status {status:?}");
        return Err(Error::Protocol { url: asked.target.to_owned(), binding: asked.binding, reason });
    };
    let output = message.get("output").cloned().unwrap_or_default();
    if state == State::Failed && !asked.is_status {
        let said = message.get("error").filter(|error| !error.is_null()).unwrap_or(&output);
        let message = reason(said).unwrap_or_else(|| match said {
            Value::Null => String::new(),
            said => said.as_str().map_or_else(|| said.to_string(), str::to_owned),
        });
        return Err(Error::Failed { state: State::Failed, message, data: None });
    }
    if state == State::Cancelled && !asked.is_status {
        return Err(Error::Failed { state: State::Cancelled, message: String::new(), data: None });
    }
    let is_shown = pieces.are(&output);
    let pieces_are_open = pieces.are_open_before(&output);
    pieces.push(&output);
    let mut reply = Reply::data(output);
    reply.state = state;
    if asked.is_status || state.is_final() || state.needs_input() {
        reply.continuation.task = asked.task.filter(|_| !state.is_final()).map(str::to_owned);
        let mut events = reply.clone().events();
        if is_shown && !asked.is_status {
            events.drain(..events.len() - 1);
        } else if pieces_are_open {
            events.insert(0, Event::Text("\n".to_owned()));
        }
        if asked.is_status {
            events.pop();
            events.push(Event::Done(reply));
        }
        return Ok(events);
    }
    let progress = message.get("progress").and_then(Value::as_f64);
    let mut events = vec![Event::Status(Status { state, message: None, progress })];
    events.extend(reply.message.parts.into_iter().map(Event::of_part));
    Ok(events)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answer_builder::AnswerBuilder;

    /// What a stream shows of these statuses, and the answer.
    fn shown_and_answered(statuses: &[Value]) -> (Vec<Event>, crate::Message) {
        let asked = Asked { binding: "test", target: "test", task: None, is_status: false };
        let (mut pieces, mut shown, mut builder) = (Pieces::default(), Vec::new(), AnswerBuilder::new("urn:a", 10_000));
        for status in statuses {
            for event in events(status, &asked, &mut pieces).unwrap() {
                match event {
                    Event::Done(reply) if reply.message.is_empty() => return (shown, builder.into_message()),
                    Event::Done(reply) => return (shown, reply.message),
                    Event::Status(_) => {}
                    event => {
                        builder.push(&event).unwrap();
                        shown.push(event);
                    }
                }
            }
        }
        panic!("no end");
    }

    fn running(output: Value) -> Value {
        json!({"status": "running", "output": output})
    }

    fn completed(output: Value) -> Value {
        json!({"status": "completed", "output": output})
    }

    #[test]
    fn final_output_is_the_answer_and_shown_once_if_it_equals_the_pieces() {
        let text = |text: &str| Event::Text(text.to_owned());
        for last in ["It rains.", "It \nrains."] {
            let (shown, answer) =
                shown_and_answered(&[running(json!("It ")), running(json!("rains.")), completed(json!(last))]);
            assert_eq!((shown, answer.text().as_str()), (vec![text("It "), text("rains.")], last));
        }
        let (shown, answer) = shown_and_answered(&[running(json!("- one")), completed(json!("done"))]);
        assert_eq!((shown, answer.text().as_str()), (vec![text("- one"), text("\n"), text("done")], "done"));
        let data = json!({"rain": true});
        let (shown, answer) = shown_and_answered(&[running(data.clone()), completed(data.clone())]);
        assert_eq!((shown, answer.data()), (vec![Event::Data(data.clone())], Some(&data)));
    }

    #[test]
    fn reason_of_a_failure_is_read_from_its_error() {
        for (error, expected) in [
            (json!("no such city"), "no such city"),
            (json!({"title": "No station answers"}), "No station answers"),
            (json!({"title": "Refused", "detail": "not today"}), "Refused: not today"),
            (json!({"detail": "not today"}), "not today"),
            (json!({"message": "not today", "code": 7}), "not today"),
            (json!({"code": 7}), "{\"code\":7}"),
            (Value::Null, ""),
        ] {
            let asked = Asked { binding: "test", target: "test", task: None, is_status: false };
            let failed = events(&json!({"status": "failed", "error": error}), &asked, &mut Pieces::default());
            assert!(matches!(&failed, Err(Error::Failed { message, .. }) if message == expected), "{failed:?}");
        }
    }

    #[test]
    fn s3_pieces_are_the_answer_where_no_output_follows() {
        let data = [json!({"step": 1}), json!({"step": 2}), json!({"answer": "dry"})];
        let mut statuses = data.clone().map(running).to_vec();
        statuses.push(completed(Value::Null));
        let (_, answer) = shown_and_answered(&statuses);
        assert!(answer.all_data().eq(data.iter()), "{answer:?}");
    }
}
