// Nothing is lost or replaced without a word: editing, adding, saving, and what was typed.

const things = (id) => call("GET", `/things/${id}`).then((answer) => answer.json());
const editor = (page) => page.$eval("#document", (area) => area.value);
const write = (page, text) => page.$eval("#document", (area, text) => {
  area.value = text;
  area.dispatchEvent(new Event("input"));
}, typeof text === "string" ? text : JSON.stringify(text, null, 2));
const loaded = (page) => until(page, () => document.querySelector("#document")?.value.includes('"title"'));
const outcome = (page, text) => shows(page, ".outcome", text);
const go = async (page) => {
  // One that is behind another is neither drawn nor told of changes.
  await page.bringToFront();
  await click(page, "main button.primary:not(:disabled)");
};
const add = async (document) => {
  const page = await open(`${url}/#/add`);
  await page.waitForSelector("#document");
  if (document !== undefined) await write(page, document);
  return page;
};
const edit = async (id) => {
  const page = await open(`${url}/#/add?edit=${encodeURIComponent(id)}`);
  await loaded(page);
  return [page, JSON.parse(await editor(page))];
};
/** In both themes, and in a narrow window. */
const accessible = async (page) => {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.map(({ id, nodes }) => `${scheme}: ${id} ${nodes.map(({ target, failureSummary }) => target + failureSummary)}`), []);
  }
  await page.setViewport({ width: 360, height: 800 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `${wide} pixels`);
  await page.setViewport({ width: 1280, height: 900 });
};
const nav = (page, name) => page.evaluate((name) => [...document.querySelectorAll("nav a")].find((one) => one.textContent === name).click(), name);

await run({
  async "two people edit one agent in different places: both changes are there"() {
    const id = "urn:example:agents:translation";
    const [[a, td], [b]] = [await edit(id), await edit(id)];
    await write(a, { ...td, description: "Alice wrote this." });
    await outcome(a, "Changes Polyglot translator");
    await go(a);
    await outcome(a, "Saved");
    // The other one is told as it happens.
    await b.bringToFront();
    await shows(b, ".stale", "It has been changed since you opened it");
    await write(b, { ...td, title: "Bob Translator" });
    await outcome(b, "Changes");
    await go(b);
    await outcome(b, "Your changes are in different places");
    assert.equal((await things(id)).description, "Alice wrote this.", "the second write was taken");
    assert.equal((await things(id)).title, td.title);
    await shows(b, ".outcome .diff ins", "Alice wrote this.");
    await shows(b, ".outcome", "Somebody");
    await go(b);
    await until(b, () => document.querySelector("#document").value.includes("Alice wrote this."));
    await outcome(b, "Changes");
    assert.ok(!(await text_of(b, "main")).includes("It has been changed since"), "it is told still");
    await go(b);
    await outcome(b, "Saved");
    const stored = await things(id);
    assert.deepEqual([stored.title, stored.description], ["Bob Translator", "Alice wrote this."]);
    await a.close();
    await b.close();
  },

  async "only places that both changed are asked about"() {
    const id = "urn:example:conflict";
    const parts = [{ id: "one", name: "One", description: "first" }, { id: "two", name: "Two", description: "second" }];
    await call("PUT", `/things/${id}`, agent(id, "Base", { version: { instance: "1.0.0" }, "lmos:capabilities": parts }));
    const [page, td] = await edit(id);
    await write(page, { ...td, title: "Mine", description: "Mine too", "lmos:capabilities": [parts[0], { ...parts[1], description: "mine" }] });
    await call("PATCH", `/things/${id}`, { title: "Theirs", version: { instance: "2.0.0" }, "lmos:capabilities": [{ ...parts[0], description: "theirs" }, parts[1]] }, "application/merge-patch+json");
    await shows(page, ".stale", "It has been changed since you opened it");
    await click(page, ".stale button");
    await shows(page, ".merge", "Yours: Mine");
    assert.deepEqual(await all(page, ".merge legend"), ["/title"]);
    await accessible(page);
    await click(page, ".merge input[value=theirs]");
    await go(page);
    await outcome(page, "Changes");
    assert.equal((await things(id)).description, "An agent for tests", "merging alone writes nothing");
    await go(page);
    await outcome(page, "Saved");
    const stored = await things(id);
    assert.deepEqual([stored.title, stored.description, stored.version.instance], ["Theirs", "Mine too", "2.0.0"]);
    assert.deepEqual(stored["lmos:capabilities"].map(({ description }) => description), ["theirs", "mine"]);

    // One that was removed meanwhile is registered again only by who says so.
    await write(page, { ...td, title: "Once more" });
    await outcome(page, "Changes");
    await call("DELETE", `/things/${id}`);
    await shows(page, ".stale", "It has been removed");
    await click(page, ".stale button");
    await outcome(page, "It was removed in the meantime");
    await click(page, ".outcome button");
    await outcome(page, "Creates");
    await go(page);
    await outcome(page, "Created");
    assert.equal((await things(id)).title, "Once more");
    await page.close();
  },

  async "an edit keeps the time to live, and numbers as they are written"() {
    const id = "urn:example:exact";
    const text = JSON.stringify(agent(id, "Exact", { registration: { ttl: 3600 } })).replace(/}$/, ',"ex:n":[12345678901234567890,1.0]}');
    await call("PUT", `/things/${id}`, text);
    const [page] = await edit(id);
    await write(page, (await editor(page)).replace('"Exact"', '"Exact still"'));
    await outcome(page, "Changes");
    await go(page);
    await outcome(page, "Saved");
    const stored = await (await call("GET", `/things/${id}`)).text();
    for (const part of ["Exact still", "12345678901234567890,1.0", '"ttl":3600']) assert.ok(stored.includes(part), `${part}: ${stored}`);
    await page.close();
  },

  async "adding says before and after what it does, and asks before it replaces"() {
    const id = "urn:example:agents:weather";
    const mine = { "@context": "https://www.w3.org/2022/wot/td/v1.1", id, title: "My first agent", security: "n", securityDefinitions: { n: { scheme: "nosec" } } };
    const page = await add({ ...mine, id: "urn:example:fresh" });
    await outcome(page, "Creates My first agent");
    await go(page);
    await outcome(page, "Created My first agent");

    const before = await (await call("GET", `/things/${id}`)).json();
    await write(page, mine);
    await outcome(page, `Replaces ${before.title}`);
    await shows(page, "main .diff ins", "My first agent");
    await go(page);
    await shows(page, "dialog[open]", `Replace ${before.title}?`);
    await accessible(page);
    await click(page, "dialog[open] button[value=no]");
    assert.equal((await things(id)).title, before.title);
    await go(page);
    await click(page, "dialog[open] button[value=yes]");
    await outcome(page, `Updated My first agent`);
    assert.equal((await things(id)).title, "My first agent");

    await write(page, { ...mine });
    await outcome(page, "Changes nothing: My first agent");
    await go(page);
    await outcome(page, "Nothing changed: My first agent");

    // Without an id the first press makes an agent, the second one none.
    const { id: _, ...anonymous } = mine;
    await write(page, { ...anonymous, title: "Without an id" });
    await outcome(page, "Creates Without an id under a new id");
    await go(page);
    await outcome(page, "Created");
    const total = async () => (await (await call("GET", "/")).json()).things;
    const agents = await total();
    await write(page, { ...anonymous, title: "Without an id", description: "Still the same agent." });
    await outcome(page, "Replaces Without an id");
    await go(page);
    await click(page, "dialog[open] button[value=yes]");
    await outcome(page, "Updated");
    assert.equal(await total(), agents);

    // What somebody else registers between the check and the press stays.
    await write(page, { ...mine, id: "urn:example:race" });
    await outcome(page, "Creates My first agent");
    await call("PUT", "/things/urn:example:race", { ...mine, id: "urn:example:race", title: "Faster" });
    await go(page);
    await outcome(page, "somebody else made changes first");
    await outcome(page, "Replaces Faster");
    assert.equal((await things("urn:example:race")).title, "Faster");
    await page.close();
  },

  async "editing an imported agent says what becomes of its document and its source"() {
    const { ids: [id] } = await (await call("POST", "/import/a2a", { url: `${site}/card.json` }, "application/json")).json();
    const [page, td] = await edit(id);
    await shows(page, ".note", "kept on top of that document: they still apply when the document changes");
    await shows(page, ".note", "an A2A agent card");
    await shows(page, ".note", "/card.json");
    await write(page, { ...td, title: "By hand" });
    await outcome(page, "Changes");
    await accessible(page);
    assert.equal((await (await call("GET", "/imports")).json()).length, 1, "looking at it changed it");
    // So it is where a description replaces it.
    const other = await add(agent(id, "Over it"));
    await outcome(other, "kept on top of that document");
    await call("DELETE", `/things/${id}`);
    await other.close();
    await page.close();
  },

  async "what the page calls valid can be registered, in JSON and in YAML"() {
    const page = await add();
    for (const [name, documents] of Object.entries(formats)) {
      for (const text of documents) {
        await write(page, "");
        await write(page, text);
        await shows(page, ".report", "valid");
        await until(page, () => !document.querySelector("main button.primary").disabled)
          .catch(async () => assert.fail(`${name}: ${await text_of(page, ".report")} ${await text_of(page, ".outcome")}`));
        const words = await text_of(page, ".outcome");
        await go(page);
        if (/Replaces (?!only)/.test(words)) await click(page, "dialog[open] button[value=yes]");
        await until(page, () => document.querySelector(".outcome .note.good") || document.querySelector(".outcome .bad"));
        assert.match(await text_of(page, ".outcome"), /^(Created|Updated|Nothing changed)/, name);
      }
    }
    await page.close();
  },

  async "parameters of a format are fields"() {
    const page = await add(formats["agent-spec"][0]);
    await shows(page, ".report", "Open Agent Spec");
    await page.waitForSelector("#option-base");
    for (const label of await page.$$eval(".options input, .options select", (fields) => fields.map(({ labels }) => labels.length))) assert.equal(label, 1);
    await page.type("#option-base", "https://agents.example/rhymer");
    await until(page, () => {
      document.querySelectorAll(".preview details:not([open]) > summary").forEach((one) => one.click());
      return document.querySelector(".preview").textContent.includes("https://agents.example/rhymer");
    });
    await accessible(page);
    await click(page, "#option-publish_prompts");
    await until(page, () => !document.querySelector(".report").textContent.includes("publish_prompts") && !document.querySelector("main button.primary").disabled);
    await go(page);
    if (await page.$("dialog[open]")) await click(page, "dialog[open] button[value=yes]");
    await until(page, () => document.querySelector(".outcome .note.good"));
    const { id } = JSON.parse(await page.$eval(".outcome a", (link) => JSON.stringify({ id: decodeURIComponent(link.hash.slice("#/agent/".length)) })));
    assert.ok(JSON.stringify(await things(id)).includes("https://agents.example/rhymer"));
    await page.close();
  },

  async "parts that an import leaves out are named as that, and removed"() {
    const member = (id) => ({
      component_type: "Agent", id, name: id, description: "Answers questions", metadata: {}, inputs: [], outputs: [], system_prompt: "Answer.", tools: [],
      llm_config: { component_type: "VllmConfig", id: `${id}-llm`, name: "llm", url: "https://llm.example/v1", model_id: "small" },
    });
    const swarm = {
      component_type: "Swarm", agentspec_version: "26.1.0", id: "front-desk", name: "Front desk", inputs: [], outputs: [],
      first_agent: { $component_ref: "kim" }, relationships: [[{ $component_ref: "kim" }, { $component_ref: "lee" }]],
      $referenced_components: { kim: member("kim"), lee: member("lee") },
    };
    const { created } = await (await call("POST", "/import/agent-spec?nested=true", swarm, "application/json")).json();
    assert.deepEqual(created, ["front-desk", "kim", "lee"].map((id) => `urn:agentspec:local:${id}`));
    const page = await add(swarm);
    // The option of the first time holds until it is given again.
    await outcome(page, "Changes nothing");
    await click(page, "#option-nested");
    await click(page, "#option-nested");
    await outcome(page, "Removes, because this import no longer contains it: lee");
    await outcome(page, "document still contains these parts, import it with the same options");
    await click(page, "#option-nested");
    await until(page, () => document.querySelector(".outcome").textContent.includes("Changes nothing") && !document.querySelector(".outcome").textContent.includes("Removes"));
    await click(page, "#option-nested");
    await outcome(page, "Removes, because this import no longer contains it: lee");
    assert.equal((await things("urn:agentspec:local:lee")).title, "lee");
    await go(page);
    await click(page, "dialog[open] button[value=yes]");
    await outcome(page, "Removed");
    for (const id of ["kim", "lee"]) assert.equal((await fetch(`${url}/things/urn:agentspec:local:${id}`)).status, 404, id);
    assert.equal((await things("urn:agentspec:local:front-desk")).title, "Front desk");
    await page.close();
  },

  async "what was typed survives other views, the back button, and an edit its version"() {
    const page = await add('{"title": "half an hour of work"');
    await page.type("#own-id", "urn:example:half");
    await nav(page, "Find");
    await shows(page, ".summary", "agent");
    await page.goBack();
    await until(page, () => document.querySelector("#document")?.value === '{"title": "half an hour of work"');
    assert.equal(await page.$eval("#own-id", (input) => input.value), "urn:example:half");
    await shows(page, ".note", "what you typed here before");
    await page.reload();
    await until(page, () => document.querySelector("#document")?.value === '{"title": "half an hour of work"');

    // Drafts of edits are their own, and know the version that they were made of.
    const id = "urn:example:draft";
    await call("PUT", `/things/${id}`, agent(id, "Draft"));
    await page.goto(`${url}/#/add?edit=${encodeURIComponent(id)}`);
    await loaded(page);
    await shows(page, "h1", "Edit Draft");
    const td = JSON.parse(await editor(page));
    await write(page, { ...td, title: "Drafted" });
    await nav(page, "Add");
    await until(page, () => document.querySelector("h1").textContent === "Add an agent" && document.querySelector("#document").value.startsWith('{"title": "half'));
    await call("PATCH", `/things/${id}`, { description: "Somebody else's." }, "application/merge-patch+json");
    await page.goBack();
    await until(page, () => document.querySelector("#document")?.value.includes('"Drafted"'));
    await shows(page, ".stale", "It has been changed since you opened it");
    await page.evaluate(() => [...document.querySelectorAll(".note button")].find((one) => one.textContent === "Discard it").click());
    await until(page, () => document.querySelector("#document").value.includes("Somebody else's."));
    assert.ok(!(await editor(page)).includes("Drafted"));
    await page.close();
  },

  async "saving a search under a name that is taken asks"() {
    const page = await open(`${url}/#/?q=hotel`);
    const save = async () => {
      await page.evaluate(() => (document.querySelector(".tools details:nth-child(2)").open = true));
      await page.waitForSelector("#save-as");
      await page.$eval("#save-as", (input) => (input.value = "hotel"));
      await page.focus("#save-as");
      await page.keyboard.press("Enter");
    };
    const query = async () => (await (await call("GET", "/queries/hotel")).json()).query.q;
    await shows(page, ".summary", "agent");
    await save();
    await shows(page, ".tools", "Saved.");
    assert.match(await text_of(page, "#save-help"), /Letters, digits/);
    await page.goto(`${url}/#/?q=translate`);
    await until(page, () => document.querySelector("#q").value === "translate");
    await save();
    await shows(page, "dialog[open]", "hotel");
    await click(page, "dialog[open] button[value=no]");
    await shows(page, ".tools", "Nothing was saved");
    assert.equal(await query(), "hotel");
    await save();
    await click(page, "dialog[open] button[value=yes]");
    await shows(page, ".tools", "Saved.");
    assert.equal(await query(), "translate");
    // The same once more is no question.
    await save();
    await shows(page, ".tools", "Saved.");
    assert.equal(await page.$("dialog[open]"), null);
    await page.close();
  },
});
