//! Conversion of lengths, weights, temperatures and times in plain words.

/// A quantity that a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Length,
    Weight,
    Temperature,
    Time,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Length => "length",
            Kind::Weight => "weight",
            Kind::Temperature => "temperature",
            Kind::Time => "time",
        }
    }
}

/// A unit: `value × factor + zero` is the value in meters, kilograms, kelvins or seconds.
#[derive(Debug, PartialEq)]
pub(super) struct Unit {
    one: &'static str,
    many: &'static str,
    /// Its other names, in small letters.
    words: &'static [&'static str],
    kind: Kind,
    factor: f64,
    zero: f64,
    /// The unit that it is converted to where none is named.
    usual: &'static str,
}

const fn unit(
    (one, many): (&'static str, &'static str),
    words: &'static [&'static str],
    kind: Kind,
    (factor, zero): (f64, f64),
    usual: &'static str,
) -> Unit {
    Unit { one, many, words, kind, factor, zero, usual }
}

static UNITS: [Unit; 22] = [
    unit(("mm", "mm"), &["millimeter", "millimetre"], Kind::Length, (0.001, 0.0), "inches"),
    unit(("cm", "cm"), &["centimeter", "centimetre"], Kind::Length, (0.01, 0.0), "inches"),
    unit(("m", "m"), &["meter", "metre"], Kind::Length, (1.0, 0.0), "feet"),
    unit(("km", "km"), &["kilometer", "kilometre"], Kind::Length, (1000.0, 0.0), "miles"),
    unit(("inch", "inches"), &[], Kind::Length, (0.0254, 0.0), "cm"),
    unit(("foot", "feet"), &["ft"], Kind::Length, (0.3048, 0.0), "m"),
    unit(("yard", "yards"), &["yd"], Kind::Length, (0.9144, 0.0), "m"),
    unit(("mile", "miles"), &["mi"], Kind::Length, (1609.344, 0.0), "km"),
    unit(("g", "g"), &["gram", "gramme"], Kind::Weight, (0.001, 0.0), "ounces"),
    unit(("kg", "kg"), &["kilo", "kilogram", "kilogramme"], Kind::Weight, (1.0, 0.0), "pounds"),
    unit(("tonne", "tonnes"), &["t"], Kind::Weight, (1000.0, 0.0), "pounds"),
    unit(("ounce", "ounces"), &["oz"], Kind::Weight, (0.028_349_523_125, 0.0), "g"),
    unit(("pound", "pounds"), &["lb"], Kind::Weight, (0.453_592_37, 0.0), "kg"),
    unit(("stone", "stones"), &[], Kind::Weight, (6.350_293_18, 0.0), "kg"),
    unit(("°C", "°C"), &["c", "celsius"], Kind::Temperature, (1.0, 273.15), "°F"),
    unit(("°F", "°F"), &["f", "fahrenheit"], Kind::Temperature, (5.0 / 9.0, 459.67 * 5.0 / 9.0), "°C"),
    unit(("K", "K"), &["kelvin"], Kind::Temperature, (1.0, 0.0), "°C"),
    unit(("second", "seconds"), &["s", "sec"], Kind::Time, (1.0, 0.0), "minutes"),
    unit(("minute", "minutes"), &["min"], Kind::Time, (60.0, 0.0), "hours"),
    unit(("hour", "hours"), &["h"], Kind::Time, (3600.0, 0.0), "minutes"),
    unit(("day", "days"), &[], Kind::Time, (86_400.0, 0.0), "hours"),
    unit(("week", "weeks"), &[], Kind::Time, (604_800.0, 0.0), "days"),
];

/// Words before the unit that is asked for.
const BEFORE_TARGET: [&str; 6] = ["to", "in", "into", "as", "many", "much"];
/// Words that stand for the number 1 before a unit.
const ONE: [&str; 3] = ["a", "an", "one"];
/// The most digits of a number.
const MAX_DIGITS: usize = 15;

/// A request for a conversion, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    amount: Option<f64>,
    from: Option<&'static Unit>,
    to: Option<&'static Unit>,
}

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// The converted amount, in a sentence.
    Converted(String),
    /// A question about what is missing.
    Question(String),
}

/// The words and numbers of a message, each with the unit that it names.
#[derive(Debug)]
pub(super) struct Words(Vec<(String, Option<&'static Unit>)>);

impl Words {
    /// Splits a text into words and numbers.
    pub(super) fn parse(text: &str) -> Words {
        let with_unit = |word: String| {
            let unit = named(&word);
            (word, unit)
        };
        Words(words(text).into_iter().map(with_unit).collect())
    }
}

impl Wanted {
    /// The same with what a message adds.
    pub(super) fn and(mut self, Words(words): &Words) -> Wanted {
        let mut before = "";
        let mut words = words.iter().map(|(word, unit)| (word.as_str(), *unit)).peekable();
        while let Some((word, unit)) = words.next() {
            let next = words.peek().and_then(|(_, unit)| *unit);
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            let number = number.or((ONE.contains(&word) && next.is_some() && self.amount.is_none()).then_some(1.0));
            if let Some(number) = number {
                self.amount = Some(number);
                if next.is_some() {
                    self.from = next;
                    before = words.next().map_or("", |(word, _)| word);
                    continue;
                }
            } else if let Some(unit) = unit {
                match BEFORE_TARGET.contains(&before) || self.from.is_some() {
                    true => self.to = Some(unit),
                    false => self.from = Some(unit),
                }
            }
            before = word;
        }
        self
    }

    /// The answer: the conversion, or a question. A question that can't be answered by what is known makes room for the
    /// answer.
    pub(super) fn answer(&mut self) -> Answer {
        let Some(amount) = self.amount else {
            return Answer::Question(match self.from {
                Some(unit) => format!("How many {} should be converted?", unit.many),
                None => "What amount should be converted? For example: 42 km in miles.".to_owned(),
            });
        };
        let Some(from) = self.from else {
            return Answer::Question(format!("{amount} of which unit? For example km, pounds or °C."));
        };
        let to = self.to.or_else(|| named(from.usual)).unwrap_or(from);
        if to.kind != from.kind {
            self.to = None;
            return Answer::Question(format!(
                "{} are not a {}. In which unit of {} do you want {amount} {}?",
                capitalized(to.many),
                from.kind.name(),
                from.kind.name(),
                from.name(amount)
            ));
        }
        let base = amount * from.factor + from.zero;
        let converted = (base - to.zero) / to.factor;
        let verb = if amount == 1.0 { "is" } else { "are" };
        let shown = rounded(converted);
        let name = if shown == "1" { to.one } else { to.many };
        Answer::Converted(format!("{amount} {} {verb} {shown} {name}.", from.name(amount)))
    }
}

impl Unit {
    fn name(&self, amount: f64) -> &'static str {
        if amount == 1.0 { self.one } else { self.many }
    }
}

/// The unit with a name: one of its words in small letters, or its singular or plural in any.
fn named(word: &str) -> Option<&'static Unit> {
    let singular = word.strip_suffix('s').filter(|singular| singular.len() > 1).unwrap_or(word);
    // The names are ASCII but for the sign of degrees, which has no small letter.
    let is_name = |name: &str| name.eq_ignore_ascii_case(word);
    UNITS.iter().find(|unit| {
        is_name(unit.one) || is_name(unit.many) || unit.words.contains(&word) || unit.words.contains(&singular)
    })
}

/// The words and numbers of a text, in small letters, without the word for degrees.
fn words(text: &str) -> Vec<String> {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Word,
        Number,
    }
    let mut words: Vec<(Class, String)> = Vec::new();
    let mut open = None;
    let characters: Vec<char> = text.to_lowercase().chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        let next_is_digit = characters.get(index + 1).is_some_and(char::is_ascii_digit);
        let class = match character {
            '0'..='9' => Class::Number,
            '.' if open == Some(Class::Number) && next_is_digit => Class::Number,
            '-' | '−' if open.is_none() && next_is_digit => Class::Number,
            // Thousands are set apart by it.
            ',' if open == Some(Class::Number) && next_is_digit => continue,
            character if character.is_alphabetic() || character == '°' => Class::Word,
            _ => {
                open = None;
                continue;
            }
        };
        let character = if character == '−' { '-' } else { character };
        match words.last_mut().filter(|_| open == Some(class)) {
            Some((_, word)) => word.push(character),
            None => words.push((class, character.into())),
        }
        open = Some(class);
    }
    let is_kept = |(class, word): &(Class, String)| {
        let is_degree = ["°", "degree", "degrees", "deg"].contains(&word.as_str());
        !is_degree && (*class == Class::Word || word.len() <= MAX_DIGITS)
    };
    words.into_iter().filter(is_kept).map(|(_, word)| word).collect()
}

/// A number with four digits that count, or whole if it has more.
fn rounded(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || size >= 1000.0 {
        return format!("{:.0}", number + 0.0);
    }
    // The number of digits before the point; below 1 it is negative.
    let before = size.log10().floor() as i32 + 1;
    let decimals = usize::try_from(4 - before).unwrap_or(0).min(12);
    let text = format!("{number:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(texts: &[&str]) -> Answer {
        texts.iter().fold(Wanted::default(), |wanted, text| wanted.and(&Words::parse(text))).answer()
    }

    #[test]
    fn amounts_are_converted_as_people_ask() {
        for (text, expected) in [
            ("How many miles are 42 km?", "42 km are 26.1 miles."),
            ("42km", "42 km are 26.1 miles."),
            ("42,000 km in miles", "42000 km are 26098 miles."),
            ("What is 70 °F in Celsius?", "70 °F are 21.11 °C."),
            ("-40 degrees Celsius to Fahrenheit", "-40 °C are -40 °F."),
            ("0 K in °C", "0 K are -273.1 °C."),
            ("how much is a pound in grams", "1 pound is 453.6 g."),
            ("convert 11 stone into kilograms", "11 stones are 69.85 kg."),
            ("6 feet in cm", "6 feet are 182.9 cm."),
            ("615 minutes", "615 minutes are 10.25 hours."),
            ("60 minutes", "60 minutes are 1 hour."),
            ("1 mm in km", "1 mm is 0.000001 km."),
            ("5 km in km", "5 km are 5 km."),
        ] {
            assert_eq!(answer(&[text]), Answer::Converted(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        for (texts, expected) in [
            (&["Convert 42 to miles"][..], "42 of which unit? For example km, pounds or °C."),
            (&["hello"], "What amount should be converted? For example: 42 km in miles."),
            (&["km"], "How many km should be converted?"),
            (&["42 km in pounds"], "Pounds are not a length. In which unit of length do you want 42 km?"),
            (&["99999999999999999999 km"], "How many km should be converted?"),
        ] {
            assert_eq!(answer(texts), Answer::Question(expected.to_owned()), "{texts:?}");
        }
        assert_eq!(answer(&["Convert 42 to miles", "km"]), Answer::Converted("42 km are 26.1 miles.".to_owned()));
        assert_eq!(answer(&["Convert 42", "pounds"]), Answer::Converted("42 pounds are 19.05 kg.".to_owned()));
        let mut wanted = Wanted::default().and(&Words::parse("42 km in pounds"));
        assert!(matches!(wanted.answer(), Answer::Question(_)));
        assert_eq!(wanted.and(&Words::parse("yards")).answer(), Answer::Converted("42 km are 45932 yards.".to_owned()));
    }
}
