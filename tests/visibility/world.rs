//! What happens: random writes of several writers at once, and the record of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::{
    markers::markers,
    oracle::{Access, Life, Membership, Moment, Record, Step, Visibility},
    server::{Server, Who, agent},
};

/// The owners, which are also the members of namespaces.
const OWNERS: [Who; 3] = [Who::Alice, Who::Bob, Who::Carol];
const NAMESPACES: [&str; 2] = ["north", "south"];
/// The agents that are put, and the document that is imported with its parts.
const AGENTS: usize = 6;
const DOCUMENT: usize = 90;
const PARTS: std::ops::Range<usize> = 91..94;

/// Numbers that look random and are the same with the same seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The id of an agent.
pub fn id_of(number: usize) -> String {
    match number {
        DOCUMENT.. => format!("urn:agentspec:local:zqi{number:05}"),
        _ => format!("urn:zqi{number:05}"),
    }
}

/// A text that was written or tried: a marker of its own, and what the write said of access.
#[derive(Debug, Clone, Copy)]
struct Text {
    /// Who wrote it: the owner of what it creates.
    writer: Who,
    /// What was asked for.
    asked: Option<Visibility>,
    /// A text that the saved query matches.
    is_blue: bool,
    /// A text of a document, whose conversion decides what is a key.
    is_imported: bool,
}

/// A namespace as it is.
#[derive(Debug, Clone)]
struct Claim {
    number: u32,
    owner: Who,
    members: BTreeSet<Who>,
}

/// A write of a thread.
#[derive(Debug, Clone)]
enum Write {
    Put {
        who: Who,
        id: usize,
        text: u32,
        asked: Option<Visibility>,
        ttl: Option<u32>,
    },
    Patch {
        who: Who,
        id: usize,
        text: u32,
    },
    /// As one of two versions, of which the second is served.
    Version {
        who: Who,
        id: usize,
        text: u32,
        asked: Option<Visibility>,
        version: usize,
    },
    SetAccess {
        who: Who,
        id: usize,
        change: AccessChange,
    },
    Remove {
        who: Who,
        id: usize,
    },
    Import {
        who: Who,
        texts: Vec<u32>,
        asked: Option<Visibility>,
    },
}

/// The part of an access that a write changes.
#[derive(Debug, Clone, Copy)]
enum AccessChange {
    Owner(Who),
    Visibility(Visibility),
}

impl AccessChange {
    fn applied_to(self, access: Access) -> Access {
        match self {
            AccessChange::Owner(owner) => Access { owner, ..access },
            AccessChange::Visibility(visibility) => Access { visibility, ..access },
        }
    }
}

/// A write that was acknowledged and is to be found in the log.
#[derive(Debug, Clone, Copy)]
enum Acknowledged {
    Text(u32),
    /// A text that may be served or not.
    Version(u32),
    Access(AccessChange),
    Removal,
}

/// Something that a writer got as an answer, with the request that it is the answer to.
pub struct Response {
    pub who: Who,
    pub request: String,
    pub text: String,
}

/// The record of a server, and what is to happen next.
pub struct World {
    pub record: Record,
    texts: Vec<Text>,
    claims: BTreeMap<&'static str, Claim>,
    namespaces: u32,
    random: Random,
    /// Writes that have been acknowledged and not been found in the log, by id, in their order.
    pending: BTreeMap<String, VecDeque<Acknowledged>>,
    /// The end of what was read of the log, and of what has no entry.
    pub now: Moment,
}

impl World {
    pub fn new(seed: u64) -> World {
        World {
            record: Record::default(),
            texts: Vec::new(),
            claims: BTreeMap::new(),
            namespaces: 0,
            random: Random(seed),
            pending: BTreeMap::new(),
            now: Moment::default(),
        }
    }

    /// True if the saved query matches a text.
    pub fn is_blue(&self, text: u32) -> bool {
        self.texts.get(text as usize).is_some_and(|text| text.is_blue)
    }

    /// All texts that were written or tried.
    pub fn texts(&self) -> std::ops::Range<u32> {
        0..self.texts.len() as u32
    }

    /// The ids that there may be.
    pub fn ids() -> Vec<String> {
        (0..AGENTS).chain([DOCUMENT]).chain(PARTS).map(id_of).collect()
    }

    /// True if what is a key of a text isn't known here.
    pub fn is_imported(&self, text: u32) -> bool {
        self.texts.get(text as usize).is_some_and(|text| text.is_imported)
    }

    fn new_text(&mut self, writer: Who, asked: Option<Visibility>) -> u32 {
        let is_blue = self.random.below(2) == 0;
        self.texts.push(Text { writer, asked, is_blue, is_imported: false });
        self.texts.len() as u32 - 1
    }

    /// One round: several writers at once, each with agents of its own, while the members of a namespace change. Returns
    /// what the writers got.
    pub fn go_on(&mut self, server: &Server) -> Vec<Response> {
        let change = self.next_claim();
        let mut plans: [Vec<Write>; 3] = Default::default();
        for number in (0..AGENTS).chain([DOCUMENT]) {
            let writes = self.next_writes(number);
            plans[number % 3].extend(writes);
        }
        let texts = self.texts.clone();
        let (claimed, answers) = std::thread::scope(|scope| {
            let writers: Vec<_> = plans
                .into_iter()
                .map(|plan| {
                    let (texts, names) = (&texts, self.names_by_number());
                    scope.spawn(move || {
                        let write = |write: Write| (write.send(server, texts, &names), write);
                        plan.into_iter().map(write).collect::<Vec<_>>()
                    })
                })
                .collect();
            let claimed = change.map(|(name, who, members)| {
                let before = server.last();
                let answer = match &members {
                    Some(members) => server.set_members(who, name, &Vec::from_iter(members.iter().copied())),
                    None => server.give_up(who, name),
                };
                assert!(answer.status < 300, "{who} {name} {members:?}: {}", answer.text());
                (name, who, members, before, server.last())
            });
            (claimed, writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>())
        });
        if let Some((name, who, members, before, after)) = claimed {
            self.claim(name, who, members, before, after);
        }
        let mut responses = Vec::new();
        for ((status, response), write) in answers {
            let (id, acknowledged) = match &write {
                Write::Put { id, text, .. } | Write::Patch { id, text, .. } => (*id, Acknowledged::Text(*text)),
                Write::Version { id, text, .. } => (*id, Acknowledged::Version(*text)),
                Write::SetAccess { id, change, .. } => (*id, Acknowledged::Access(*change)),
                Write::Remove { id, .. } => (*id, Acknowledged::Removal),
                Write::Import { texts, .. } => (DOCUMENT, Acknowledged::Text(texts[0])),
            };
            if status < 300 {
                self.pending.entry(id_of(id)).or_default().push_back(acknowledged);
            }
            responses.push(response);
        }
        responses
    }

    /// The names of namespaces by the numbers that they have in this round.
    fn names_by_number(&self) -> BTreeMap<u32, &'static str> {
        self.claims.iter().map(|(name, claim)| (claim.number, *name)).collect()
    }

    /// A claim, other members, or the end of one; the last without members.
    fn next_claim(&mut self) -> Option<(&'static str, Who, Option<BTreeSet<Who>>)> {
        let name = self.random.one_of(&NAMESPACES);
        let members = |random: &mut Random, owner: Who| {
            OWNERS.into_iter().filter(|who| *who != owner && random.below(2) == 0).collect::<BTreeSet<_>>()
        };
        match self.claims.get(name).cloned() {
            None => {
                let owner = self.random.one_of(&OWNERS);
                Some((name, owner, Some(members(&mut self.random, owner))))
            }
            Some(claim) if self.random.below(5) == 0 => Some((name, claim.owner, None)),
            Some(claim) => {
                let members = members(&mut self.random, claim.owner);
                (members != claim.members).then_some((name, claim.owner, Some(members)))
            }
        }
    }

    /// Takes a change of a namespace in that happened between two positions: whoever joins does so at once, whoever
    /// leaves only then.
    fn claim(&mut self, name: &'static str, owner: Who, members: Option<BTreeSet<Who>>, before: u64, after: u64) {
        let step = self.now.1 + 1;
        self.now.1 = step;
        let (joined_at, left_at) = (Moment(before, step), Moment(after, step));
        let (surely_joined, surely_left) = (Moment(after, step), Moment(before, step));
        let all = |claim: &Claim| claim.members.iter().copied().chain([claim.owner]).collect::<BTreeSet<_>>();
        let old = self.claims.remove(name);
        let number = old.as_ref().map_or(self.namespaces + 1, |claim| claim.number);
        self.namespaces = self.namespaces.max(number);
        let was = old.as_ref().map(all).unwrap_or_default();
        let new = members.map(|members| Claim { number, owner, members });
        let is = new.as_ref().map(all).unwrap_or_default();
        for membership in &mut self.record.memberships {
            if membership.namespace == number && membership.until.is_none() && !is.contains(&membership.who) {
                membership.until = Some(left_at);
                membership.surely.1 = Some(surely_left);
            }
        }
        let membership = |who: &Who| Membership {
            who: *who,
            namespace: number,
            since: joined_at,
            until: None,
            surely: (surely_joined, None),
        };
        let joined = is.difference(&was).map(membership);
        self.record.memberships.extend(joined);
        self.claims.extend(new.map(|new| (name, new)));
    }

    /// An access that an owner may ask for.
    fn next_visibility(&mut self, owner: Who) -> Visibility {
        let is_of = |claim: &&Claim| claim.owner == owner || claim.members.contains(&owner);
        let numbers: Vec<u32> = self.claims.values().filter(is_of).map(|claim| claim.number).collect();
        match self.random.below(5) {
            0 | 1 => Visibility::Private,
            2 | 3 if !numbers.is_empty() => Visibility::Namespace(self.random.one_of(&numbers)),
            _ => Visibility::Public,
        }
    }

    /// True if an agent is there, as far as the log was read.
    pub fn is_alive(&self, id: &str) -> bool {
        self.alive(id).is_some()
    }

    /// The present life of an agent, as far as the log was read.
    fn alive(&self, id: &str) -> Option<&Life> {
        self.record.lives.iter().rev().find(|life| life.id == id).filter(|life| life.end.is_none())
    }

    /// Up to two writes of an agent.
    fn next_writes(&mut self, number: usize) -> Vec<Write> {
        let access = self.alive(&id_of(number)).and_then(|life| life.steps.last()).map(|step| step.access);
        let mut writes = Vec::new();
        let mut access = access;
        for _ in 0..self.random.below(3) {
            match access {
                None => {
                    let who = self.random.one_of(&OWNERS);
                    let visibility = self.next_visibility(who);
                    writes.push(self.creation(number, who, visibility));
                    access = Some(Access { owner: who, visibility });
                }
                Some(present) => access = self.next_write(number, present, &mut writes),
            }
        }
        writes
    }

    fn creation(&mut self, number: usize, who: Who, visibility: Visibility) -> Write {
        let asked = Some(visibility);
        if number == DOCUMENT {
            return self.import(who, asked);
        }
        let ttl = (self.random.below(6) == 0).then_some(1);
        Write::Put { who, id: number, text: self.new_text(who, asked), asked, ttl }
    }

    fn import(&mut self, who: Who, asked: Option<Visibility>) -> Write {
        let parts = 1 + self.random.below(PARTS.len());
        let texts: Vec<u32> = (0..=parts).map(|_| self.new_text(who, asked)).collect();
        texts.iter().for_each(|text| {
            let text = &mut self.texts[*text as usize];
            (text.is_imported, text.is_blue) = (true, false);
        });
        Write::Import { who, texts, asked }
    }

    /// A write of an agent that is there; returns the access to it then.
    fn next_write(&mut self, number: usize, present: Access, writes: &mut Vec<Write>) -> Option<Access> {
        let who = present.owner;
        let visibility = self.next_visibility(who);
        match self.random.below(13) {
            10.. if number != DOCUMENT => {
                let asked = (self.random.below(2) == 0).then_some(visibility);
                let (text, version) = (self.new_text(who, asked), 1 + self.random.below(2));
                writes.push(Write::Version { who, id: number, text, asked, version });
                Some(Access { visibility: asked.unwrap_or(present.visibility), ..present })
            }
            0 => {
                writes.push(Write::Remove { who, id: number });
                None
            }
            1 => {
                // Taken by another.
                writes.push(Write::Remove { who, id: number });
                let owner = self.random.one_of(&OWNERS);
                let visibility = self.next_visibility(owner);
                writes.push(self.creation(number, owner, visibility));
                Some(Access { owner, visibility })
            }
            2 if number != DOCUMENT => {
                let owner = self.random.one_of(&OWNERS);
                let change = AccessChange::Owner(owner);
                if owner != present.owner {
                    writes.push(Write::SetAccess { who: Who::Admin, id: number, change });
                }
                Some(change.applied_to(present))
            }
            3..=5 if visibility != present.visibility => {
                let change = AccessChange::Visibility(visibility);
                writes.push(Write::SetAccess { who, id: number, change });
                Some(change.applied_to(present))
            }
            6 if number != DOCUMENT => {
                let text = self.new_text(who, Some(visibility));
                writes.push(Write::Put { who, id: number, text, asked: Some(visibility), ttl: None });
                Some(Access { visibility, ..present })
            }
            7 if number != DOCUMENT => {
                writes.push(Write::Patch { who, id: number, text: self.new_text(who, None) });
                Some(present)
            }
            _ if number == DOCUMENT => {
                writes.push(self.import(who, None));
                Some(present)
            }
            _ => {
                let text = self.new_text(who, None);
                writes.push(Write::Put { who, id: number, text, asked: None, ttl: None });
                Some(present)
            }
        }
    }

    /// Reads on in the log as an admin: it says at which position what happened.
    pub fn read_log(&mut self, server: &Server) {
        loop {
            let page = server.changes(Who::Admin, self.now.0);
            assert_eq!(page["truncated"], false, "{page}");
            let changes = page["changes"].as_array().unwrap();
            for change in changes {
                let seq = change["seq"].as_u64().unwrap();
                self.now.0 = seq;
                self.take_in(Moment(seq, self.now.1), change);
            }
            if changes.is_empty() {
                // What isn't in the log by now has changed nothing that is served.
                for (id, pending) in std::mem::take(&mut self.pending) {
                    pending.into_iter().for_each(|one| self.store(&id, one));
                }
                self.now.0 = self.now.0.max(page["last"].as_u64().unwrap());
                return;
            }
        }
    }

    fn take_in(&mut self, at: Moment, change: &Value) {
        let id = change["id"].as_str().unwrap();
        if !id.contains("zqi") {
            return;
        }
        // Its position is exact, however many memberships have changed meanwhile.
        let at = Moment(at.0, 0);
        let is_part = PARTS.map(id_of).any(|part| part == id);
        let number = markers(&change[if change["td"].is_object() { "td" } else { "patch" }].to_string())
            .into_iter()
            .find_map(|marker| marker.text());
        // What was acknowledged before this text and isn't in the log has changed nothing.
        if let Some(number) = number.filter(|_| !is_part) {
            let is_it = |one: &Acknowledged| matches!(one, Acknowledged::Text(text) | Acknowledged::Version(text) if *text == number);
            while let Some(one) = self.pop(id).filter(|one| !is_it(one)) {
                self.store(id, one);
            }
        }
        let document = self.alive(&id_of(DOCUMENT)).and_then(|life| life.steps.last()).map(|step| step.access);
        match change["kind"].as_str().unwrap() {
            "thing_created" => {
                let number = number.unwrap_or_else(|| panic!("a creation without a text: {change}"));
                let text = self.texts[number as usize];
                let asked = text.asked.unwrap_or(Visibility::Public);
                let access = Access { owner: text.writer, visibility: asked };
                let access = if is_part && text.asked.is_none() { document.unwrap_or(access) } else { access };
                let steps = vec![Step { at, access, text: number }];
                self.record.lives.push(Life { id: id.to_owned(), steps, end: None, unserved: Vec::new() });
            }
            "thing_updated" => {
                let life = self.record.lives.iter_mut().rev().find(|life| life.id == id && life.end.is_none());
                let life = life.unwrap_or_else(|| panic!("an update of nothing: {change}"));
                let last = *life.steps.last().unwrap();
                let step = match number {
                    Some(number) => {
                        let visibility = self.texts[number as usize].asked.unwrap_or(last.access.visibility);
                        Step { at, access: Access { visibility, ..last.access }, text: number }
                    }
                    // A part goes with its document, whether or not that has an entry for each. What changes nothing has no
                    // entry.
                    None => {
                        let access = self.next_access(id, last.access);
                        Step { at, access: access.unwrap_or(last.access), text: last.text }
                    }
                };
                let life = self.record.lives.iter_mut().rev().find(|life| life.id == id && life.end.is_none());
                life.unwrap().steps.push(step);
                if id == id_of(DOCUMENT) && step.access != last.access {
                    self.move_parts(at, step.access);
                }
            }
            _ => {
                let life = self.record.lives.iter_mut().rev().find(|life| life.id == id && life.end.is_none());
                life.unwrap_or_else(|| panic!("a deletion of nothing: {change}")).end = Some(at);
                if change["reason"] == "removed" && !is_part {
                    while self.pop(id).is_some_and(|one| !matches!(one, Acknowledged::Removal)) {}
                }
            }
        }
    }

    /// The next write of an agent that was acknowledged.
    fn pop(&mut self, id: &str) -> Option<Acknowledged> {
        self.pending.get_mut(id)?.pop_front()
    }

    /// The access of an agent after the next write that changed it alone. A version that isn't served can have been stored with it.
    fn next_access(&mut self, id: &str, before: Access) -> Option<Access> {
        while let Some(one) = self.pop(id) {
            let access = match one {
                Acknowledged::Access(change) => change.applied_to(before),
                Acknowledged::Version(text) => {
                    self.store_after(id, text, 1);
                    let asked = self.texts[text as usize].asked;
                    Access { visibility: asked.unwrap_or(before.visibility), ..before }
                }
                _ => before,
            };
            if access != before {
                return Some(access);
            }
        }
        None
    }

    /// Notes what a write stored that has no entry in the log.
    fn store(&mut self, id: &str, one: Acknowledged) {
        if let Acknowledged::Version(text) = one {
            self.store_after(id, text, 0);
        }
    }

    /// Notes a version that isn't served, after so many steps that are to come.
    fn store_after(&mut self, id: &str, text: u32, to_come: usize) {
        let life = self.record.lives.iter_mut().rev().find(|life| life.id == id && life.end.is_none());
        life.into_iter().for_each(|life| life.unserved.push((text, life.steps.len() + to_come)));
    }

    /// Parts have the access of their document.
    fn move_parts(&mut self, at: Moment, access: Access) {
        let parts: Vec<String> = PARTS.map(id_of).collect();
        for life in self.record.lives.iter_mut().filter(|life| life.end.is_none() && parts.contains(&life.id)) {
            let last = *life.steps.last().unwrap();
            life.steps.push(Step { at, access, text: last.text });
        }
    }

    /// Everything about an id that a failure should say.
    pub fn history(&self, id: &str) -> String {
        let of_id = self.record.lives.iter().filter(|life| life.id == id);
        let lines = of_id.map(|life| {
            let steps = life.steps.iter().map(|step| {
                format!("{:?} text {} {} {:?}", step.at, step.text, step.access.owner, step.access.visibility)
            });
            format!("  {}; end {:?}", steps.collect::<Vec<_>>().join(", "), life.end)
        });
        let members = self
            .record
            .memberships
            .iter()
            .map(|one| format!("  {} in {} from {:?} to {:?}", one.who, one.namespace, one.since, one.until));
        lines.chain(members).collect::<Vec<_>>().join("\n")
    }
}

impl Write {
    /// Sends it; the status and the response.
    fn send(&self, server: &Server, texts: &[Text], names: &BTreeMap<u32, &'static str>) -> (u16, Response) {
        let json = &[("content-type", "application/json")];
        let (who, method, path, headers, body): (Who, &str, String, &[(&str, &str)], String) = match self {
            Write::Put { who, id, text, asked, ttl } => {
                let id = id_of(*id);
                let mut td = thing(&id, *text, texts[*text as usize].is_blue);
                if let Some(ttl) = ttl {
                    td["registration"] = json!({ "ttl": ttl });
                }
                let path = format!("/things/{id}{}", parameters(*asked, names, '?'));
                (*who, "PUT", path, &[("content-type", "application/td+json")], td.to_string())
            }
            Write::Version { who, id, text, asked, version } => {
                let (id, td) = (id_of(*id), thing(&id_of(*id), *text, texts[*text as usize].is_blue));
                let path = format!("/things/{id}?version={version}.0.0{}", parameters(*asked, names, '&'));
                (*who, "PUT", path, &[("content-type", "application/td+json")], td.to_string())
            }
            Write::Patch { who, id, text } => {
                let td = thing("", *text, texts[*text as usize].is_blue);
                let patch = json!({"title": td["title"], "description": td["description"], "actions": td["actions"],
                    "lmos:capabilities": td["lmos:capabilities"]});
                let headers = &[("content-type", "application/merge-patch+json")];
                (*who, "PATCH", format!("/things/{}", id_of(*id)), headers, patch.to_string())
            }
            Write::SetAccess { who, id, change } => {
                let body = match change {
                    AccessChange::Owner(owner) => json!({"owner": owner.owner()}),
                    AccessChange::Visibility(Visibility::Public) => json!({"visibility": "public"}),
                    AccessChange::Visibility(Visibility::Private) => json!({"visibility": "private"}),
                    AccessChange::Visibility(Visibility::Namespace(number)) => {
                        json!({"visibility": "namespace", "namespace": names[number]})
                    }
                };
                (*who, "PUT", format!("/things/{}/access", id_of(*id)), json, body.to_string())
            }
            Write::Remove { who, id } => (*who, "DELETE", format!("/things/{}", id_of(*id)), &[], String::new()),
            Write::Import { who, texts: of_parts, asked } => {
                let path = format!("/import/agent-spec?nested=true{}", parameters(*asked, names, '&'));
                (*who, "POST", path, json, swarm(of_parts).to_string())
            }
        };
        let answer = server.send(who, method, &path, headers, &body);
        assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        let text = format!("{:?} {}", answer.headers, answer.text());
        (answer.status, Response { who, request: format!("{method} {path} {body}"), text })
    }
}

fn parameters(asked: Option<Visibility>, names: &BTreeMap<u32, &'static str>, first: char) -> String {
    match asked {
        None => String::new(),
        Some(Visibility::Public) => format!("{first}visibility=public"),
        Some(Visibility::Private) => format!("{first}visibility=private"),
        Some(Visibility::Namespace(number)) => format!("{first}visibility=namespace&namespace={}", names[&number]),
    }
}

/// A description with the markers of a text.
fn thing(id: &str, text: u32, is_blue: bool) -> Value {
    let (body, key) = (format!("zqt{text:05}"), format!("zqk{text:05}"));
    let mut td = agent(id, &format!("{body} {}", if is_blue { "blue" } else { "red" }), &key);
    td["title"] = json!(format!("Agent {body}"));
    td["actions"] = json!({"ask": {"title": body, "forms": [{"href": format!("https://a.example/{body}")},
        {"href": format!("https://a.example/{body}/mcp"), "subprotocol": "mcp"}]}});
    td
}

/// A document whose first text is its own, with a part for each of the others.
fn swarm(texts: &[u32]) -> Value {
    let ids: Vec<String> = PARTS.map(|number| format!("zqi{number:05}")).take(texts.len() - 1).collect();
    let member = |id: &String, text: &u32| {
        json!({
            "component_type": "Agent", "id": id, "name": format!("Part zqt{text:05}"),
            "description": format!("zqt{text:05}"), "metadata": {}, "inputs": [], "outputs": [],
            "llm_config": {"component_type": "VllmConfig", "id": format!("{id}-llm"), "name": "llm",
                "url": "https://llm.example/v1", "model_id": "small"},
            "system_prompt": "Answer.", "tools": [],
        })
    };
    let references: Vec<Value> = ids.iter().map(|id| json!({ "$component_ref": id })).collect();
    let components: serde_json::Map<String, Value> =
        ids.iter().zip(&texts[1..]).map(|(id, text)| (id.clone(), member(id, text))).collect();
    let relationships: Vec<_> = references.iter().map(|part| json!([references[0], part])).collect();
    json!({
        "component_type": "Swarm", "agentspec_version": "26.1.0", "id": format!("zqi{DOCUMENT:05}"),
        "name": format!("Swarm zqt{:05}", texts[0]), "description": format!("zqt{:05}", texts[0]),
        "inputs": [], "outputs": [], "first_agent": references[0], "relationships": relationships, "handoff": false,
        "$referenced_components": components,
    })
}
