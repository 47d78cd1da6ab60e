// Calling an action from its form, with what an agent answers; and schemas and answers of those who mean it badly.

import { createServer } from "node:http";

const received = [];
const held = new Set();
/** An agent that answers what it was sent; `/big` with 2 MB, `/big-more` with more than is taken, `/slow` never. */
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    const answer = (value) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (request.url.startsWith("/slow")) {
      held.add(response);
      return response.on("close", () => held.delete(response));
    }
    if (request.url.startsWith("/big")) return answer(Array.from({ length: request.url.endsWith("more") ? 25_000 : 9_000 }, (_, at) => ({ number: at, text: "x".repeat(170), html: "<b>bold</b>" })));
    received.push({ url: request.url, body: body && JSON.parse(body), text: body });
    answer({ received: received.at(-1).body ?? null, list: ["a", "b"], url: request.url });
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
server.unref();
const base = `http://127.0.0.1:${server.address().port}/`;
const forms = (href) => [{ href, "htv:methodName": "POST", contentType: "application/json" }];
const address = (id) => `#/agent/${encodeURIComponent(id)}?open=call`;
const input = {
  type: "object",
  required: ["place", "days", "secretKey", "stops", "address", "exact"],
  properties: {
    place: { type: "string", title: "Place", description: "A city, such as Oslo.", examples: ["Bergen"], maxLength: 80 },
    days: { type: "integer", minimum: 1, maximum: 14, default: 3 },
    exact: { type: "integer", description: "All of its digits count." },
    temperature: { oneOf: [{ type: "number" }, { type: "null" }] },
    unit: { type: "string", enum: ["metric", "imperial"], default: "metric" },
    night: { type: "boolean", default: true },
    rare: { type: "boolean" },
    secretKey: { type: "string" },
    shown: { type: "string", writeOnly: true },
    note: { type: "string", maxLength: 5000 },
    stops: { type: "array", items: { type: "string" }, maxItems: 4 },
    things: { type: "array" },
    legs: { type: "array", items: { type: "object", required: ["to"], properties: { to: { type: "string" }, by: { enum: ["train", "bus"] } } } },
    address: { type: "object", required: ["street"], properties: { street: { type: "string" }, place: { type: "object", properties: { zip: { type: "string" }, country: { type: "object", properties: { code: { type: "string" }, more: { type: "object", properties: { deep: { type: "string" } } } } } } } } },
    either: { oneOf: [{ type: "string" }, { type: "object" }] },
    tree: { $ref: "#/$defs/node" },
  },
  $defs: { node: { type: "object", properties: { name: { type: "string" }, child: { $ref: "#/$defs/node" } } } },
};
const id = "urn:example:traveller";
const traveller = agent(id, "Traveller", {
  base,
  actions: {
    plan: { title: "Plan a trip", input, forms: forms("plan") },
    look: { uriVariables: { q: { type: "string", default: "rain & sun" } }, forms: [{ href: "look{?q}", "htv:methodName": "GET" }] },
    big: { input: { type: "object", properties: {} }, forms: forms("big") },
    huge: { forms: forms("big-more") },
    slow: { forms: forms("slow") },
    agreed: { "agentspec:requiresConfirmation": true, input: { type: "object", required: ["sum"], properties: { sum: { type: "number", minimum: 5 } } }, forms: forms("agreed") },
  },
});
/** The form of an action, once it is open. */
const opened = async (page, name) => {
  await until(page, (name) => [...document.querySelectorAll(".affordance")].some((one) => one.querySelector("h3").textContent.endsWith(name)), name);
  const handle = await page.evaluateHandle((name) => [...document.querySelectorAll(".affordance")].find((one) => one.querySelector("h3").textContent.endsWith(name)), name);
  await handle.evaluate((one) => (one.querySelector("[data-part=call]").open = true));
  await page.waitForFunction((one) => one.querySelector("form.action .schema-form"), { polling: 50 }, handle);
  return handle;
};
/** The field with a label. */
const field = (form, label) => form.evaluateHandle((form, label) => {
  const found = [...form.querySelectorAll("label")].find((one) => one.textContent.trim().replace(/ required$/, "").split(" ")[0] === label || one.textContent === label);
  if (!found) throw new Error(`no field ${label}: ${[...form.querySelectorAll("label")].map((one) => one.textContent)}`);
  return document.getElementById(found.htmlFor);
}, label);
const fillIn = async (form, label, text) => {
  const input = await field(form, label);
  await input.evaluate((input) => (input.value = ""));
  await input.type(text);
};
const press = (form, text) => form.evaluate((form, text) => [...form.querySelectorAll("button")].find((one) => one.textContent === text && !one.hidden).click(), text);
const saysIn = (page, form, text) => page.waitForFunction((form, text) => form.textContent.includes(text), { polling: 50 }, form, text)
  .catch(async () => assert.fail(`never ${text}: ${await form.evaluate((form) => form.textContent)}`));

await run({
  async "a form of all kinds of members, its answer, and what the tab keeps"() {
    await call("PUT", `/things/${id}`, traveller);
    const page = await open(`${url}/${address(id)}`);
    const form = await opened(page, "plan");
    const value = async (label) => (await field(form, label)).evaluate((one) => (one.type === "checkbox" ? one.checked : one.selectedOptions ? one.selectedOptions[0].text : one.value));
    assert.deepEqual(await Promise.all(["Place", "days", "unit", "night", "rare"].map(value)), ["Bergen", "3", "metric", true, "(not given)"]);
    const kinds = await Promise.all(["secretKey", "shown", "note", "either", "tree"].map(async (label) => (await field(form, label)).evaluate((one) => `${one.localName} ${one.type}`)));
    assert.deepEqual(kinds, ["input password", "input password", "textarea textarea", "textarea textarea", "input checkbox"]);
    // What is missing is said at its field, and nothing is sent.
    await press(form, "Call");
    await saysIn(page, form, "is required");
    assert.deepEqual(received, []);
    await fillIn(form, "exact", "12345678901234567890");
    await fillIn(form, "secretKey", "hunter2-secret");
    await fillIn(form, "shown", "hunter3-secret");
    await fillIn(form, "temperature", "1.50");
    const stop = await form.evaluateHandle((form) => form.querySelector(".items input"));
    await stop.type("Hamar");
    await form.evaluate((form) => [...form.querySelectorAll("button")].filter((one) => ["Add legs", "Add things"].includes(one.textContent)).forEach((one) => one.click()));
    await (await field(form, "things")).type('{"any": [1]}');
    await fillIn(form, "to", "Bergen");
    await fillIn(form, "street", "Main street 1");
    await press(form, "Call");
    await saysIn(page, form, "completed after");
    const [sent] = received.splice(0);
    assert.deepEqual(sent.body, { place: "Bergen", days: 3, exact: 12345678901234567890, temperature: 1.5, unit: "metric", night: true, secretKey: "hunter2-secret", shown: "hunter3-secret", stops: ["Hamar"], legs: [{ to: "Bergen" }], things: [{ any: [1] }], address: { street: "Main street 1" } });
    assert.match(sent.text, /"exact":12345678901234567890\b/);
    await saysIn(page, form, "received");
    assert.deepEqual(await form.evaluate((form) => [...form.querySelectorAll(".outcome tbody th")].map((one) => one.textContent).sort()), ["list", "received", "url"]);
    // Nothing of what is secret is in the storage of the browser, or in a command to be copied.
    await press(form, "Write JSON instead");
    await form.evaluate((form) => form.querySelector("textarea").dispatchEvent(new Event("input", { bubbles: true })));
    await form.evaluate((form) => [...form.querySelectorAll("form.action summary")].find((one) => one.textContent === "Commands").click());
    await saysIn(page, form, "agentdex call");
    const commands = await form.evaluate((form) => [...form.querySelectorAll("form.action .code pre")].map((one) => one.textContent).join("\n"));
    assert.ok(commands.includes("curl -X POST") && commands.includes('"place":"Bergen"') && commands.includes("<secretKey>"), commands);
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
    for (const text of [kept, commands]) assert.ok(!/hunter/.test(text), text);
    assert.ok(kept.includes("Main street 1"), kept);
    await page.evaluate(() => (location.hash = "#/live"));
    await page.waitForSelector("view-live");
    await page.goBack();
    const again = await opened(page, "plan");
    assert.equal(await (await field(again, "street")).evaluate((one) => one.value), "Main street 1");
    assert.equal(await (await field(again, "secretKey")).evaluate((one) => one.value), "");
    // What the registry refuses is said at the field.
    await fillIn(again, "secretKey", "x");
    await fillIn(again, "days", "15");
    await press(again, "Call");
    await saysIn(page, again, "days: 15");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-invalid")), "true");
    const look = await opened(page, "look");
    await press(look, "Call");
    await saysIn(page, look, "completed after");
    assert.equal(received.splice(0)[0].url, "/look?q=rain%20%26%20sun");
    for (const scheme of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`), []);
    }
    await page.setViewport({ width: 320, height: 700 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "sideways");
    await page.close();
  },

  async "nothing secret is stored, shown in a command, or said in a conversation, wherever a schema has it"() {
    const secret = { type: "string", writeOnly: true };
    const text = (name, more = {}) => ({ type: "object", required: [name], properties: { [name]: { type: "string", ...more } } });
    const places = {
      oneOf: [{ oneOf: [{ type: "object", properties: { code: secret, kind: { const: "a" } } }, { type: "object", properties: { code: { type: "string" }, kind: { const: "b" } } }] }, { code: "hunter2", kind: "open" }],
      anyOf: [{ anyOf: [{ type: "integer" }, secret] }, "hunter2"],
      allOf: [{ type: "object", allOf: [{ properties: { one: secret } }, { properties: { two: { type: "string" } } }] }, { one: "hunter2", two: "open" }],
      then: [{ type: "object", properties: { kind: { type: "string" } }, if: {}, then: { properties: { code: secret } } }, { kind: "open", code: "hunter2" }],
      tuple: [{ type: "array", items: [{ type: "string" }, secret] }, ["open", "hunter2"]],
      prefix: [{ type: "array", prefixItems: [secret, { type: "string" }] }, ["hunter2", "open"]],
      rest: [{ type: "array", items: [{ type: "string" }], additionalItems: secret }, ["open", "hunter2"]],
      additional: [{ type: "object", additionalProperties: secret }, { any: "hunter2" }],
      pattern: [{ type: "object", patternProperties: { "^x-": secret } }, { "x-any": "hunter2" }],
      referred: [{ type: "object", additionalProperties: { $ref: "#/$defs/list" } }, { any: ["hunter2"] }],
      unknown: [{ type: "object" }, { deep: { clientSecret: "hunter2", open: "open" } }],
      numbers: [{ type: "object", properties: { pin: { type: "integer" }, cvv: { type: "integer" }, pinCode: { type: "number" }, security_code: { type: "integer" }, cardCVC: { type: "integer" }, otp: { type: "integer" }, maxTokens: { type: "integer" } } }, { pin: 90901, cvv: 90902, pinCode: 90903, security_code: 90904, cardCVC: 90905, otp: 90906, maxTokens: 512 }],
      endless: [{ $ref: "#/$defs/round" }, { open: "open" }],
    };
    const all_ = { type: "object", properties: Object.fromEntries(Object.entries(places).map(([name, [schema]]) => [name, schema])), $defs: { list: { type: "array", items: secret }, round: { anyOf: [{ $ref: "#/$defs/round" }, { type: "object" }] } } };
    const id = "urn:example:hiding";
    const texts = { phrase: text("passphrase"), hidden: text("message", { writeOnly: true }), password: text("text", { format: "password" }), alone: secret, either: text("text", { oneOf: [secret, { type: "string" }] }), code: text("oneTimeCode"), list: { type: "array", items: secret } };
    await call("PUT", `/things/${id}`, agent(id, "Hiding", { base, actions: { all: { input: all_, forms: forms("all") }, ...Object.fromEntries(Object.entries(texts).map(([name, input]) => [name, { input, forms: forms(name) }])), link: { uriVariables: { accessToken: { type: "string" } }, forms: [{ href: "link{?accessToken}" }] } } }));
    const page = await open(`${url}/${address(id)}`);
    const form = await opened(page, "all");
    assert.equal(await (await field(form, "pin")).evaluate((one) => one.type), "password");
    await press(form, "Write JSON instead");
    await form.evaluate((form, text) => {
      const area = form.querySelector("textarea");
      area.value = text;
      area.dispatchEvent(new Event("input", { bubbles: true }));
      [...form.querySelectorAll("form.action summary")].find((one) => one.textContent === "Commands").click();
    }, JSON.stringify(Object.fromEntries(Object.entries(places).map(([name, [, value]]) => [name, value]))));
    await saysIn(page, form, "agentdex call");
    const commands = await form.evaluate((form) => [...form.querySelectorAll("form.action .code pre")].map((one) => one.textContent).join("\n"));
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
    for (const text of [kept, commands]) {
      assert.ok(!/hunter|9090/.test(text), text);
      assert.ok(text.includes("open") && text.includes("512"), text);
    }
    assert.ok(commands.includes("<pin>") && commands.includes("<clientSecret>"), commands);
    // What is typed in a conversation is seen and kept.
    await page.waitForNetworkIdle({ idleTime: 300, concurrency: 2 });
    assert.ok(!(await all(page, "nav.parts a")).includes("Talk"), "a secret is asked for in a conversation");
    await page.close();
  },

  async "an answer of four megabytes, a call that is canceled, and an action that asks for consent"() {
    const page = await open(`${url}/${address(id)}`);
    const big = await opened(page, "big");
    await press(big, "Call");
    await saysIn(page, big, "completed after");
    await saysIn(page, big, "8,900 more rows");
    await big.evaluate((form) => [...form.querySelectorAll("summary")].find((one) => one.textContent === "JSON").click());
    await saysIn(page, big, "Save it as a file");
    const nodes = await big.evaluate((form) => [form.querySelectorAll(".outcome *").length, form.querySelector(".outcome").textContent.length, form.querySelectorAll("b").length]);
    assert.ok(nodes[0] < 3000 && nodes[1] < 100_000 && nodes[2] === 0, nodes.join(" "));
    const huge = await opened(page, "huge");
    await press(huge, "Call");
    await saysIn(page, huge, "exceeds the limit of 4194304 bytes");
    const slow = await opened(page, "slow");
    await press(slow, "Call");
    await until(page, () => [...document.querySelectorAll("button")].some((one) => one.textContent === "Cancel" && !one.hidden));
    while (!held.size) await new Promise((resolve) => setTimeout(resolve, 20));
    // The focus is where one works, also while and after it waits.
    const button = (text) => slow.evaluateHandle((form, text) => [...form.querySelectorAll("button")].find((one) => one.textContent === text), text);
    const has = (button) => button.evaluate((one) => document.activeElement === one);
    const [again, cancel] = [await button("Call"), await button("Cancel")];
    await cancel.focus();
    await page.keyboard.press("Enter");
    await saysIn(page, slow, "canceled");
    assert.ok(await has(again), "the focus is lost after Cancel");
    await page.keyboard.press("Enter");
    while (!held.size) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(await has(again), "the focus is lost after Call");
    await cancel.focus();
    await page.keyboard.press("Enter");
    await saysIn(page, slow, "canceled");
    while (held.size) await new Promise((resolve) => setTimeout(resolve, 20));
    // Whoever leaves the page cancels too.
    await press(slow, "Call");
    while (!held.size) await new Promise((resolve) => setTimeout(resolve, 20));
    await page.evaluate(() => (location.hash = "#/live"));
    while (held.size) await new Promise((resolve) => setTimeout(resolve, 20));
    await page.goBack();
    const agreed = await opened(page, "agreed");
    await saysIn(page, agreed, "--yes");
    assert.deepEqual(await agreed.evaluate((form) => [...form.querySelectorAll("button.primary")].length), 0);
    await page.close();
  },

  async "schemas that are very large, that never end, or that mean nothing"() {
    const many = (length, one) => Object.fromEntries(Array.from({ length }, (_, at) => [`member${at}`, one(at)]));
    const nested = (depth) => (depth ? { type: "object", properties: { inner: nested(depth - 1), other: { type: "string" } } } : { type: "string" });
    const odd = {
      many: { type: "object", required: ["member999"], properties: many(1000, (at) => ({ type: "string", description: `Member ${at}` })) },
      choices: { type: "object", properties: { one: { enum: Array.from({ length: 5000 }, (_, at) => `choice ${at}`) } } },
      loop: { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
      tree: { type: "object", properties: { node: { $ref: "#" } } },
      wide: { type: "object", required: ["a", "b"], properties: { a: { $ref: "#/$defs/x" }, b: { $ref: "#/$defs/x" } }, $defs: { x: { type: "object", required: ["a", "b", "c"], properties: { a: { $ref: "#/$defs/x" }, b: { $ref: "#/$defs/x" }, c: { $ref: "#/$defs/x" } } } } },
      deep: nested(20),
      items: { type: "array", minItems: 1_000_000_000, items: { type: "array", minItems: 1_000_000_000, items: { type: "string" } } },
      names: { type: "object", properties: JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "<b>x</b>": {"type": "string", "default": "<i>y</i>"}, "": {"type": "string"}, "\\u202Ereversed": {"type": "string", "pattern": "(a+)+$", "default": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}, "turned": {"type": "string", "default": "\\u202Ednuora"}}') },
      wrong: { type: "text", properties: { a: 1 }, required: "a", enum: "b", items: [] },
      none: { type: "object", properties: { a: { type: "string", minLength: -5, maxLength: "x", enum: [] }, b: { type: [], enum: [null, { a: 1 }] } } },
      literal: { const: { fixed: true } },
      refers: { $ref: "https://example.org/schema.json" },
      missing: { type: "object", properties: { a: { $ref: "#/$defs/nothing" } } },
    };
    const actions = {};
    for (const [name, input] of Object.entries(odd)) {
      const td = agent(`urn:example:odd:${name}`, name, { base, actions: { [name]: { input, forms: forms("odd") } } });
      const answer = await fetch(`${url}/things/${td.id}`, { method: "PUT", headers: { "content-type": "application/td+json" }, body: JSON.stringify(td) });
      if (!answer.ok) {
        console.log(`${name} can't be registered: ${(await answer.json()).detail}`);
        continue;
      }
      actions[name] = input;
    }
    assert.ok(Object.keys(actions).length >= 9, Object.keys(actions).join(" "));
    for (const name of Object.keys(actions)) {
      const page = await open(`${url}/${address(`urn:example:odd:${name}`)}`);
      const form = await opened(page, name);
      const [fields, took] = await form.evaluate((form) => [form.querySelectorAll("form.action input, form.action select, form.action textarea").length, performance.now()]);
      assert.ok(fields >= 0 && fields <= 330, `${name}: ${fields} fields`);
      assert.ok(took < 30_000, name);
      assert.equal(await form.evaluate((form) => form.querySelectorAll("form.action b, form.action i").length), 0);
      await press(form, "Write JSON instead");
      await press(form, "Use the form");
      if (name === "names") assert.ok((await form.evaluate((form) => form.textContent)).includes("With hidden characters: ‹U+202E›"), "it is shown reversed");
      if (name === "many") {
        const rest = (await all(page, "form.action label")).find((text) => text.startsWith("Other members"));
        assert.ok(rest, "no field for the rest");
        await fillIn(form, "member999", "the last");
        await (await form.evaluateHandle((form) => form.querySelector("form.action textarea"))).type('{"member998": "by hand"}');
        await press(form, "Call");
        await saysIn(page, form, "completed after");
        assert.deepEqual(received.splice(0)[0].body, { member999: "the last", member998: "by hand" });
      }
      await page.close();
    }
  },

  async "talking: a choice of actions that take text, data as a table, and a conversation that stays in the tab"() {
    const text = (name, more = {}) => ({ type: "object", properties: { [name]: { type: "string" }, ...more }, required: [name] });
    const id = "urn:example:talker";
    await call("PUT", `/things/${id}`, agent(id, "Talker", { base, actions: {
      ask: { title: "Ask", input: text("question"), forms: forms("ask") },
      city: { title: "Time in a city", input: { type: "object", properties: { place: { type: "string", maxLength: 100 } }, required: ["place"] }, forms: forms("city") },
      roll: { title: "Roll", input: { type: "object", properties: { dice: { type: "integer" } } }, forms: forms("roll") },
      book: { title: "Book", input: { type: "object", properties: { message: { type: "string" }, seats: { type: "integer" } }, required: ["message", "seats"] }, forms: forms("book") },
    } }));
    const page = await open(`${url}/#/agent/${encodeURIComponent(id)}?open=talk`);
    await page.waitForSelector("#say");
    assert.deepEqual(await all(page, "#talk-action option"), ["Ask", "Time in a city"]);
    await page.type("#say", "How late is it?");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[role=log] table");
    assert.deepEqual(received.splice(0).map(({ url, body }) => [url, body.question]), [["/ask", "How late is it?"]]);
    await page.select("#talk-action", "city");
    await until(page, () => !document.querySelector("[role=log] .said"));
    for (const place of ["Tokyo", "Oslo"]) {
      const before = (await all(page, "[role=log] table")).length;
      await until(page, () => !document.querySelector("#say").value && ![...document.querySelectorAll("form button")].find((one) => one.textContent === "Send").disabled);
      await page.type("#say", place);
      await page.keyboard.press("Enter");
      await until(page, (before) => document.querySelectorAll("[role=log] table").length > before, before);
    }
    assert.deepEqual(received.splice(0).map(({ body }) => body), [{ place: "Tokyo" }, { place: "Oslo" }]);
    await page.evaluate(() => (location.hash = "#/live"));
    await page.waitForSelector("view-live");
    await page.goBack();
    await shows(page, "[role=log]", "Tokyo");
    await page.reload();
    await shows(page, "[role=log]", "Oslo");
    assert.equal(await page.$eval("#talk-action", (one) => one.value), "city");
    await page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent === "Start again").click());
    await until(page, () => !document.querySelector("[role=log] .said"));
    await page.close();
  },

  async "where the registry calls no agents: a command with values that the schema allows"() {
    const put = await fetch(`${keys.plain}/things/${id}`, { method: "PUT", headers: { "content-type": "application/td+json" }, body: JSON.stringify(traveller) });
    assert.ok(put.ok);
    const page = await open(`${keys.plain}/${address(id)}`);
    const form = await opened(page, "plan");
    await saysIn(page, form, "This registry doesn't call agents");
    await saysIn(page, form, "agentdex call");
    assert.equal(await form.evaluate((form) => form.querySelectorAll("button.primary").length), 0);
    assert.deepEqual(await all(page, "nav.parts a").then((names) => names.filter((name) => name === "Talk")), []);
    const line = await form.evaluate((form) => [...form.querySelectorAll(".code pre")].map((one) => one.textContent).find((text) => text.startsWith("curl")));
    const sent = JSON.parse(/-d '(.*)'/.exec(line)[1]);
    assert.deepEqual([sent.place, sent.days, typeof sent.exact, sent.stops.length, typeof sent.address.street], ["Bergen", 3, "number", 1, "string"]);
    assert.ok(sent.secretKey && !/<place>|<days>/.test(line), line);
    await page.close();
  },
});
