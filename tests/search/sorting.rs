//! Hits in another order than that of relevance, in pages.

use agentdex::{
    Timestamp,
    convert::Format,
    search::{Entry, Moments, Search, SortBy, SortOrder},
};

use super::{TestIndex, ids, request, thing};

/// Sixty agents in three segments, whose ids, titles and moments are in orders of their own; twenty titles are the same.
fn fleet() -> (TestIndex, Vec<Agent>) {
    let mut index = TestIndex::new();
    let agents: Vec<Agent> = (0..60).map(Agent::new).collect();
    for segment in agents.chunks(20) {
        for agent in segment {
            agent.put(&mut index);
        }
        index.commit();
    }
    (index, agents)
}

#[derive(Debug, Clone)]
struct Agent {
    id: String,
    title: String,
    created: i64,
    modified: i64,
}

impl Agent {
    fn new(number: i64) -> Agent {
        let title = match number % 3 {
            0 => "the same weather".to_owned(),
            1 => format!("Weather {:02}", number * 37 % 60),
            _ => format!("weather {:02}", number * 37 % 60),
        };
        let id = format!("urn:{:02}", number * 29 % 60);
        Agent { id, title, created: number * 17 % 60, modified: number * 7 % 30 }
    }

    fn put(&self, index: &mut TestIndex) {
        let text = thing(&self.id, &self.title, "Forecasts.").to_string();
        let moments = Moments { created: Timestamp(self.created), modified: Timestamp(self.modified) };
        let entry = Entry {
            id: &self.id,
            text: &text,
            format: None,
            terms: Format::search_terms(),
            access: None,
            moments: Some(moments),
        };
        index.writer.put(entry).expect("the agent is indexed");
    }
}

/// The ids in an order, by sorting all of them.
fn expected(agents: &[Agent], key: SortBy, order: SortOrder) -> Vec<String> {
    let mut agents = agents.to_vec();
    agents.sort_by(|one, other| {
        let by_key = match key {
            SortBy::Title => one.title.to_lowercase().cmp(&other.title.to_lowercase()),
            SortBy::Created => one.created.cmp(&other.created),
            SortBy::Modified => one.modified.cmp(&other.modified),
            _ => one.id.cmp(&other.id),
        };
        let by_key = if order == SortOrder::Desc { by_key.reverse() } else { by_key };
        by_key.then_with(|| one.id.cmp(&other.id))
    });
    agents.into_iter().map(|agent| agent.id).collect()
}

#[test]
fn pages_of_each_order_are_those_of_the_whole() {
    let (index, agents) = fleet();
    let keys = [SortBy::Id, SortBy::Title, SortBy::Created, SortBy::Modified];
    for (key, order) in keys.into_iter().flat_map(|key| SortOrder::ALL.map(|order| (key, order))) {
        for query in ["", "weather", "+weather forecasts", "weath*"] {
            let page = |offset, limit, hidden: &[String]| {
                let search = Search { sort_by: key, sort_order: order, offset, limit, ..request(query) };
                let answer = index.index.search(&search, hidden).expect("an answer");
                assert_eq!(answer.total, 60 - hidden.len() as u64, "{key:?} {order:?} {query:?}");
                answer
            };
            let whole = expected(&agents, key, order);
            assert_eq!(ids(&page(0, 100, &[])), whole, "{key:?} {order:?} {query:?}");
            let pages = (0..63).step_by(7).flat_map(|offset| ids(&page(offset, 7, &[])));
            assert_eq!(pages.collect::<Vec<_>>(), whole, "{key:?} {order:?} {query:?}");
            assert_eq!(ids(&page(60, 7, &[])), [""; 0]);
            let (hidden, seen): (Vec<String>, Vec<String>) = whole.into_iter().partition(|id| id.ends_with('3'));
            let pages = (0..60).step_by(7).flat_map(|offset| ids(&page(offset, 7, &hidden)));
            assert_eq!(pages.collect::<Vec<_>>(), seen, "{key:?} {order:?} {query:?}");
            if !query.is_empty() {
                assert!(page(0, 9, &[]).hits.iter().all(|hit| hit.score > 0.0 && hit.bm25 > 0.0), "{query:?}");
            }
        }
    }
}

#[test]
fn hits_have_their_moments() {
    let (index, agents) = fleet();
    let hit = &index.search(&Search { sort_by: SortBy::Created, limit: 1, ..request("") }).hits[0];
    let oldest = agents.iter().min_by_key(|agent| agent.created).expect("an agent");
    assert_eq!((&hit.id, hit.created), (&oldest.id, Some(Timestamp(oldest.created))));
    assert_eq!(hit.modified, Some(Timestamp(oldest.modified)));
}

#[test]
fn an_agent_without_title_or_moments_comes_first_and_last() {
    let (mut index, _) = fleet();
    index.put(&serde_json::json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:none"}));
    index.commit();
    for key in [SortBy::Title, SortBy::Created, SortBy::Modified] {
        let order = |sort_order| ids(&index.search(&Search { sort_by: key, sort_order, limit: 61, ..request("") }));
        assert_eq!(order(SortOrder::Asc)[0], "urn:none", "{key:?}");
        assert_eq!(order(SortOrder::Desc)[60], "urn:none", "{key:?}");
    }
}
