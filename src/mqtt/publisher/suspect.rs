//! Messages that end the connection each time they are published, as those over the broker's limit do.
//!
//! MQTT 3.1.1 has no word for "not this one": the broker hangs up. Of the messages in flight then,
//! the one at fault is found by publishing them one by one on the next connection.

use std::collections::VecDeque;

/// After as many losses at the same message it is the message.
const LOSSES: u32 = 5;
/// From here on it is the size that the broker refuses.
const LARGE_BYTES: usize = 64 * 1024;
/// How many messages that are to be left out are known by name.
const MAX_CONVICTED: usize = 1000;
/// How many messages from the suspect on are published one by one: the acknowledgements of as many
/// may have been lost with the connection.
const CAREFUL_MESSAGES: usize = 128;

/// A message as far as it has to be told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    topic: String,
    payload_bytes: usize,
}

impl Message {
    pub fn new(topic: &str, payload: &[u8]) -> Message {
        Message { topic: topic.into(), payload_bytes: payload.len() }
    }

    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Topic and payload.
    pub fn bytes(&self) -> usize {
        self.topic.len() + self.payload_bytes
    }
}

/// The message that was in flight when the connection was lost, how often that was so, and what was
/// found out in this way. Forgotten once the broker has everything: it may be told of a larger limit.
#[derive(Debug, Clone)]
pub(super) struct Suspicion {
    message: Message,
    losses: u32,
    /// How many more are published one by one once the suspect has come by.
    careful: usize,
    has_come_by: bool,
    convicted: VecDeque<Message>,
    /// Messages of as many bytes are left out.
    limit_bytes: usize,
}

impl Suspicion {
    /// What is to be thought after another loss.
    pub fn after_loss(before: Option<Suspicion>, message: Message) -> Suspicion {
        let (last, losses, mut convicted, mut limit_bytes) = match before {
            Some(before) => (Some(before.message), before.losses, before.convicted, before.limit_bytes),
            None => (None, 0, VecDeque::new(), usize::MAX),
        };
        let losses = if last.as_ref() == Some(&message) { losses.saturating_add(1) } else { 1 };
        if losses >= LOSSES && message.bytes() >= LARGE_BYTES {
            limit_bytes = limit_bytes.min(message.bytes());
        } else if losses >= LOSSES {
            convicted.push_back(message.clone());
            convicted.truncate(MAX_CONVICTED);
        }
        Suspicion { message, losses, careful: CAREFUL_MESSAGES, has_come_by: false, convicted, limit_bytes }
    }

    /// The broker has taken a message.
    pub fn acquit(&mut self, message: &Message) {
        if self.message == *message {
            self.losses = 0;
        }
    }

    /// Whether messages have to be published one by one.
    pub fn is_careful(&self) -> bool {
        self.careful > 0
    }

    /// Takes the next message into account; true if it isn't to be published any more.
    pub fn convicts(&mut self, message: &Message) -> bool {
        let is_suspect = self.message == *message;
        self.has_come_by |= is_suspect;
        if self.has_come_by {
            self.careful = self.careful.saturating_sub(1);
        }
        message.bytes() >= self.limit_bytes || self.convicted.contains(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_left_out_after_as_many_losses_in_a_row() {
        let (bad, other) = (Message::new("a", b"xx"), Message::new("b", b"x"));
        let mut suspicion = None;
        for _ in 1..LOSSES {
            suspicion = Some(Suspicion::after_loss(suspicion, bad.clone()));
            assert!(!suspicion.as_mut().unwrap().convicts(&bad));
        }
        let mut convinced = Suspicion::after_loss(suspicion.clone(), bad.clone());
        assert!(!convinced.convicts(&other) && convinced.convicts(&bad));
        let mut elsewhere = Suspicion::after_loss(suspicion, other.clone());
        assert!(!elsewhere.convicts(&other) && !elsewhere.convicts(&bad));
        let mut still = Suspicion::after_loss(Some(convinced), other.clone());
        assert!(!still.convicts(&other) && still.convicts(&bad));
    }

    #[test]
    fn larger_messages_than_a_large_one_that_is_refused_are_left_out_too() {
        let (large, larger) = (Message::new("a", &[0; LARGE_BYTES]), Message::new("b", &[0; LARGE_BYTES + 1]));
        let lose = |suspicion, _| Some(Suspicion::after_loss(suspicion, large.clone()));
        let mut suspicion = (0..LOSSES).fold(None, lose).unwrap();
        assert!(suspicion.convicts(&larger) && !suspicion.convicts(&Message::new("a", &[0; 10])));
    }

    #[test]
    fn message_that_was_taken_in_the_end_starts_anew() {
        let message = Message::new("a", b"xx");
        let lose = |suspicion, _| Some(Suspicion::after_loss(suspicion, message.clone()));
        let mut suspicion = (1..LOSSES).fold(None, lose).unwrap();
        suspicion.acquit(&message);
        assert!(!Suspicion::after_loss(Some(suspicion), message.clone()).convicts(&message));
    }

    #[test]
    fn messages_go_one_by_one_until_the_suspect_is_well_past() {
        let (bad, other) = (Message::new("a", b"xx"), Message::new("b", b"x"));
        let mut suspicion = Suspicion::after_loss(None, bad.clone());
        (0..1000).for_each(|_| assert!(!suspicion.convicts(&other)));
        assert!(suspicion.is_careful());
        suspicion.convicts(&bad);
        (1..CAREFUL_MESSAGES).for_each(|_| assert!(suspicion.is_careful() && !suspicion.convicts(&other)));
        assert!(!suspicion.is_careful());
    }
}
