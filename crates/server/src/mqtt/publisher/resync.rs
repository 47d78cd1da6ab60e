//! Brings what a broker retains to what the registry has.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::{
    super::{
        feed::{Family, Feed},
        topics::Topics,
    },
    link::{Ended, Link, Message},
};

/// Time without a retained message after which all have come, once our own message is back.
const QUIET: Duration = Duration::from_millis(500);
/// The same where our own message doesn't come back, as when the broker's rules forbid it.
const LONG_QUIET: Duration = Duration::from_secs(5);

/// The result of a resync.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resynced {
    /// Number of descriptions that were published.
    pub published: u64,
    /// Number of retained descriptions that were cleared, whose Things no longer exist.
    pub cleared: u64,
}

/// Clears what no longer exists, and publishes everything that does.
pub(super) async fn resync(link: &mut Link, feed: &Feed) -> Result<Resynced, Ended> {
    link.drain().await?;
    let mut resynced = Resynced::default();
    for topic in stale_topics(link, feed).await? {
        link.publish(Message::of(Family::Thing, &topic, &[])).await?;
        resynced.cleared += 1;
    }
    for thing in feed.public().list() {
        let thing = thing?;
        let (topic, payload) = (feed.topics().thing(thing.id()), thing.enriched());
        link.publish(Message::of(Family::Thing, &topic, payload.as_bytes())).await?;
        link.catch_up()?;
        resynced.published += 1;
    }
    link.drain().await?;
    Ok(resynced)
}

/// The topics with a retained description whose Thing is gone.
async fn stale_topics(link: &mut Link, feed: &Feed) -> Result<BTreeSet<String>, Ended> {
    let filters = Filters::of(feed.topics());
    link.received.clear();
    link.subscribe(&[&filters.echo, &filters.things]).await?;
    // A broker sends what it retains before what is published later; some do so beside the queue,
    // therefore the quiet time after it.
    let token = uuid::Uuid::new_v4().to_string();
    link.publish(Message::of(Family::Event, &filters.echo, token.as_bytes())).await?;
    let (mut stale, mut patience) = (BTreeSet::new(), LONG_QUIET);
    // What others publish meanwhile isn't retained and doesn't put it off.
    let mut deadline = Instant::now() + patience;
    loop {
        while let Some(message) = link.received.pop_front() {
            // rumqttc has topics as bytes; what isn't UTF-8 is not one of ours.
            let Ok(topic) = std::str::from_utf8(&message.topic) else { continue };
            if topic == filters.echo {
                patience = QUIET;
                deadline = Instant::now() + patience;
            } else if message.retain {
                deadline = Instant::now() + patience;
                if !message.payload.is_empty() && !is_current(topic, feed)? {
                    stale.insert(topic.to_owned());
                }
            }
        }
        match timeout_at(deadline, link.step()).await {
            Ok(event) => event.map(|_| ())?,
            Err(_) => break,
        }
    }
    link.unsubscribe(&[&filters.echo, &filters.things]).await?;
    Ok(stale)
}

fn is_current(topic: &str, feed: &Feed) -> Result<bool, Ended> {
    let topics = feed.topics();
    // What isn't written as we write it is nobody's.
    let Some(id) = topics.thing_at(topic).filter(|id| topics.thing(id) == topic) else {
        return Ok(false);
    };
    match feed.public().find(&id) {
        Ok(thing) => Ok(thing.is_some_and(|thing| thing.id() == id)),
        Err(crate::Error::InvalidId { .. } | crate::Error::LimitExceeded { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Topic filters that are subscribed to during a resync.
struct Filters {
    things: String,
    echo: String,
}

impl Filters {
    fn of(topics: &Topics) -> Filters {
        let prefix = topics.prefix();
        Filters { things: format!("{prefix}/things/+"), echo: format!("{prefix}/resync") }
    }
}
