//! `--keep-alive`: renews what was registered, and registers again what expired all the same.

use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

use super::{Registered, Registration};
use crate::cli::{
    output::{Results, complain, red_on_stderr},
    stop,
};
use agentdex_client::{self as client, RegistryClient};

/// Delay before a failed renewal is tried again, unless agents are renewed more often than that.
const RETRY: Duration = Duration::from_secs(2);

impl Registration<'_> {
    /// Renews all agents at half the shortest time to live, until Ctrl-C or SIGTERM.
    pub(super) async fn keep_alive(&self, agents: &[Registered], results: &mut Results) -> anyhow::Result<()> {
        let mut shortest = u64::MAX;
        for id in agents.iter().flat_map(Registered::ids) {
            shortest = shortest.min(granted_ttl(self.client, id).await?.unwrap_or(u64::MAX));
        }
        if shortest == u64::MAX {
            bail!("nothing to renew: no agent has a time to live; set one with --ttl SECONDS");
        }
        let pause = Duration::from_millis(shortest.saturating_mul(500).max(100));
        if !self.arguments.json {
            let count = agents.iter().flat_map(Registered::ids).count();
            let noun = if count == 1 { "agent" } else { "agents" };
            results.print(&format!("renewing {count} {noun} every {} s until interrupted", pause.as_secs_f32()));
        }
        let mut interrupted = std::pin::pin!(stop::signal()?);
        let (mut wait, mut is_failing) = (pause, false);
        loop {
            tokio::select! {
                () = &mut interrupted => return Ok(()),
                () = tokio::time::sleep(wait) => {}
            }
            let is_complete = self.renew_all(agents).await;
            if is_complete && is_failing && !self.arguments.json {
                results.print("reconnected: all agents are renewed");
            }
            is_failing = !is_complete;
            wait = if is_complete { pause } else { RETRY.min(pause) };
        }
    }

    /// Renews; an agent that expired meanwhile is registered again. False if some must be tried again soon.
    async fn renew_all(&self, agents: &[Registered]) -> bool {
        let mut complete = true;
        for agent in agents {
            for id in agent.ids() {
                let renewed = match self.client.patch(id, "{}").await {
                    Err(error) if error.is_not_found() => self.register_again(agent).await,
                    renewed => renewed.map(drop),
                };
                if let Err(error) = renewed {
                    complete = false;
                    complain(&format!("{} {id} could not be renewed: {error}", red_on_stderr("error:")));
                }
            }
        }
        complete
    }

    async fn register_again(&self, agent: &Registered) -> client::Result<()> {
        match agent {
            Registered::Thing { id, document } => self.client.put(id, document.as_str()).await.map(drop),
            Registered::Import { import, .. } => self.import(import).await.map(drop),
            Registered::Tracked { url, .. } => self.import_url(url).await.map(drop),
        }
    }
}

/// The time to live that the registry granted.
async fn granted_ttl(client: &RegistryClient, id: &str) -> anyhow::Result<Option<u64>> {
    let Some(thing) = client.find(id).await? else { return Ok(None) };
    let thing: Value = serde_json::from_str(&thing)?;
    Ok(thing.pointer("/registration/ttl").and_then(Value::as_u64))
}
