//! Queue of callers waiting until a follower has applied a change.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::stop::Stop;
use crate::change::Seq;

/// The result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::registry) enum Waited {
    /// The follower reflects every change up to this position.
    Reached(Seq),
    /// The wait timed out.
    TooLong,
    /// The follower has stopped.
    Stopped,
}

/// Callers waiting for a follower, and the means to wake it.
#[derive(Default)]
pub(super) struct Waiting {
    queue: Mutex<Queue>,
    changed: Condvar,
    stop: Stop,
}

#[derive(Default)]
struct Queue {
    waiters: Vec<Waiter>,
    /// Last change reached, or `None` before the first.
    reached: Option<Seq>,
    has_ended: bool,
    /// True if a test keeps the follower from following.
    is_held: bool,
}

struct Waiter {
    target: Seq,
    deadline: Instant,
    reply: oneshot::Sender<Waited>,
}

impl Waiting {
    /// Waits until `target` is applied, up to about `timeout`. The end of the timeout is noticed within half a
    /// second.
    pub fn wait(&self, target: Seq, timeout: Duration) -> impl Future<Output = Waited> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let mut queue = self.lock();
        if let Some(reached) = queue.reached.filter(|reached| target <= *reached && !queue.has_ended) {
            let _ = reply.send(Waited::Reached(reached));
        } else if !queue.has_ended {
            queue.waiters.push(Waiter { target, deadline: Instant::now() + timeout, reply });
            self.changed.notify_all();
        }
        drop(queue);
        async { answer.await.unwrap_or(Waited::Stopped) }
    }

    /// Wakes the waiters whose target is reached.
    pub fn reached(&self, seq: Seq) {
        self.lock().reached = Some(seq);
        self.answer(|waiter| waiter.target <= seq, Waited::Reached(seq));
    }

    /// Ends waits that have timed out.
    pub fn expire(&self, now: Instant) {
        self.answer(|waiter| waiter.deadline <= now, Waited::TooLong);
    }

    fn answer(&self, is_answered: impl Fn(&Waiter) -> bool, answer: Waited) {
        let mut queue = self.lock();
        let answered: Vec<Waiter> = queue.waiters.extract_if(.., |waiter| is_answered(waiter)).collect();
        drop(queue);
        for waiter in answered {
            // Who has gone needs no answer.
            let _ = waiter.reply.send(answer);
        }
    }

    /// Returns the nearest target of a waiter after `position`.
    pub fn target(&self, position: Seq) -> Option<Seq> {
        let queue = self.lock();
        let alive = queue.waiters.iter().filter(|waiter| !waiter.reply.is_closed());
        alive.map(|waiter| waiter.target).filter(|target| *target > position).min()
    }

    /// Sleeps until a waiter needs more than `position`, the time is over, or a stop is requested. Returns true if a
    /// stop is requested.
    pub fn sleep(&self, position: Seq, longest: Duration) -> bool {
        let is_idle = |queue: &mut Queue| {
            !self.stop.is_requested() && !queue.waiters.iter().any(|waiter| waiter.target > position)
        };
        let slept = self.changed.wait_timeout_while(self.lock(), longest, is_idle);
        let (queue, _) = slept.unwrap_or_else(PoisonError::into_inner);
        let is_held = |queue: &mut Queue| !self.stop.is_requested() && queue.is_held;
        drop(self.changed.wait_while(queue, is_held).unwrap_or_else(PoisonError::into_inner));
        self.stop.is_requested()
    }

    /// Suspends or resumes the follower.
    pub fn hold(&self, is_held: bool) {
        self.lock().is_held = is_held;
        self.changed.notify_all();
    }

    /// Sleeps for the given time or until a stop is requested. Returns true if a stop is requested.
    pub fn rest(&self, time: Duration) -> bool {
        let is_resting = |_: &mut Queue| !self.stop.is_requested();
        drop(self.changed.wait_timeout_while(self.lock(), time, is_resting).unwrap_or_else(PoisonError::into_inner));
        self.stop.is_requested()
    }

    /// Returns the stop request.
    pub fn stop_request(&self) -> &Stop {
        &self.stop
    }

    /// Requests a stop.
    pub fn stop(&self) {
        // Locked, so that nobody goes to sleep between looking and being woken.
        let queue = self.lock();
        self.stop.request();
        drop(queue);
        self.changed.notify_all();
    }

    /// Closes the queue: waiters are no longer answered.
    pub fn end(&self) {
        let mut queue = self.lock();
        queue.has_ended = true;
        queue.waiters.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn each_is_answered_as_soon_as_its_target_is_reached() {
        let waiting = Waiting::default();
        let near = waiting.wait(Seq(3), LONG);
        let far = waiting.wait(Seq(9), LONG);
        assert_eq!(waiting.target(Seq(1)), Some(Seq(3)));
        waiting.reached(Seq(5));
        assert_eq!(pollster::block_on(near), Waited::Reached(Seq(5)));
        assert_eq!(waiting.target(Seq(5)), Some(Seq(9)));
        waiting.expire(Instant::now() + LONG);
        assert_eq!(pollster::block_on(far), Waited::TooLong);
    }

    #[test]
    fn what_was_reached_before_is_not_waited_for() {
        let waiting = Waiting::default();
        waiting.reached(Seq(5));
        let (near, far) = (waiting.wait(Seq(5), LONG), waiting.wait(Seq(6), Duration::ZERO));
        assert_eq!(pollster::block_on(near), Waited::Reached(Seq(5)));
        waiting.expire(Instant::now() + LONG);
        assert_eq!(pollster::block_on(far), Waited::TooLong);
    }

    #[test]
    fn nobody_waits_for_what_has_ended() {
        let waiting = Waiting::default();
        let before = waiting.wait(Seq(1), LONG);
        waiting.end();
        assert_eq!(pollster::block_on(before), Waited::Stopped);
        assert_eq!(pollster::block_on(waiting.wait(Seq(1), LONG)), Waited::Stopped);
    }

    #[test]
    fn who_no_longer_waits_is_no_target() {
        let waiting = Waiting::default();
        drop(waiting.wait(Seq(7), LONG));
        assert_eq!(waiting.target(Seq(1)), None);
    }
}
