"""Registers an agent, finds it, and receives its events: over HTTP with requests, over MQTT with paho.

    pip install requests paho-mqtt
    agentdex serve &
    python3 examples/python/registry.py http://127.0.0.1:8080 127.0.0.1:1883
"""

import json
import queue
import sys

import paho.mqtt.client as mqtt
import requests

AGENT = {
    "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
    "@type": "lmos:Agent",
    "id": "urn:example:python:tides",
    "title": "Tide agent",
    "lmos:capabilities": [{"id": "tide-table", "name": "Tide table"}],
    "securityDefinitions": {"token": {"scheme": "bearer"}},
    "security": "token",
}


def subscribe_mqtt(host, port):
    """Puts what happens to agents with the capability into a queue."""
    events, subscribed = queue.Queue(), queue.Queue()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    # Here and not once: a client that reconnects subscribes again.
    client.on_connect = lambda client, *_: client.subscribe("agentdex/capabilities/tide-table/#", qos=1)
    client.on_subscribe = lambda *_: subscribed.put(True)
    client.on_message = lambda _client, _data, message: events.put(json.loads(message.payload))
    client.connect(host, port)
    client.loop_start()
    subscribed.get(timeout=20)
    return client, events


def main(registry, broker):
    host, port = broker.rsplit(":", 1)
    client, events = subscribe_mqtt(host, int(port))
    # Server-sent events: lines of text, one event up to an empty line.
    with requests.get(f"{registry}/events/thing_created", params={"capability": "tide-table"}, stream=True) as stream:
        stream.raise_for_status()

        # Creates or replaces. Without an id: POST to /things.
        thing = f"{registry}/things/{AGENT['id']}"
        written = requests.put(thing, json=AGENT, headers={"Content-Type": "application/td+json"})
        if not written.ok:
            sys.exit(written.json()["detail"])
        print("registered:", written.headers["Agentdex-Effect"])

        for line in stream.iter_lines(decode_unicode=True):
            if line.startswith("data: "):
                print("server-sent event:", json.loads(line.removeprefix("data: "))["id"])
                break

    # consistent: what was just written is found.
    found = requests.get(f"{registry}/search", params={"q": "tide table", "consistent": "true"}).json()
    print("found:", found["hits"][0]["title"])

    event = events.get(timeout=20)
    print("MQTT:", event["type"], event["subject"])

    requests.delete(thing).raise_for_status()
    print("MQTT:", events.get(timeout=20)["type"])
    client.disconnect()
    client.loop_stop()


if __name__ == "__main__":
    main(*(sys.argv[1:] + ["http://127.0.0.1:8080", "127.0.0.1:1883"][len(sys.argv) - 1 :]))
