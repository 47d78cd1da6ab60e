//! Rounds of our tasks and of a Python program that does the same, one after the other; medians are compared.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// The work on the text of a document.
pub type Task = fn(&str);

/// Documents a second of each task, by name, in the order in which they were first measured.
#[derive(Default)]
pub struct Rates(Vec<(&'static str, Vec<f64>)>);

impl Rates {
    /// Adds the rate at which a task is done with all documents again and again.
    pub fn measure(&mut self, name: &'static str, documents: &[String], task: Task, round: Duration) {
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed() < round {
            documents.iter().for_each(|text| task(text));
            count += documents.len();
        }
        self.add(name, count as f64 / start.elapsed().as_secs_f64());
    }

    pub fn add(&mut self, name: &'static str, rate: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rates)) => rates.push(rate),
            None => self.0.push((name, vec![rate])),
        }
    }

    /// The median of a task; none if it wasn't measured.
    pub fn median(&mut self, name: &str) -> Option<f64> {
        self.0.iter_mut().find(|(known, _)| *known == name).map(|(_, rates)| median(rates))
    }

    pub fn print(&mut self) {
        for (name, rates) in &mut self.0 {
            let rate = median(rates);
            println!("{name:<52} {rate:>9.0}/s {:>9.2} µs", 1e6 / rate);
        }
    }
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A Python program that answers each line, a task and seconds, with a rate.
pub struct Python {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Python {
    /// Starts a program with its first lines of input. None where there is no Python, or it lacks what the program needs.
    pub fn start(program: &str, lines: &[String]) -> Option<Python> {
        let python = std::env::var("AGENTDEX_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().ok()?;
        let (requests, answers) = (process.stdin.take()?, BufReader::new(process.stdout.take()?));
        let mut python = Python { process, requests, answers };
        lines.iter().try_for_each(|line| python.ask(line))?;
        (python.answer()? == "ready").then_some(python)
    }

    pub fn rate(&mut self, task: &str, round: Duration) -> f64 {
        self.ask(&format!("{task} {}", round.as_secs_f64())).expect("Python takes requests");
        self.answer().and_then(|answer| answer.parse().ok()).expect("Python answers with a rate")
    }

    fn ask(&mut self, line: &str) -> Option<()> {
        writeln!(self.requests, "{line}").ok()
    }

    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
