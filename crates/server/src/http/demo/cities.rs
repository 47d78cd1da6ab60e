//! The time in forty cities, daylight saving by the rules that hold today (IANA time zone database, 2025b).

use time::{Date, Duration, Month, OffsetDateTime, Time, UtcOffset, Weekday};

/// A city.
#[derive(Debug)]
pub(super) struct City {
    pub(super) name: &'static str,
    /// Offset from UTC without daylight saving, in minutes.
    standard: i32,
    daylight_saving: Option<&'static Rule>,
}

/// The part of the year in which clocks are an hour ahead of standard time.
#[derive(Debug)]
struct Rule {
    /// True if the hours are those of UTC, else those of standard time.
    is_utc: bool,
    begin: Transition,
    end: Transition,
}

/// A moment of each year: the first such weekday on or after a day, at an hour.
#[derive(Debug)]
struct Transition {
    month: Month,
    weekday: Weekday,
    from_day: u8,
    hour: u8,
}

const fn sunday(month: Month, from_day: u8, hour: u8) -> Transition {
    Transition { month, weekday: Weekday::Sunday, from_day, hour }
}

/// Last Sunday of March to last Sunday of October, 1:00 UTC.
static EUROPE: Rule = Rule { is_utc: true, begin: sunday(Month::March, 25, 1), end: sunday(Month::October, 25, 1) };
/// Second Sunday of March to first Sunday of November, 2:00.
static UNITED_STATES: Rule =
    Rule { is_utc: false, begin: sunday(Month::March, 8, 2), end: sunday(Month::November, 1, 1) };
/// First Sunday of October to first Sunday of April, 2:00 standard time.
static AUSTRALIA: Rule = Rule { is_utc: false, begin: sunday(Month::October, 1, 2), end: sunday(Month::April, 1, 2) };
/// Last Sunday of September to first Sunday of April, 2:00 standard time.
static NEW_ZEALAND: Rule =
    Rule { is_utc: false, begin: sunday(Month::September, 24, 2), end: sunday(Month::April, 1, 2) };
/// First Sunday of September from the second on, 4:00 UTC, to first Sunday of April from the second on, 3:00 UTC.
static CHILE: Rule = Rule { is_utc: true, begin: sunday(Month::September, 2, 4), end: sunday(Month::April, 2, 3) };
/// Last Friday of April, 0:00, to last Thursday of October, 24:00.
static EGYPT: Rule = Rule {
    is_utc: false,
    begin: Transition { month: Month::April, weekday: Weekday::Friday, from_day: 24, hour: 0 },
    end: Transition { month: Month::October, weekday: Weekday::Thursday, from_day: 25, hour: 23 },
};

const fn city(name: &'static str, standard: i32) -> City {
    City { name, standard, daylight_saving: None }
}

const fn saving(name: &'static str, standard: i32, rule: &'static Rule) -> City {
    City { name, standard, daylight_saving: Some(rule) }
}

/// The cities, by name.
pub(super) static CITIES: [City; 40] = [
    city("Accra", 0),
    saving("Amsterdam", 60, &EUROPE),
    saving("Athens", 120, &EUROPE),
    saving("Auckland", 720, &NEW_ZEALAND),
    city("Bangkok", 420),
    city("Beijing", 480),
    saving("Berlin", 60, &EUROPE),
    city("Bogotá", -300),
    saving("Bonn", 60, &EUROPE),
    city("Buenos Aires", -180),
    saving("Cairo", 120, &EGYPT),
    saving("Chicago", -360, &UNITED_STATES),
    city("Delhi", 330),
    saving("Denver", -420, &UNITED_STATES),
    city("Dubai", 240),
    saving("Dublin", 0, &EUROPE),
    saving("Helsinki", 120, &EUROPE),
    city("Hong Kong", 480),
    city("Honolulu", -600),
    city("Istanbul", 180),
    city("Jakarta", 420),
    city("Johannesburg", 120),
    city("Kathmandu", 345),
    city("Lagos", 60),
    city("Lima", -300),
    saving("Lisbon", 0, &EUROPE),
    saving("London", 0, &EUROPE),
    saving("Los Angeles", -480, &UNITED_STATES),
    saving("Madrid", 60, &EUROPE),
    city("Mexico City", -360),
    city("Nairobi", 180),
    saving("New York", -300, &UNITED_STATES),
    saving("Paris", 60, &EUROPE),
    saving("Rome", 60, &EUROPE),
    saving("Santiago", -240, &CHILE),
    city("São Paulo", -180),
    city("Seoul", 540),
    city("Singapore", 480),
    saving("Sydney", 600, &AUSTRALIA),
    city("Tokyo", 540),
];

/// The city that a text names.
pub(super) fn named_in(text: &str) -> Option<&'static City> {
    let words = format!(" {} ", folded(text));
    CITIES.iter().find(|city| words.contains(&format!(" {} ", folded(city.name))))
}

/// Words in small letters without accents, with one space between them.
fn folded(text: &str) -> String {
    let plain = |character: char| match character {
        'á' | 'ã' => 'a',
        'é' => 'e',
        other if other.is_alphanumeric() => other,
        _ => ' ',
    };
    let plain: String = text.to_lowercase().chars().map(plain).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl City {
    /// The time here at a moment.
    pub(super) fn time_at(&self, moment: OffsetDateTime) -> OffsetDateTime {
        let standard = moment.to_offset(offset(self.standard));
        let is_ahead = self.daylight_saving.is_some_and(|rule| rule.holds(moment.to_offset(UtcOffset::UTC), standard));
        if is_ahead { moment.to_offset(offset(self.standard + 60)) } else { standard }
    }

    /// Time until the next midnight here.
    pub(super) fn until_midnight(&self, moment: OffsetDateTime) -> Duration {
        let here = self.time_at(moment);
        let Some(tomorrow) = here.date().next_day() else { return Duration::ZERO };
        let midnight = tomorrow.midnight().assume_offset(here.offset());
        // Clocks may change before.
        let midnight = tomorrow.midnight().assume_offset(self.time_at(midnight).offset());
        midnight - moment
    }
}

fn offset(minutes: i32) -> UtcOffset {
    UtcOffset::from_whole_seconds(minutes * 60).unwrap_or(UtcOffset::UTC)
}

impl Rule {
    fn holds(&self, utc: OffsetDateTime, standard: OffsetDateTime) -> bool {
        let now = if self.is_utc { utc } else { standard };
        let at = |transition: &Transition| transition.in_year(now.year()).map(|(date, time)| date.with_time(time));
        let now = now.date().with_time(now.time());
        match (at(&self.begin), at(&self.end)) {
            (Some(begin), Some(end)) if begin < end => begin <= now && now < end,
            // In the south it goes on over the end of the year.
            (Some(begin), Some(end)) => now < end || begin <= now,
            _ => false,
        }
    }
}

impl Transition {
    fn in_year(&self, year: i32) -> Option<(Date, Time)> {
        let first = Date::from_calendar_date(year, self.month, self.from_day).ok()?;
        let days = self.weekday.number_days_from_monday() + 7 - first.weekday().number_days_from_monday();
        let date = first.checked_add(Duration::days(i64::from(days % 7)))?;
        Some((date, Time::from_hms(self.hour, 0, 0).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    fn here(city: &str, moment: OffsetDateTime) -> String {
        let time = named_in(city).unwrap().time_at(moment);
        format!("{} {:02}:{:02}", time.date(), time.hour(), time.minute())
    }

    #[test]
    fn clocks_change_at_the_moments_of_the_rules() {
        for (city, moment, expected) in [
            ("Tokyo", datetime!(2026-11-24 12:01 UTC), "2026-11-24 21:01"),
            ("Kathmandu", datetime!(2026-11-24 12:01 UTC), "2026-11-24 17:46"),
            ("London", datetime!(2026-03-29 00:59 UTC), "2026-03-29 00:59"),
            ("London", datetime!(2026-03-29 01:00 UTC), "2026-03-29 02:00"),
            ("Bonn", datetime!(2026-10-25 00:59 UTC), "2026-10-25 02:59"),
            ("Bonn", datetime!(2026-10-25 01:00 UTC), "2026-10-25 02:00"),
            ("New York", datetime!(2026-03-08 06:59 UTC), "2026-03-08 01:59"),
            ("New York", datetime!(2026-03-08 07:00 UTC), "2026-03-08 03:00"),
            ("New York", datetime!(2026-11-01 05:59 UTC), "2026-11-01 01:59"),
            ("New York", datetime!(2026-11-01 06:00 UTC), "2026-11-01 01:00"),
            ("Sydney", datetime!(2026-10-03 15:59 UTC), "2026-10-04 01:59"),
            ("Sydney", datetime!(2026-10-03 16:00 UTC), "2026-10-04 03:00"),
            ("Sydney", datetime!(2027-04-03 16:00 UTC), "2027-04-04 02:00"),
            ("Auckland", datetime!(2026-09-26 14:00 UTC), "2026-09-27 03:00"),
            ("Auckland", datetime!(2026-04-04 14:00 UTC), "2026-04-05 02:00"),
            ("Santiago", datetime!(2026-09-06 04:00 UTC), "2026-09-06 01:00"),
            ("Santiago", datetime!(2026-04-05 03:00 UTC), "2026-04-04 23:00"),
            ("Cairo", datetime!(2026-04-23 22:00 UTC), "2026-04-24 01:00"),
            ("Cairo", datetime!(2026-10-29 21:00 UTC), "2026-10-29 23:00"),
        ] {
            assert_eq!(here(city, moment), expected, "{city}, {moment}");
        }
    }

    #[test]
    fn cities_are_found_in_what_people_write() {
        for (text, expected) in [
            ("Tokyo", Some("Tokyo")),
            ("how late is it in TOKYO?", Some("Tokyo")),
            ("sao paulo", Some("São Paulo")),
            ("the time in New  York, please", Some("New York")),
            ("Limassol", None),
            ("", None),
        ] {
            assert_eq!(named_in(text).map(|city| city.name), expected, "{text}");
        }
    }

    #[test]
    fn midnight_is_nearer_or_further_where_clocks_change_before() {
        let minutes = |city: &str, moment| named_in(city).unwrap().until_midnight(moment).whole_minutes();
        assert_eq!(minutes("Tokyo", datetime!(2026-11-24 12:00 UTC)), 180);
        assert_eq!(minutes("Bonn", datetime!(2026-10-24 23:00 UTC)), 24 * 60);
        assert_eq!(minutes("Bonn", datetime!(2026-03-29 00:00 UTC)), 22 * 60);
    }
}
