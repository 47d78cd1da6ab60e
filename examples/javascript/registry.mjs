// Registers an agent, finds it, and receives its events: over HTTP with fetch, over MQTT with mqtt.js.
//
//     npm install mqtt
//     agentdex serve &
//     node examples/javascript/registry.mjs http://127.0.0.1:8080 mqtt://127.0.0.1:1883

import mqtt from "mqtt";

const [registry = "http://127.0.0.1:8080", broker = "mqtt://127.0.0.1:1883"] = process.argv.slice(2);

const agent = {
  "@context": ["https://www.w3.org/2022/wot/td/v1.1", { lmos: "https://eclipse.dev/lmos/protocol/v1" }],
  "@type": "lmos:Agent",
  id: "urn:example:javascript:tides",
  title: "Tide agent",
  "lmos:capabilities": [{ id: "tide-table", name: "Tide table" }],
  securityDefinitions: { token: { scheme: "bearer" } },
  security: "token",
};

// The JSON of an answer; an error is a problem document, whose detail says what to do.
async function answer(response) {
  if (response.ok) return response.status === 204 ? {} : response.json();
  throw new Error((await response.json()).detail);
}

// The data of the events of a response, one by one.
async function* serverSentEvents(response) {
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(6)).join("\n"));
    }
  }
}

const client = await mqtt.connectAsync(broker, { protocolVersion: 5 });
const events = [];
let wake = () => {};
client.on("message", (_topic, payload) => {
  events.push(JSON.parse(payload));
  wake();
});
async function nextEvent() {
  while (events.length === 0) await new Promise((resolve) => (wake = resolve));
  return events.shift();
}
await client.subscribeAsync("agentdex/capabilities/tide-table/#", { qos: 1 });
const stream = await fetch(`${registry}/events/thing_created?capability=tide-table`);

// Creates or replaces. Without an id: POST to /things.
const thing = `${registry}/things/${agent.id}`;
const written = await fetch(thing, {
  method: "PUT",
  headers: { "content-type": "application/td+json" },
  body: JSON.stringify(agent),
});
await answer(written);
console.log("registered:", written.headers.get("agentdex-effect"));

for await (const event of serverSentEvents(stream)) {
  console.log("server-sent event:", event.id);
  break;
}

// consistent: what was just written is found.
const found = await answer(await fetch(`${registry}/search?q=tide+table&consistent=true`));
console.log("found:", found.hits[0].title);

let event = await nextEvent();
console.log("MQTT:", event.type, event.subject);

await answer(await fetch(thing, { method: "DELETE" }));
event = await nextEvent();
console.log("MQTT:", event.type);
await client.endAsync();
