//! Log lines on standard error, for people or for programs. A line that can't be written, or that nobody reads in time, is
//! counted, and changes nothing else.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use agentdex::Timestamp;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::PIPE_BUF,
};
use serde_json::json;
use tracing_subscriber::{
    EnvFilter,
    fmt::{MakeWriter, fmt},
};

use crate::settings::{LogFormat, LogLevel};

/// Log levels of libraries, unless `RUST_LOG` is set. Lines of actix_http and rmcp are off, since they log each request, so
/// anybody could fill the log.
const LIBRARIES: &str = "actix_server=warn,actix_http=off,rmcp=off,tantivy=warn,rustls=warn";

/// The longest that lines wait for who reads them. Once that was in vain, they don't wait until one was written again.
const PATIENCE: Duration = Duration::from_millis(100);

/// The number of log lines that could not be written since the start.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Logs as much as `level` says, else as `RUST_LOG` does.
pub(in crate::cli) fn start(format: LogFormat, level: Option<LogLevel>) {
    let of_level = |level: LogLevel| EnvFilter::new(format!("{},{LIBRARIES}", level.as_str()));
    let filter = match level {
        Some(level) => of_level(level),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| of_level(LogLevel::Info)),
    };
    // What fmt says of its own errors it prints with `eprintln!`, which panics where nothing can be printed.
    let lines = fmt().with_env_filter(filter).log_internal_errors(false).with_writer(StandardError::new(format));
    match format {
        LogFormat::Json => lines.json().flatten_event(true).init(),
        LogFormat::Text => {
            lines.with_ansi(io::stderr().is_terminal() && super::super::output::colours_are_welcome()).init()
        }
    }
}

/// Returns the number of log lines that could not be written since the start.
pub(super) fn dropped_lines() -> u64 {
    DROPPED.load(Relaxed)
}

/// Standard error as the log's output.
struct StandardError(Mutex<(Lines, Output)>);

impl StandardError {
    fn new(format: LogFormat) -> StandardError {
        StandardError(Mutex::new((Lines { format, unreported: 0, is_torn: false }, Output { is_stalled: false })))
    }
}

impl<'a> MakeWriter<'a> for StandardError {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

/// The writer of one line, which never fails.
struct Line<'a>(&'a Mutex<(Lines, Output)>);

impl Write for Line<'_> {
    /// Takes a whole line, as fmt writes it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let (lines, output) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.write(line, output).is_err() {
            DROPPED.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard error, which fails where a pipe or a terminal takes nothing: nobody may wait for who doesn't read the log.
struct Output {
    /// True if it took nothing the last time.
    is_stalled: bool,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut errors = io::stderr();
        let patience = if self.is_stalled { Duration::ZERO } else { PATIENCE };
        self.is_stalled = !takes_something(&errors, patience)?;
        if self.is_stalled {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // A pipe that takes something takes as much as this.
        errors.write(bytes.get(..bytes.len().min(PIPE_BUF)).unwrap_or_default())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// True if a write won't block; whether it succeeds is another question.
fn takes_something(errors: &io::Stderr, patience: Duration) -> io::Result<bool> {
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    let mut polled = [PollFd::new(errors, PollFlags::OUT)];
    loop {
        match poll(&mut polled, Some(&patience)) {
            Err(rustix::io::Errno::INTR) => {}
            count => return Ok(count? > 0),
        }
    }
}

/// The lines that are written, and those that were not.
struct Lines {
    format: LogFormat,
    /// Lines that were dropped since the last one that was written.
    unreported: u64,
    /// True if the output may end within a line.
    is_torn: bool,
}

impl Lines {
    /// Writes a line, after one that counts those that were dropped before it.
    fn write(&mut self, line: &[u8], out: &mut impl Write) -> io::Result<()> {
        let written = self.report(out).and_then(|()| self.write_whole(line, out));
        if written.is_err() {
            self.unreported += 1;
        }
        written
    }

    fn report(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.unreported > 0 {
            let report = self.count_of_dropped(Timestamp::now());
            self.write_whole(report.as_bytes(), out)?;
            self.unreported = 0;
        }
        Ok(())
    }

    fn write_whole(&mut self, line: &[u8], out: &mut impl Write) -> io::Result<()> {
        if self.is_torn {
            out.write_all(b"\n")?;
        }
        self.is_torn = false;
        let mut rest = line;
        while !rest.is_empty() {
            match out.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            self.is_torn = !rest.is_empty();
        }
        Ok(())
    }

    /// The line about lines that were dropped, in the format of the others.
    fn count_of_dropped(&self, now: Timestamp) -> String {
        let said = "log lines could not be written";
        let (count, target) = (self.unreported, module_path!());
        match self.format {
            LogFormat::Json => {
                let line =
                    json!({"timestamp": now, "level": "WARN", "message": said, "count": count, "target": target});
                format!("{line}\n")
            }
            LogFormat::Text => format!("{now}  WARN {target}: {said} count={count}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Disk {
        written: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            if count == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= count;
            self.written.extend_from_slice(bytes.get(..count).unwrap_or_default());
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(format: LogFormat) -> Lines {
        Lines { format, unreported: 0, is_torn: false }
    }

    #[test]
    fn lines_that_had_no_room_are_counted_before_the_next_one() {
        let (mut lines, mut disk) = (lines(LogFormat::Text), Disk { written: Vec::new(), room: 8 });
        assert!(lines.write(b"first\n", &mut disk).is_ok());
        assert!(lines.write(b"second\n", &mut disk).is_err());
        assert!(lines.write(b"third\n", &mut disk).is_err());
        disk.room = 1000;
        assert!(lines.write(b"fourth\n", &mut disk).is_ok());
        assert!(lines.write(b"fifth\n", &mut disk).is_ok());
        let text = String::from_utf8(disk.written).unwrap();
        let written: Vec<&str> = text.lines().collect();
        assert_eq!([written[0], written[1], written[3], written[4]], ["first", "se", "fourth", "fifth"], "{text}");
        assert!(written[2].ends_with("log lines could not be written count=2") && written.len() == 5, "{text}");
    }

    #[test]
    fn the_count_is_json_where_lines_are() {
        let (mut lines, mut disk) = (lines(LogFormat::Json), Disk { written: Vec::new(), room: 0 });
        assert!(lines.write(b"{}\n", &mut disk).is_err());
        disk.room = 1000;
        assert!(lines.write(b"{}\n", &mut disk).is_ok());
        let text = String::from_utf8(disk.written).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((&line["count"], &line["level"]), (&json!(1), &json!("WARN")), "{text}");
    }
}
