// Uses the directory as any Thing, by node-wot: reads its URL from standard input and prints what came.
import { readFileSync } from "node:fs";
import core from "@node-wot/core";
import binding from "@node-wot/binding-http";

const url = readFileSync(0, "utf8").trim();
const servient = new core.Servient();
servient.addClientFactory(new binding.HttpClientFactory());
const WoT = await servient.start();

const directory = await WoT.consume(await WoT.requestThingDescription(`${url}/.well-known/wot`));
const id = "urn:example:a/b";
const uriVariables = { id };
const agent = (title) => ({
  "@context": "https://www.w3.org/2022/wot/td/v1.1",
  title,
  securityDefinitions: { nosec_sc: { scheme: "nosec" } },
  security: "nosec_sc",
});
const result = {};

const received = [];
let arrived;
const subscriptions = [];
for (const name of ["thingCreated", "thingUpdated", "thingDeleted"]) {
  const listen = async (output) => {
    received.push([name, await output.value()]);
    arrived?.();
  };
  const fail = (error) => received.push([name, String(error)]);
  subscriptions.push(await directory.subscribeEvent(name, listen, fail, { uriVariables: { diff: true } }));
}
const events = async (count) => {
  while (received.length < count) await new Promise((resolve) => (arrived = resolve));
};

result.anonymous = await (await directory.invokeAction("createAnonymousThing", agent("Anonymous"))).value();
result.created = await (await directory.invokeAction("createThing", { ...agent("A"), id }, { uriVariables })).value();
result.retrieved = await (await directory.invokeAction("retrieveThing", undefined, { uriVariables })).value();
await directory.invokeAction("updateThing", { ...agent("B"), id }, { uriVariables });
await directory.invokeAction("partiallyUpdateThing", { title: "C" }, { uriVariables });

result.explored = [];
const exploration = await WoT.exploreDirectory(`${url}/.well-known/wot`);
for await (const thing of exploration) result.explored.push(thing.title);
result.explorationError = exploration.error === undefined ? null : String(exploration.error);

const read = async (name, variables) => await (await directory.readProperty(name, { uriVariables: variables })).value();
result.things = (await read("things", { limit: 1 })).length;
result.collection = await read("thingCollection", { limit: 1 });
// The search index may lag behind by a moment.
do {
  result.search = await (await directory.invokeAction("search", undefined, { uriVariables: { q: "anonymous" } })).value();
} while (result.search.total === 0);

await directory.invokeAction("deleteThing", undefined, { uriVariables });
await events(5);
for (const subscription of subscriptions) await subscription.stop();
result.events = received;
result.missing = await directory.invokeAction("retrieveThing", undefined, { uriVariables }).catch(String);
console.log(JSON.stringify(result));
await servient.shutdown();
process.exit(0);
