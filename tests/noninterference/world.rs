//! A registry with a past: the same writes in both worlds, at the same positions, with other hidden content.

use std::ops::Range;

use serde_json::{Value, json};

use super::secrets::{Content, NEWS, PUBLIC, Secrets, card, described, swarm};
use crate::{
    support::eventually,
    visibility::server::{
        Server,
        Who::{self, Admin, Bob, Dana, Nobody},
    },
};

/// The saved query that matches the agent whose event is the last message of an MQTT client.
pub const END_QUERY: &str = "ends";

/// Those who don't see what is hidden.
pub const STRANGERS: [Who; 3] = [Nobody, Dana, Bob];

/// The ids of what is or was hidden.
pub const HIDDEN: [&str; 14] = [
    "urn:hid:private",
    "urn:hid:vault",
    "urn:hid:retracted",
    "urn:hid:published",
    "urn:hid:removed",
    "urn:hid:reborn",
    "urn:hid:card",
    "urn:hid:versions",
    "urn:hid:edited",
    "urn:hid:given",
    "urn:hid:guild",
    "urn:hid:late",
    "urn:agentspec:local:secret-swarm",
    "urn:agentspec:local:secret-part",
];

/// A running registry with its past.
pub struct World {
    pub server: Server,
    pub secrets: Secrets,
    /// The positions from which on an agent was seen that isn't any more, up to the one at which it wasn't: a reader who
    /// resumes between them is told its capabilities.
    pub retracted: Vec<Range<u64>>,
}

impl World {
    /// Starts a registry and writes its past.
    pub fn start(secrets: Secrets) -> World {
        let server = Server::with(&["--conversations"]);
        let mut world = World { server, secrets, retracted: Vec::new() };
        world.save_queries();
        for who in STRANGERS {
            world.server.leave_session(who, "early", "agentdex/#");
            world.server.leave_session(who, "early-shared", "$share/group/agentdex/#");
        }
        world.write_public();
        world.write_hidden();
        world.hide_again();
        world.write_with_declarations();
        world.tell_the_guardian();
        world
    }

    /// What is hidden, by number.
    pub fn secret(&self, number: usize) -> Content {
        self.secrets.contents[number]
    }

    pub fn put(&self, who: Who, id: &str, content: Content, parameters: &str) {
        let answer = self.server.put(who, id, &described(id, content), parameters);
        assert!(answer.status < 300, "{who} {id} {parameters}: {}", answer.text());
    }

    fn set_access(&self, who: Who, id: &str, access: &Value) {
        self.server.set_access(who, id, access).expect(204);
    }

    /// Remembers that an agent was seen from after a position to the end.
    fn retract(&mut self, before: u64) {
        let range = before + 1..self.server.last();
        self.retracted.push(range);
    }

    fn save_queries(&self) {
        let owner = self.secrets.owner;
        let save = |who: Who, path: &str, query: Value| {
            let answer = self.server.json(who, "PUT", path, &query);
            assert!(answer.status < 300, "{who} {path}: {}", answer.text());
        };
        save(Admin, "/queries/common?owner=", json!({"q": "news about companies"}));
        save(Admin, &format!("/queries/{END_QUERY}?owner="), json!({"q": "+ocean +blue", "mode": "lexical"}));
        save(Bob, "/queries/mine", json!({"q": "storm warning", "mode": "semantic"}));
        save(owner, "/queries/secret", json!({"q": self.secret(1).0, "mode": "semantic"}));
    }

    fn write_public(&self) {
        for (number, (id, content)) in PUBLIC.into_iter().enumerate() {
            self.put(if number % 2 == 0 { Admin } else { Bob }, id, content, "");
        }
    }

    fn write_hidden(&mut self) {
        let owner = self.secrets.owner;
        self.server.set_members(owner, "vault", &[self.secrets.member]).expect(201);
        self.put(owner, "urn:hid:private", self.secret(0), "?visibility=private");
        self.put(owner, "urn:hid:private", self.secret(1), "");
        self.put(owner, "urn:hid:private", self.secret(0), "");
        self.put(owner, "urn:hid:vault", self.secret(2), "?visibility=namespace&namespace=vault");
        self.put(owner, "urn:hid:removed", self.secret(3), "?visibility=private");
        self.server.remove(owner, "urn:hid:removed").expect(204);
        self.put(owner, "urn:hid:reborn", self.secret(4), "?visibility=private");
        self.server.remove(owner, "urn:hid:reborn").expect(204);
        self.put(Bob, "urn:hid:reborn", NEWS[0], "");
        // Of the same owner in both worlds: everybody sees whose it is.
        self.put(Admin, "urn:hid:published", self.secret(5), "?visibility=private");
        self.put(Admin, "urn:hid:published", NEWS[1], "?visibility=public");
        self.put(owner, "urn:hid:given", self.secret(6), "?visibility=private");
        self.put(owner, "urn:hid:given", NEWS[2], "");
        self.set_access(Admin, "urn:hid:given", &json!({"owner": "bob"}));
    }

    fn hide_again(&mut self) {
        let owner = self.secrets.owner;
        let before = self.server.last();
        self.put(owner, "urn:hid:retracted", self.secret(3), "");
        self.put(owner, "urn:hid:retracted", self.secret(4), "");
        self.set_access(owner, "urn:hid:retracted", &json!({"visibility": "private"}));
        self.put(owner, "urn:hid:retracted", self.secret(5), "");
        self.retract(before);
        self.server.set_members(owner, "guild", &[Bob]).expect(201);
        let before = self.server.last();
        self.put(owner, "urn:hid:guild", self.secret(6), "?visibility=namespace&namespace=guild");
        self.server.set_members(owner, "guild", &[]).expect(200);
        self.put(owner, "urn:hid:guild", self.secret(7), "");
        self.retract(before);
    }

    /// What was imported, or has several versions.
    fn write_with_declarations(&self) {
        let owner = self.secrets.owner;
        let import = |who: Who, path: &str, document: Value| {
            let answer = self.server.json(who, "POST", path, &document);
            assert!(answer.status < 300, "{who} {path}: {}", answer.text());
        };
        import(owner, "/import/a2a?id=urn:hid:card&visibility=private", card(self.secret(6)));
        let document = swarm(self.secret(2), self.secret(7));
        import(owner, "/import/agent-spec?nested=true&visibility=private", document);
        self.put(Admin, "urn:hid:versions", self.secret(0), "?visibility=private&version=1.0.0");
        self.put(Admin, "urn:hid:versions", NEWS[3], "?visibility=public&version=2.0.0");
        import(Admin, "/import/a2a?id=urn:hid:edited&visibility=private", card(self.secret(1)));
        self.put(Admin, "urn:hid:edited", NEWS[4], "?visibility=public");
    }

    fn tell_the_guardian(&self) {
        let calls = crate::aos::calls();
        let (method, params) = calls.iter().find(|(method, _)| *method == "steps/toolCallRequest").unwrap();
        let mut params = params.clone();
        params["context"]["agent"]["id"] = json!("urn:hid:private");
        params["context"]["session"]["id"] = json!("hidden-session");
        params["reasoning"] = json!(self.secret(0).0);
        let body = crate::aos::request(1, method, &params);
        self.server.json(self.secrets.owner, "POST", "/aos?consistent=true", &body).expect(200);
    }

    /// Waits until all that is made of the log has its end.
    pub fn await_followers(&self) {
        let lags = |line: &&str| line.starts_with("agentdex_follower_lag") && !line.ends_with(" 0");
        eventually("followers at the end of the log", || {
            let metrics = self.server.get(Admin, "/metrics").expect(200);
            !metrics.text().lines().any(|line| lags(&line))
        });
    }

    /// What happens while readers are connected: news that everybody sees, and what is hidden.
    pub fn go_on(&self) {
        let owner = self.secrets.owner;
        for (number, content) in NEWS.into_iter().enumerate() {
            self.put(owner, "urn:hid:private", self.secret(number), "");
            self.put(Admin, &format!("urn:news:{number}"), content, "");
            self.put(owner, "urn:hid:late", self.secret(7 - number), "?visibility=private");
            self.put(Admin, &format!("urn:news:{number}"), NEWS[7 - number], "");
        }
        self.put(owner, "urn:hid:private", self.secret(0), "");
        self.put(owner, "urn:hid:late", self.secret(1), "");
    }
}
