//! Moments as people read them: by their distance on a terminal, exact elsewhere.

use std::io::{self, IsTerminal};

use agentdex::Timestamp;

/// A moment for standard output: on a terminal how far it is away, elsewhere RFC 3339.
pub(super) fn shown(moment: Timestamp) -> String {
    if io::stdout().is_terminal() { distance(Timestamp::now(), moment) } else { moment.to_string() }
}

/// A moment at the beginning of a line that stays: the time of day (UTC) on a terminal, elsewhere RFC 3339.
pub(super) fn shown_as_time(moment: Timestamp) -> String {
    let text = moment.to_string();
    let of_day = text.get(11..19).filter(|_| io::stdout().is_terminal());
    format!("{} ", of_day.unwrap_or(&text))
}

/// Returns the time from `now` to a moment, rounded to the largest unit of which it is at least two.
pub(super) fn distance(now: Timestamp, moment: Timestamp) -> String {
    let seconds = (moment.0 - now.0) / 1000;
    let rounded = |seconds: u64, unit: u64| (seconds + unit / 2) / unit;
    let amount = match seconds.unsigned_abs() {
        amount @ 0..120 => format!("{amount} s"),
        amount @ 120..7170 => format!("{} min", rounded(amount, 60)),
        amount @ 7170..171_000 => format!("{} h", rounded(amount, 3600)),
        amount => format!("{} d", rounded(amount, 86_400)),
    };
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {amount}"),
        _ => format!("{amount} ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_by_their_distance() {
        let at = |seconds: i64| distance(Timestamp(1_795_000_000_000), Timestamp(1_795_000_000_000 + seconds * 1000));
        let texts = [0, -1, 119, 120, -7169, 7170, 170_999, -171_000, 90 * 86_400 - 2].map(at);
        let expected =
            ["now", "1 s ago", "in 119 s", "in 2 min", "119 min ago", "in 2 h", "in 47 h", "2 d ago", "in 90 d"];
        assert_eq!(texts, expected);
    }
}
