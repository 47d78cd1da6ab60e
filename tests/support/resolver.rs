//! A resolver that answers as a test wants.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use agentdex::fetch::{Resolver, Resolving};

/// Gives one answer after the other, and the last one again and again.
#[derive(Clone, Default)]
pub struct Answers {
    left: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    asked: Arc<AtomicUsize>,
}

impl Answers {
    pub fn of(answers: &[&[&str]]) -> Answers {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        let left = answers.iter().rev().map(parse).collect();
        Answers { left: Arc::new(Mutex::new(left)), asked: Arc::default() }
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Resolver for Answers {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let mut left = self.left.lock().unwrap();
            let answer = if left.len() > 1 { left.pop() } else { left.last().cloned() };
            answer.ok_or_else(|| io::Error::other("no such name"))
        })
    }
}
