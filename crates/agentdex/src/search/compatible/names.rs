//! Names of data, compared for equality and similar meaning.
//!
//! Names are equal regardless of case and punctuation. They are synonyms if they are equal after expanding
//! abbreviations (`qty`), or if a line of the table contains both (`city`, `location`). The same applies to their
//! last words if the preceding words are equal (`home_city`, `home_location`). No line of the table contains names
//! for different things, such as `start` and `end`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, LazyLock},
};

/// The names of a part of data, by which it is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Names {
    /// Name without case and punctuation, or `None` for the data as a whole.
    pub key: Option<Arc<str>>,
    /// Title in the same form, if it differs from the name.
    pub title: Option<Arc<str>>,
    /// Keys for the meanings of the names, if shared with other names. They start with `~`, unlike keys of names.
    pub meanings: Box<[Arc<str>]>,
}

impl Names {
    pub fn of(name: &str, title: Option<&str>) -> Names {
        let key = Some(name).filter(|name| !name.is_empty()).map(key_of);
        let title = title.filter(|title| !title.trim().is_empty());
        let mut meanings: Vec<String> = [Some(name), title].into_iter().flatten().flat_map(meanings).collect();
        meanings.sort_unstable();
        meanings.dedup();
        let title = title.map(key_of).filter(|title| Some(title) != key.as_ref());
        Names { key, title, meanings: meanings.into_iter().map(Into::into).collect() }
    }

    /// Returns the names themselves.
    pub fn exact(&self) -> impl Iterator<Item = &Arc<str>> {
        self.key.iter().chain(&self.title)
    }

    /// Returns all keys under which the port is found.
    pub fn all(&self) -> impl Iterator<Item = &Arc<str>> {
        self.exact().chain(&*self.meanings)
    }

    /// True if any of the names is equal to any of the other names.
    pub fn are_same(&self, other: &Names) -> bool {
        self.exact().any(|key| other.exact().any(|theirs| key == theirs))
    }

    /// True if the names are synonyms.
    pub fn are_near(&self, other: &Names) -> bool {
        self.meanings.iter().any(|meaning| other.meanings.contains(meaning))
    }
}

/// Normalizes a name by removing case and punctuation. A name consisting only of punctuation is unchanged.
fn key_of(name: &str) -> Arc<str> {
    let key: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if key.is_empty() { name.into() } else { key.into() }
}

/// Maximum number of words of a name with a meaning.
const MAX_WORDS: usize = 6;

/// Abbreviations and spellings of words.
const WORDS: [(&str, &str); 71] = [
    ("acct", "account"),
    ("addr", "address"),
    ("adr", "address"),
    ("alt", "altitude"),
    ("amt", "amount"),
    ("avg", "average"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("cfg", "configuration"),
    ("cnt", "count"),
    ("colour", "color"),
    ("config", "configuration"),
    ("coord", "coordinate"),
    ("coords", "coordinates"),
    ("curr", "currency"),
    ("cust", "customer"),
    ("dept", "department"),
    ("desc", "description"),
    ("descr", "description"),
    ("dest", "destination"),
    ("dir", "directory"),
    ("dist", "distance"),
    ("doc", "document"),
    ("dst", "destination"),
    ("emp", "employee"),
    ("favourite", "favorite"),
    ("fname", "first name"),
    ("freq", "frequency"),
    ("id", "identifier"),
    ("img", "image"),
    ("info", "information"),
    ("inv", "invoice"),
    ("lang", "language"),
    ("lat", "latitude"),
    ("len", "length"),
    ("licence", "license"),
    ("litre", "liter"),
    ("lname", "last name"),
    ("lng", "longitude"),
    ("loc", "location"),
    ("lon", "longitude"),
    ("long", "longitude"),
    ("lvl", "level"),
    ("max", "maximum"),
    ("metre", "meter"),
    ("min", "minimum"),
    ("msg", "message"),
    ("nr", "number"),
    ("num", "number"),
    ("org", "organization"),
    ("organisation", "organization"),
    ("param", "parameter"),
    ("params", "parameters"),
    ("passwd", "password"),
    ("pct", "percent"),
    ("perc", "percent"),
    ("pic", "picture"),
    ("pos", "position"),
    ("prio", "priority"),
    ("prod", "product"),
    ("pwd", "password"),
    ("qty", "quantity"),
    ("ref", "reference"),
    ("src", "source"),
    ("tel", "telephone"),
    ("temp", "temperature"),
    ("ts", "timestamp"),
    ("tz", "timezone"),
    ("url", "uri"),
    ("usr", "user"),
    ("vol", "volume"),
];

/// Synonyms, with abbreviations expanded. A name may occur in several lines, since its meaning depends on the
/// context.
const LINES: [&[&str]; 71] = [
    &["city", "town", "location", "place", "municipality", "city name", "place name", "location name"],
    &["address", "street address", "postal address", "mailing address", "full address"],
    &["address", "location"],
    &["postal code", "zip", "zip code", "zipcode", "postcode", "post code", "postalcode", "postal"],
    &["state", "province"],
    &["country", "country name", "nation"],
    &["country", "country code"],
    &["street", "street name", "road"],
    &["street number", "building number"],
    &["destination", "to", "arrival city", "destination city", "arrival location"],
    &["origin", "from", "departure city", "origin city", "departure location", "departure"],
    &["email", "e mail", "mail", "email address", "e mail address", "mail address", "emailaddress"],
    &["phone", "telephone", "phone number", "telephone number", "phonenumber", "mobile", "mobile number", "cell phone"],
    &["name", "full name", "fullname", "display name"],
    &["first name", "firstname", "given name", "givenname", "forename"],
    &["last name", "lastname", "surname", "family name", "familyname"],
    &["username", "user name", "login", "login name", "user login"],
    &["user", "username"],
    &["birth date", "birthdate", "birthday", "date of birth", "dob"],
    &["gender", "sex"],
    &["company", "organization", "firm", "company name", "organization name"],
    &["job title", "position title", "occupation", "profession"],
    &["customer", "client"],
    &["product", "item", "product name"],
    &["product code", "sku", "item number", "article number", "item code"],
    &["order identifier", "order number"],
    &["invoice identifier", "invoice number"],
    &["ticket identifier", "ticket number"],
    &["tracking identifier", "tracking number"],
    &["identifier", "uid"],
    &["quantity", "count", "number of items", "number of units"],
    &["quantity", "amount"],
    &["amount", "total", "total amount", "sum"],
    &["price", "cost"],
    &["currency", "currency code", "ccy"],
    &["language", "language code"],
    &["language", "locale"],
    &["source language", "from language", "input language", "original language"],
    &["target language", "to language", "output language", "destination language"],
    &["text", "content", "body", "text content"],
    &["message", "text", "content", "body", "message text"],
    &["prompt", "question", "input"],
    &["question", "query"],
    &[
        "query",
        "q",
        "search",
        "search query",
        "search term",
        "search terms",
        "search text",
        "keyword",
        "keywords",
        "term",
    ],
    &["answer", "response", "reply"],
    &["result", "output"],
    &["description", "details"],
    &["summary", "abstract", "synopsis"],
    &["title", "headline"],
    &["title", "subject"],
    &["comment", "note", "remark"],
    &["comments", "notes", "remarks"],
    &["tags", "labels"],
    &["tags", "keywords"],
    &["kind", "type"],
    &["category", "category name"],
    &["status", "state"],
    &["rating", "score"],
    &["uri", "link", "href", "web address"],
    &["website", "web site", "homepage", "home page", "website uri"],
    &["image", "picture", "photo"],
    &["filename", "file name"],
    &["path", "file path", "filepath"],
    &["sender", "from", "sent by"],
    &["recipient", "receiver", "to", "addressee", "sent to"],
    &["access token", "auth token", "token"],
    &["limit", "maximum results", "page size", "per page", "number of results", "top k", "maximum count"],
    &["offset", "skip"],
    &["page", "page number"],
    &["timestamp", "datetime", "date time", "time stamp"],
    &["deadline", "due date", "due", "due by"],
];

/// Line numbers of each name.
static LINES_OF: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut lines: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, line) in LINES.iter().enumerate() {
        line.iter().for_each(|name| lines.entry(*name).or_default().push(number));
    }
    lines
});

/// Words that abbreviations stand for.
static LONG_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| WORDS.iter().flat_map(|(_, long)| long.split(' ')).collect());

/// Points in time, each by its words; a name may say or leave open if it is a date or a time of day.
const TIMES: [(&str, &[&str]); 8] = [
    ("start", &["start", "begin", "beginning", "starting"]),
    ("end", &["end", "finish", "ending"]),
    ("created", &["created", "creation"]),
    ("updated", &["updated", "modified", "last modified", "last updated", "modification"]),
    ("departure", &["departure", "departing", "depart"]),
    ("arrival", &["arrival", "arriving", "arrive"]),
    ("check in", &["check in", "checkin"]),
    ("check out", &["check out", "checkout"]),
];

/// The meaning of a name: the words of a line or of an abbreviation, behind `~`.
fn meanings(name: &str) -> Vec<String> {
    let words = words(name);
    if words.is_empty() || words.len() > MAX_WORDS {
        return Vec::new();
    }
    let long: Vec<&str> = words.iter().flat_map(|word| expanded(word).split(' ')).collect();
    let whole = long.join(" ");
    let mut found = of_time(&whole);
    // The most words first: those of a line that are behind others mean the same as those of a shorter one.
    for behind in 0..long.len() {
        let (Some(before), Some(last)) = (long.get(..behind), long.get(behind..)) else { break };
        let Some(lines) = LINES_OF.get(last.join(" ").as_str()) else { continue };
        let before: String = before.iter().flat_map(|word| [word, " "]).collect();
        found.extend(lines.iter().map(|number| format!("~{before}{number}")));
        break;
    }
    // An abbreviation and its word are the same, also where no line has them.
    if long.iter().any(|word| LONG_WORDS.contains(word)) {
        found.push(format!("~{whole}"));
    }
    found
}

/// The meanings of the name of a point in time.
fn of_time(whole: &str) -> Vec<String> {
    let behind = |end: &'static str| whole.strip_suffix(end).map(|rest| (rest, end.trim()));
    let (rest, precision) = ["date", "time", " at", " on"]
        .into_iter()
        .find_map(behind)
        .or_else(|| whole.strip_prefix("date ").map(|rest| (rest, "date")))
        .unwrap_or((whole, ""));
    let rest = rest.trim();
    let found = TIMES.iter().flat_map(|(point, all)| all.iter().map(move |name| (point, name)));
    let found = found.filter_map(|(point, name)| {
        let before = rest.strip_suffix(name)?;
        (before.is_empty() || before.ends_with(' ')).then_some((before, point))
    });
    let Some((before, point)) = found.min_by_key(|(before, _)| before.len()) else { return Vec::new() };
    match precision {
        "date" | "time" => vec![format!("~{before}{point} {precision}")],
        _ => vec![format!("~{before}{point} date"), format!("~{before}{point} time")],
    }
}

/// Returns the word for an abbreviation.
fn expanded(word: &str) -> &str {
    WORDS
        .binary_search_by(|(short, _)| short.cmp(&word))
        .ok()
        .and_then(|at| WORDS.get(at))
        .map_or(word, |(_, long)| long)
}

/// The words of a name in lower case: `customerId`, `customer_id` and `customer id` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut letters = name.chars().peekable();
    let (mut before, mut is_inside) = (' ', false);
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            is_inside = false;
            before = letter;
            continue;
        }
        // `imageURL` and `URLOfImage` as well.
        let is_turn = letter.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase()));
        if !is_inside || is_turn {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        is_inside = true;
        before = letter;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_near(one: &str, two: &str) -> bool {
        let [one, two] = [one, two].map(|name| Names::of(name, None));
        one.are_near(&two)
    }

    #[test]
    fn names_are_compared_without_case_and_punctuation() {
        for name in ["cityName", "city_name", "City name", "CITY-NAME"] {
            assert_eq!(&*key_of(name), "cityname");
        }
        assert_eq!(&*key_of("???"), "???");
        assert_eq!(words("imageURLOf-the_page 2"), ["image", "url", "of", "the", "page", "2"]);
    }

    #[test]
    fn the_tables_are_in_order_and_write_abbreviations_out() {
        assert!(WORDS.is_sorted_by(|one, two| one.0 < two.0));
        let short: Vec<_> = LINES
            .iter()
            .flat_map(|line| line.iter())
            .filter(|name| name.split(' ').any(|word| expanded(word) != word))
            .collect();
        assert_eq!(short, ["max results"; 0].iter().collect::<Vec<_>>());
    }

    #[test]
    fn names_that_mean_the_same_are_near_also_behind_the_same_words() {
        for (one, two) in [
            ("home_city", "homeLocation"),
            ("max_qty", "maximumQuantity"),
            ("imageURL", "image_link"),
            ("startAt", "begin_date"),
            ("createdAt", "creation_time"),
            ("customerId", "customer_identifier"),
            ("e-mail", "emailAddress"),
        ] {
            assert!(are_near(one, two) && are_near(two, one), "{one} {two}");
        }
    }

    #[test]
    fn opposites_and_siblings_are_never_near() {
        const KINDS: [&[&str]; 26] = [
            &["start", "end"],
            &["start_date", "end_date"],
            &["start_date", "start_time"],
            &["begin", "finish"],
            &["min", "max", "avg"],
            &["minimum", "maximum", "average"],
            &["from", "to"],
            &["source", "target"],
            &["src", "dst"],
            &["origin", "destination"],
            &["sender", "recipient"],
            &["width", "height", "length", "depth", "weight"],
            &["lat", "lon", "alt"],
            &["price", "currency", "quantity", "tax", "discount"],
            &["city", "country", "state", "street", "zip"],
            &["city", "address"],
            &["first_name", "last_name"],
            &["email", "phone", "name"],
            &["title", "text", "summary", "description"],
            &["question", "answer"],
            &["input", "output"],
            &["request", "response"],
            &["username", "password"],
            &["created_at", "updated_at", "deleted_at"],
            &["departure", "arrival"],
            &["user_id", "order_id", "product_id"],
        ];
        for kind in KINDS {
            for (number, one) in kind.iter().enumerate() {
                for two in kind.iter().skip(number + 1) {
                    for before in ["", "new_", "customer "] {
                        assert!(!are_near(&format!("{before}{one}"), &format!("{before}{two}")), "{before}{one} {two}");
                    }
                }
            }
        }
    }
}
