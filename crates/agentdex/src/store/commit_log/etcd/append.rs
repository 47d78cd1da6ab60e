//! Appends, which are sent again until their outcome is known.

use std::{sync::Arc, time::Instant};

use agentdex_etcd::{Answer, Compare, Error, KeyRange, Op, Range, Txn, message::TxnResponse};

use super::{
    super::{Appended, Broken, Commit},
    ask::ask,
    attempt::Attempt,
    encoding::{Encoded, Head},
    log::Log,
    options::PAUSES,
};

impl Log {
    /// See [`CommitLog::append`](super::super::CommitLog::append).
    pub async fn append(&self, commit: &Commit) -> Appended {
        let encoded = self.encode(commit);
        let started = Instant::now();
        let mut pause = PAUSES.0;
        loop {
            let tried = self.try_to_append(&encoded).await;
            if let Some(appended) = self.outcome(&encoded, tried) {
                return appended;
            }
            if started.elapsed() + pause >= self.patience() {
                let attempt = self.state().attempt.clone();
                let may_be_applied = attempt.is_none_or(|attempt| attempt.may_be_applied);
                return if may_be_applied { Appended::Unknown } else { Appended::Away };
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Encodes a commit once for all attempts, since they must send the same bytes.
    fn encode(&self, commit: &Commit) -> Arc<Encoded> {
        let turn = {
            let state = self.state();
            if let Some(attempt) = state.attempt.as_ref().filter(|attempt| attempt.encoded.id == commit.id) {
                return attempt.encoded.clone();
            }
            state.turn.next(commit.has_more, &state.waiting, Instant::now())
        };
        let encoded = Arc::new(Encoded::of(commit, self.node, turn));
        self.state().attempt =
            Some(Attempt { encoded: encoded.clone(), has_parts: false, may_be_applied: false, is_own: None });
        encoded
    }

    /// Sends a commit once. Returns `None` without sending it if its outcome is already known.
    async fn try_to_append(&self, encoded: &Encoded) -> Option<Result<Answer<TxnResponse>, Error>> {
        let (attempt, is_present) = {
            let state = self.state();
            (state.attempt.clone()?, state.nodes.is_present)
        };
        if attempt.is_own.is_some() {
            return None;
        }
        if !is_present && !attempt.may_be_applied {
            let reason = "this node isn't registered in etcd yet".into();
            return Some(Err(Error::NotSent { endpoint: self.client.endpoint(), reason }));
        }
        if !attempt.has_parts && !encoded.parts.is_empty() {
            if let Err(error) = self.put_parts(encoded).await {
                return Some(Err(error));
            }
            self.of_attempt(encoded, |attempt| attempt.has_parts = true);
        }
        let append = Txn::new()
            .when([
                self.is_free(encoded),
                Compare::create_revision(self.keys.commit(encoded.number - 1)).greater(0),
                Compare::mod_revision(self.keys.meta()).equals(self.founded.revision),
            ])
            .then([
                Op::put(self.keys.commit(encoded.number), encoded.value.clone()),
                Op::delete_range(KeyRange::key(self.keys.waiting(self.node))),
            ])
            .otherwise(self.looks(encoded));
        // Counts already if the answer is never awaited.
        self.of_attempt(encoded, |attempt| attempt.may_be_applied = true);
        let (endpoint, known, sent) = (self.client.endpoint(), self.state().seen, Instant::now());
        let mut answer = self.client.attempt(&endpoint, append.message()).await;
        let mut is_applied = answer.as_ref().map_or_else(Error::may_have_been_applied, |_| true);
        if matches!(answer, Err(Error::NoSpace { .. })) {
            // etcd answers so for what it refuses, and for what fills it up: now the commit is there, or will never be.
            let look = Txn::new().when([self.is_free(encoded)]).otherwise(self.looks(encoded));
            match ask(&self.client, &look).await {
                Ok(found) if found.body.succeeded => is_applied = false,
                found => answer = found,
            }
        }
        match &answer {
            Ok(answer) => {
                if answer.body.succeeded {
                    // The store has all but this commit, and is about to write it.
                    self.state().currency.note_end(encoded.number, sent, encoded.number);
                }
                self.check_header(known, answer.header).err().into_iter().for_each(|broken| self.break_off(broken))
            }
            Err(error) => {
                // What an attempt before has done is still not known.
                self.of_attempt(encoded, |sent| sent.may_be_applied = attempt.may_be_applied || is_applied);
                if error.is_transient() {
                    self.client.move_on(&endpoint);
                }
            }
        }
        Some(answer)
    }

    /// Returns the condition that the log contains no commit with this number.
    fn is_free(&self, encoded: &Encoded) -> Compare {
        Compare::create_revision(self.keys.commit(encoded.number)).equals(0)
    }

    /// Returns the reads that show why a commit wasn't appended.
    fn looks(&self, encoded: &Encoded) -> [Op; 2] {
        let commit = Range::new(KeyRange::key(self.keys.commit(encoded.number)));
        [Op::range(commit), Op::range(Range::new(KeyRange::key(self.keys.meta())).keys_only())]
    }

    async fn put_parts(&self, encoded: &Encoded) -> Result<(), Error> {
        for (part, value) in encoded.parts.iter().enumerate() {
            let key = self.keys.part(encoded.number, encoded.id, part);
            ask(&self.client, &Txn::new().then([Op::put(key, value.clone())])).await?;
        }
        Ok(())
    }

    /// Returns the outcome of an append if an answer, or a commit that has arrived, determines it.
    fn outcome(&self, encoded: &Encoded, tried: Option<Result<Answer<TxnResponse>, Error>>) -> Option<Appended> {
        let arrived = |is_own: bool| if is_own { self.done(encoded) } else { Appended::Taken };
        let is_own = self.state().attempt.as_ref().and_then(|attempt| attempt.is_own);
        match tried {
            None => is_own.map(arrived),
            Some(Ok(answer)) if answer.body.succeeded => Some(self.done(encoded)),
            Some(Ok(answer)) => self.decided(encoded, &answer.body),
            Some(Err(error)) if is_own.is_none() => self.failed(&error),
            Some(Err(_)) => is_own.map(arrived),
        }
    }

    /// Returns the outcome of an append whose conditions didn't hold.
    fn decided(&self, encoded: &Encoded, answer: &TxnResponse) -> Option<Appended> {
        let found = |index| answer.range(index).and_then(|range| range.kvs.first());
        let (commit, meta) = (found(0), found(1));
        if meta.map(|meta| meta.mod_revision) != Some(self.founded.revision) {
            return Some(Appended::Lost(Broken(self.replaced())));
        }
        let Some(commit) = commit else {
            // Neither it nor its predecessor are there.
            return Some(Appended::Lost(Broken(self.trimmed(encoded.number - 1))));
        };
        match Head::read(&commit.value) {
            Ok(head) if head.id == encoded.id && head.digest == encoded.digest => Some(self.done(encoded)),
            // It arrives by the watch, or is read there as unreadable.
            _ => Some(Appended::Taken),
        }
    }

    /// Returns the outcome of an append that failed, or `None` if it has to be sent again.
    fn failed(&self, error: &Error) -> Option<Appended> {
        let attempt = self.state().attempt.clone();
        let is_full = matches!(error, Error::NoSpace { .. });
        self.state().is_full |= is_full;
        if is_full && attempt.as_ref().is_some_and(|attempt| !attempt.may_be_applied) {
            return Some(Appended::Full);
        }
        if error.is_transient() || attempt.is_none_or(|attempt| attempt.may_be_applied) {
            tracing::debug!(%error, "an append was not answered");
            return None;
        }
        tracing::warn!(%error, "etcd doesn't accept commits");
        Some(Appended::Away)
    }

    /// Records that the log contains a commit of this node.
    fn done(&self, encoded: &Encoded) -> Appended {
        let mut state = self.state();
        if state.arrivals.next() == encoded.number
            && let Ok(head) = Head::read(&encoded.value)
        {
            state.arrivals.skip(encoded.number);
            state.bytes += encoded.value.len() as u64 + encoded.parts.iter().map(|part| part.len() as u64).sum::<u64>();
            state.note_turn(head.by, head.turn);
        }
        (state.attempt, state.is_full) = (None, false);
        let seen = state.seen.unwrap_or(self.founded.place.seen);
        Appended::Done(Some(self.place(encoded.number, encoded.digest, seen).encode()))
    }

    fn of_attempt(&self, encoded: &Encoded, change: impl FnOnce(&mut Attempt)) {
        let mut state = self.state();
        state.attempt.as_mut().filter(|attempt| attempt.encoded.id == encoded.id).map(change);
    }
}
