//! Cursors of pages. A cursor contains the last entry of the previous page. Concurrent writes therefore neither repeat nor skip
//! other servers.

use uuid::Uuid;

use super::super::{page_token, problem::Problem};

/// The last entry of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Rank of the Thing in a search, or `None` in the order of ids.
    pub(super) rank: Option<usize>,
    /// Id of the Thing.
    pub(super) id: String,
    /// Version, or `None` after the last version of the Thing.
    pub(super) version: Option<String>,
}

/// Separator of the parts, which no id contains.
const SEPARATOR: char = '\n';

impl Cursor {
    /// Encodes the cursor in characters that need no escaping in URLs.
    pub(super) fn encode(&self, registry: Uuid) -> String {
        let rank = self.rank.map(|rank| rank.to_string()).unwrap_or_default();
        let mut text = format!("{rank}{SEPARATOR}{}", self.id);
        if let Some(version) = &self.version {
            text.push(SEPARATOR);
            text.push_str(version);
        }
        page_token::encode(registry, &text)
    }

    /// Decodes the cursor of a search, or of a list in the order of ids.
    pub(super) fn decode(registry: Uuid, token: &str, is_search: bool) -> Result<Cursor, Problem> {
        let read = || {
            let text = page_token::decode(registry, token)?;
            let (rank, rest) = text.split_once(SEPARATOR)?;
            let (id, version) = match rest.split_once(SEPARATOR) {
                Some((id, version)) => (id, Some(version.to_owned())),
                None => (rest, None),
            };
            let rank = if rank.is_empty() { None } else { Some(rank.parse().ok()?) };
            (rank.is_some() == is_search).then(|| Cursor { rank, id: id.to_owned(), version })
        };
        read().ok_or_else(|| {
            let detail = "`cursor` is not a cursor for this request; send the `nextCursor` of the previous page, with the \
                          same `search`";
            Problem::invalid_parameter("cursor", detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_were_written() {
        let registry = Uuid::from_u128(7);
        for (rank, version) in [(None, None), (None, Some("1.0.0+b")), (Some(7), None), (Some(0), Some("a\nb"))] {
            let cursor = Cursor { rank, id: "urn:ü".to_owned(), version: version.map(str::to_owned) };
            let token = cursor.encode(registry);
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{token}");
            assert_eq!(Cursor::decode(registry, &token, rank.is_some()).ok(), Some(cursor));
            assert!(Cursor::decode(registry, &token, rank.is_none()).is_err());
            assert!(Cursor::decode(Uuid::from_u128(8), &token, rank.is_some()).is_err());
        }
    }
}
