//! Units of measurement: synonyms and convertible units.

/// The relation of two units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    /// Units of the same quantity, which can be converted.
    Convertible,
    /// Units of different quantities.
    Apart,
    /// One of them isn't known.
    Unknown,
}

/// Units by quantity, with synonyms in a line. In lower case, except for symbols.
const UNITS: [(&str, &[&[&str]]); 19] = [
    (
        "length",
        &[
            &["m", "metre", "meter"],
            &["km", "kilometre", "kilometer"],
            &["cm", "centimetre", "centimeter"],
            &["mm", "millimetre", "millimeter"],
            &["mi", "mile"],
            &["ft", "foot", "feet"],
            &["in", "inch", "inches"],
            &["yd", "yard"],
            &["nmi", "nautical mile"],
        ],
    ),
    (
        "temperature",
        &[
            &["°c", "cel", "celsius", "degree celsius", "degrees celsius", "degc", "deg c"],
            &["°f", "fahrenheit", "degree fahrenheit", "degrees fahrenheit", "degf", "deg f"],
            &["K", "kelvin"],
        ],
    ),
    (
        "time",
        &[
            &["s", "sec", "second"],
            &["ms", "millisecond"],
            &["µs", "us", "microsecond"],
            &["ns", "nanosecond"],
            &["min", "minute"],
            &["h", "hr", "hour"],
            &["d", "day"],
            &["week"],
            &["month"],
            &["a", "yr", "year"],
        ],
    ),
    (
        "mass",
        &[
            &["kg", "kilogram", "kilogramme"],
            &["g", "gram", "gramme"],
            &["mg", "milligram"],
            &["t", "tonne", "metric ton"],
            &["lb", "lbs", "pound"],
            &["oz", "ounce"],
        ],
    ),
    ("power", &[&["W", "watt"], &["mW", "milliwatt"], &["kW", "kilowatt"], &["MW", "megawatt"], &["hp", "horsepower"]]),
    (
        "energy",
        &[
            &["J", "joule"],
            &["kJ", "kilojoule"],
            &["Wh", "watt hour"],
            &["kWh", "kilowatt hour"],
            &["cal", "calorie"],
            &["kcal", "kilocalorie"],
        ],
    ),
    ("voltage", &[&["V", "volt"], &["mV", "millivolt"], &["kV", "kilovolt"]]),
    ("current", &[&["A", "ampere", "amp"], &["mA", "milliampere", "milliamp"]]),
    ("frequency", &[&["Hz", "hertz"], &["kHz", "kilohertz"], &["MHz", "megahertz"], &["GHz", "gigahertz"], &["rpm"]]),
    (
        "pressure",
        &[
            &["Pa", "pascal"],
            &["hPa", "hectopascal"],
            &["kPa", "kilopascal"],
            &["mbar", "millibar"],
            &["bar"],
            &["psi"],
            &["mmHg"],
        ],
    ),
    (
        "speed",
        &[
            &["m/s", "metre per second", "meter per second"],
            &["km/h", "kmh", "kph", "kilometre per hour", "kilometer per hour"],
            &["mph", "mile per hour"],
            &["kn", "knot"],
        ],
    ),
    (
        "volume",
        &[
            &["l", "L", "litre", "liter"],
            &["ml", "mL", "millilitre", "milliliter"],
            &["m3", "m³", "cubic metre", "cubic meter"],
            &["gal", "gallon"],
        ],
    ),
    ("area", &[&["m2", "m²", "square metre", "square meter"], &["km2", "km²"], &["ha", "hectare"], &["acre"]]),
    ("share", &[&["%", "percent", "percentage", "pct"], &["ppm"], &["ratio"]]),
    ("angle", &[&["°", "deg", "degree"], &["rad", "radian"]]),
    (
        "data",
        &[
            &["B", "byte"],
            &["bit"],
            &["kB", "KB", "kilobyte"],
            &["MB", "megabyte"],
            &["GB", "gigabyte"],
            &["KiB", "kibibyte"],
            &["MiB", "mebibyte"],
            &["GiB", "gibibyte"],
        ],
    ),
    ("illuminance", &[&["lx", "lux"]]),
    ("sound", &[&["dB", "decibel"]]),
    (
        "money",
        &[
            &["EUR", "€", "euro"],
            &["USD", "$", "us dollar", "dollar"],
            &["GBP", "£", "pound sterling"],
            &["CHF", "swiss franc"],
            &["JPY", "¥", "yen"],
            &["CNY", "yuan", "renminbi"],
        ],
    ),
];

pub(super) fn relation(from: &str, to: &str) -> Relation {
    if from == to {
        return Relation::Same;
    }
    match (known(from), known(to)) {
        (Some(from), Some(to)) if from == to => Relation::Same,
        (Some(from), Some(to)) if from.0 == to.0 => Relation::Convertible,
        (Some(_), Some(_)) => Relation::Apart,
        _ if spelled(from) == spelled(to) => Relation::Same,
        _ => Relation::Unknown,
    }
}

/// Finds a unit: the index of its dimension, and its own index among the units of that dimension.
fn known(unit: &str) -> Option<(usize, usize)> {
    // The local name of a term such as `om:degree_Celsius` or an IRI.
    let name = unit.rsplit(['#', '/']).next().filter(|_| unit.contains("://")).unwrap_or(unit);
    let name = name.split_once(':').map_or(name, |(_, local)| local).trim();
    let find = |is_it: &dyn Fn(&str) -> bool| {
        UNITS.iter().enumerate().find_map(|(dimension, (_, units))| {
            Some((dimension, units.iter().position(|names| names.iter().any(|known| is_it(known)))?))
        })
    };
    // Symbols differ by case (mW and MW), words don't.
    find(&|known| known == name).or_else(|| {
        let spelled = spelled(name);
        let singular = spelled.strip_suffix('s').unwrap_or(&spelled);
        find(&|known| {
            let is_word = known.chars().filter(|letter| letter.is_alphabetic()).count() > 3 || known.starts_with('°');
            is_word && (known == spelled || known == singular)
        })
    })
}

/// In lower case, with words apart.
fn spelled(unit: &str) -> String {
    unit.trim().replace(['_', '-'], " ").to_lowercase()
}
