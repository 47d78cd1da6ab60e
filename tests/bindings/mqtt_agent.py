"""An agent behind an MQTT broker, on paho: `python mqtt_agent.py PORT THING`. Prints `ready` once it listens."""

import json
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

port, thing = int(sys.argv[1]), sys.argv[2]
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)


def properties(request=None, content_type="application/json"):
    made = Properties(PacketTypes.PUBLISH)
    made.ContentType = content_type
    if request is not None:
        made.CorrelationData = request.properties.CorrelationData
    return made


def answer(request, payload, content_type="application/json"):
    client.publish(request.properties.ResponseTopic, payload, qos=1, properties=properties(request, content_type))


def status(request, status, **members):
    answer(request, json.dumps({"messageType": "actionStatus", "status": status, **members}))


def on_message(client, _, request):
    name = request.topic.rsplit("/", 1)[-1]
    if "/properties/" in request.topic:
        return
    if name == "publish":
        count = json.loads(request.payload)
        for number in range(count):
            client.publish(f"{thing}/events/feedback", json.dumps({"rating": number}), qos=1, properties=properties())
        client.publish(f"{thing}/events/feedback", b"\x07\x08", qos=1, properties=properties(None, "audio/wav"))
        answer(request, json.dumps("published"))
    elif name == "weather":
        # Of another call, which nobody should take for ours.
        stray = properties()
        stray.CorrelationData = b"another"
        client.publish(request.properties.ResponseTopic, json.dumps("stray"), qos=1, properties=stray)
        answer(request, json.dumps(f"Sunny in {json.loads(request.payload)['city']}"))
    elif name == "count":
        for number in range(1, json.loads(request.payload) + 1):
            status(request, "running", output=str(number))
        status(request, "completed", output={"done": True})
    elif name == "echo":
        answer(request, json.dumps({"echo": json.loads(request.payload)}))
    elif name == "pieces":
        for piece in ("- one\n", "- two\n"):
            status(request, "running", output=piece)
        status(request, "completed", output="done")
    elif name == "reverse":
        answer(request, bytes(reversed(request.payload)), request.properties.ContentType)
    elif name == "fail":
        status(request, "failed", output="no such city")
    elif name == "garbage":
        answer(request, "{")
    elif name == "large":
        answer(request, json.dumps("x" * json.loads(request.payload)))
    elif name == "trace":
        answer(request, json.dumps(dict(request.properties.UserProperty)))


def on_connect(client, *_):
    client.subscribe(f"{thing}/actions/+", qos=1)
    client.publish(f"{thing}/properties/language", json.dumps("de"), qos=1, retain=True)


client.on_message = on_message
client.on_connect = on_connect
client.on_subscribe = lambda *_: print("ready", flush=True)
client.connect("127.0.0.1", port)
client.loop_forever()
