//! Lines on standard output, printed on a thread of its own: a terminal that is stopped holds up nothing else.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The most lines that wait to be printed.
const BACKLOG: usize = 1000;
/// Time that the last line may take.
const PATIENCE: Duration = Duration::from_secs(1);

struct Line {
    text: String,
    /// Notified once the line is printed.
    printed: Option<oneshot::Sender<()>>,
}

/// Prints lines in order. Lines for which there is no place are left out and counted. Clones share the thread.
#[derive(Clone)]
pub(super) struct Printer {
    lines: mpsc::Sender<Line>,
    left_out: Arc<AtomicU64>,
}

impl Printer {
    /// Starts the thread. It ends with the last clone.
    pub(super) fn start() -> io::Result<Printer> {
        Printer::start_with(BACKLOG, io::stdout)
    }

    /// Starts the thread, which asks for the output at each line.
    fn start_with<O: Write + 'static>(backlog: usize, output: impl Fn() -> O + Send + 'static) -> io::Result<Printer> {
        let (lines, mut waiting) = mpsc::channel::<Line>(backlog);
        thread::Builder::new().name("demo-printer".to_owned()).spawn(move || {
            while let Some(Line { text, printed }) = waiting.blocking_recv() {
                let mut out = output();
                // Whoever read it may have gone.
                let _ = out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush());
                if let Some(printed) = printed {
                    let _ = printed.send(());
                }
            }
        })?;
        Ok(Printer { lines, left_out: Arc::default() })
    }

    /// Prints a line soon, or leaves it out if too many wait.
    pub(super) fn print(&self, text: String) {
        let line = Line { text: self.after_a_gap(text), printed: None };
        match self.lines.try_send(line) {
            Ok(()) => self.left_out.store(0, Ordering::Relaxed),
            Err(_) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Prints the last line, and waits for it; not for long, as the terminal may be stopped.
    pub(super) async fn end(self, text: String) {
        let (printed, is_printed) = oneshot::channel();
        let line = Line { text: self.after_a_gap(text), printed: Some(printed) };
        let print = async {
            if self.lines.send(line).await.is_ok() {
                let _ = is_printed.await;
            }
        };
        let _ = timeout(PATIENCE, print).await;
    }

    /// A line after one that counts those that were left out before it.
    fn after_a_gap(&self, text: String) -> String {
        match self.left_out.load(Ordering::Relaxed) {
            0 => text,
            1 => format!("… 1 line was left out.\n{text}"),
            count => format!("… {count} lines were left out.\n{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, mpsc as blocking};

    use super::*;

    /// An output that is stopped while its mutex is locked.
    struct Terminal(Arc<Mutex<Vec<u8>>>, blocking::Sender<()>);

    impl Terminal {
        fn text(&self) -> MutexGuard<'_, Vec<u8>> {
            self.0.lock().unwrap()
        }
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.1.send(());
            self.text().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_that_a_stopped_terminal_does_not_take_are_left_out_and_counted() {
        let text = Arc::new(Mutex::new(Vec::new()));
        let (sender, writes) = blocking::channel();
        let output = text.clone();
        let printer = Printer::start_with(2, move || Terminal(output.clone(), sender.clone())).unwrap();
        {
            let _stopped = text.lock().unwrap();
            printer.print("a".to_owned());
            writes.recv().unwrap();
            for line in ["b", "c", "d", "e"] {
                printer.print(line.to_owned());
            }
        }
        printer.end("last".to_owned()).await;
        let printed = String::from_utf8(text.lock().unwrap().clone()).unwrap();
        assert_eq!(printed, "a\nb\nc\n… 2 lines were left out.\nlast\n");
    }
}
