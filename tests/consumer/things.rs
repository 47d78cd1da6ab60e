//! Plain WoT over HTTP, against a Thing of node-wot.

use agentdex::consumer::{Error, Event};
use futures_util::StreamExt;
use serde_json::json;

use super::{TestAgent, agent, run};
use crate::support::Call;

#[test]
fn thing_of_node_wot_is_called_read_written_and_subscribed_to() {
    let Some(peer) = TestAgent::node_wot() else { return };
    let description = Call::new("GET", &peer.url("/weather")).send().expect(200).json();
    let agent = agent(&description);
    run(async {
        // Request and reply; a message is put where the schema has a place for it.
        let answer = agent.call("forecast", json!({"question": "Rain?", "days": 2})).await.unwrap();
        assert_eq!(answer.message.data(), Some(&json!({"answer": "Rain? 2"})));
        let asked = agent.update(agentdex::consumer::Settings::new().action("say")).ask("hello").await.unwrap();
        assert_eq!(asked.message().text(), "you said hello");
        let with_variable = agent.call("repeat", json!({"times": 3, "text": "x"})).await.unwrap();
        assert_eq!(with_variable.message.text(), "xxx");
        // Nothing is sent that the schema forbids.
        let error = agent.call("forecast", json!({"question": 1})).await.unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
        // State.
        assert_eq!(agent.read("unit").await.unwrap(), json!("C"));
        agent.write("unit", "F").await.unwrap();
        assert_eq!(agent.read("unit").await.unwrap(), json!("F"));
        let error = agent.write("unit", 3).await.unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
        // Events, until nobody wants them any more.
        let events = agent.subscribe("storm", None).await.unwrap();
        let received: Vec<Event> = events.take(2).map(|event| event.unwrap()).collect().await;
        for event in received {
            let Event::Notification(notification) = event else { panic!("{event:?}") };
            assert_eq!((notification.name.as_str(), &notification.data["force"]), ("storm", &json!(9)));
        }
    });
}
