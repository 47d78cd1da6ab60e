// Calls actions by node-wot: a line of the input is {"thing", "action", "input", "variables"}.
import { readFileSync } from "node:fs";
import core from "@node-wot/core";
import binding from "@node-wot/binding-http";

const servient = new core.Servient();
servient.addClientFactory(new binding.HttpClientFactory());
const WoT = await servient.start();
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const { thing, action, input, variables } = JSON.parse(line);
  servient.addCredentials({ [thing.id]: { token: "t0k" } });
  const consumed = await WoT.consume(thing);
  const output = await consumed.invokeAction(action, input ?? undefined, { uriVariables: variables });
  await output?.value().catch(() => undefined);
}
await servient.shutdown();
process.exit(0);
