// Who may change what: each control is there exactly where the write would be taken; and what was typed survives signing in.

const who = [
  // A name, its key, and whether it may add, and change the agent of weather-team.
  ["nobody", undefined, false, false],
  ["readers", keys.read, false, false],
  ["others", keys.other, true, false],
  ["weather-team", keys.register, true, true],
  ["ops", keys.admin, true, true],
];
const id = "urn:example:agents:greeter";
const write = (page, text) => page.$eval("#document", (area, text) => {
  area.value = text;
  area.dispatchEvent(new Event("input"));
}, text);
const as = (key, method, path, body, type = "application/td+json") => fetch(url + path, { method, body: body && JSON.stringify(body), headers: { ...(key ? { authorization: `Bearer ${key}` } : {}), "content-type": type } });
const isTaken = async (...request) => (await as(...request)).status < 300;
/** Waits until nothing is asked for but the stream of changes. */
const settled = (page, what) => page.waitForNetworkIdle({ idleTime: 300, concurrency: 1 }).catch(() => assert.fail(`${what} goes on asking`));
const signIn = async (page, key) => {
  await page.waitForSelector("dialog[open] #key");
  await page.type("#key", key);
  await page.keyboard.press("Enter");
};

await run({
  async "keys of three roles and two owners: Add, Edit, Remove and Save are there where they would be taken"() {
    assert.ok(await isTaken(keys.register, "PUT", `/things/${id}`, agent(id, "Greeter")));
    for (const [name, key, mayAdd, mayChange] of who) {
      let page;
      const shown = async (hash, ready) => {
        await page?.close();
        page = await open("about:blank");
        await page.evaluateOnNewDocument((key) => sessionStorage.setItem("agentdex-key", key), key ?? "");
        await page.goto(`${url}/${hash}`);
        await page.waitForSelector(ready);
        await settled(page, `${name} at ${hash}`);
        return page.$$eval("main a.button, main button, main form button", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent));
      };
      const text = JSON.stringify(agent("urn:example:another", "Another"));
      const adding = await shown("#/add", "#document");
      assert.equal(adding.includes("Register"), mayAdd, `${name}: ${adding}`);
      assert.equal(Boolean(await page.$("main [role=note]")), !mayAdd, `${name} learns it before typing`);
      assert.equal(await isTaken(key, "PUT", "/things/urn:example:another?dry_run=true", JSON.parse(text)), mayAdd);
      const controls = await shown(`#/agent/${encodeURIComponent(id)}`, key ? ".operations" : "main .note, .operations");
      assert.equal(controls.includes("Edit"), mayChange, `${name}: ${controls}`);
      assert.equal(controls.includes("Remove…"), mayChange, `${name}: ${controls}`);
      assert.equal(await isTaken(key, "PUT", `/things/${id}?dry_run=true`, agent(id, "Greeter")), mayChange);
      assert.equal(await isTaken(key, "DELETE", `/things/${id}?dry_run=true`), mayChange);
      const editing = await shown(`#/add?edit=${encodeURIComponent(id)}`, "#document");
      assert.equal(editing.includes("Save"), mayChange, `${name}: ${editing}`);
      await shown("#/?q=greeter", ".tools");
      assert.equal(Boolean(await page.$("#save-as")), mayAdd, `${name} saves searches`);
      assert.equal(await isTaken(key, "PUT", `/queries/q-${name}`, { q: "greeter" }, "application/json"), mayAdd);
      await page.close();
    }
    assert.ok(await isTaken(keys.register, "GET", `/things/${id}`), "it was changed");
  },

  async "what was typed survives signing in, and who is signed out doesn't see it"() {
    const page = await open(`${url}/#/add`);
    await page.waitForSelector("dialog[open] #key");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#document");
    const text = JSON.stringify(agent("urn:example:typed", "Typed before"));
    await page.waitForSelector("main [role=note]");
    await write(page, text);
    // A missing key is nothing that is wrong with the document.
    await shows(page, ".report", "You are signed out.");
    assert.ok(!(await text_of(page, ".report")).includes("not recognized"));
    await page.evaluate(() => document.querySelector("main [role=note] button").click());
    await signIn(page, keys.read);
    const is = (text) => until(page, (text) => document.querySelector("#document")?.value === text, text);
    await is(text);
    await shows(page, ".report", "valid");
    assert.ok(!(await page.$eval("main button.primary", (one) => one.checkVisibility())), "readers can register");
    await shows(page, "main [role=note]", "readers may read");
    // It is theirs now, and nobody else's.
    await page.evaluate(() => document.querySelector("main [role=note] button").click());
    await signIn(page, keys.register);
    await shows(page, ".who", "weather-team");
    await is("");
    await write(page, text);
    await shows(page, ".outcome", "Creates Typed before");
    await click(page, ".who button");
    await until(page, () => document.querySelector("#document")?.value === "" && document.querySelector("main [role=note]"));
    await page.evaluate(() => document.querySelector("main [role=note] button").click());
    await signIn(page, keys.register);
    await is(text);
    await click(page, "main button.primary:not(:disabled)");
    await shows(page, ".outcome", "Created Typed before");
    assert.ok(await isTaken(keys.register, "GET", "/things/urn:example:typed"));
    await page.close();
  },

  async "what an owner typed anywhere is not seen by the next one in the tab, also what was typed before signing in"() {
    const input = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
    const other = "urn:example:agents:parrot";
    assert.ok(await isTaken(keys.register, "PUT", `/things/${other}`, agent(other, "Parrot", { actions: { say: { input, forms: [{ href: "https://192.0.2.1/say" }] } } })));
    const places = { "#/add": "#document", [`#/add?edit=${encodeURIComponent(other)}`]: "#document", [`#/agent/${encodeURIComponent(other)}?open=call`]: "form.action textarea" };
    const page = await open(`${url}/#/status`);
    const goTo = async (hash) => {
      await page.evaluate((hash) => (location.hash = hash), hash);
      await page.waitForSelector(places[hash]);
      await settled(page, hash);
    };
    const type = async (hash, text) => {
      await goTo(hash);
      await page.$eval(places[hash], (area, text) => {
        area.value = text;
        area.dispatchEvent(new Event("input", { bubbles: true }));
      }, text);
    };
    const seen = async () => {
      const found = [];
      for (const [hash, selector] of Object.entries(places)) {
        await goTo(hash);
        found.push(await page.$eval(selector, (area) => area.value));
      }
      await page.evaluate(() => (location.hash = "#/status"));
      await page.waitForSelector("view-status");
      return found.join(" | ");
    };
    const change = async (key, name) => {
      if (await page.$eval(".who button", (one) => one.textContent === "Sign out")) await click(page, ".who button");
      if (!key) return;
      await shows(page, ".who button", "Sign in");
      if (!(await page.$("dialog[open]"))) await click(page, ".who button");
      await signIn(page, key);
      await shows(page, ".who", name);
    };
    await page.waitForSelector("dialog[open] #key");
    await page.keyboard.press("Escape");
    await type("#/add", "typed by a visitor");
    await page.evaluate(() => (location.hash = "#/status"));
    await page.waitForSelector("view-status");
    // The view with the draft isn't opened by the first who signs in.
    await change(keys.register, "weather-team");
    await change(keys.other, "others");
    assert.ok(!(await seen()).includes("visitor"), "others see what was typed before weather-team signed in");
    await change(keys.register, "weather-team");
    assert.ok((await seen()).includes("typed by a visitor"), "it is lost");
    for (const hash of Object.keys(places)) await type(hash, `typed by weather-team in ${hash}`);
    await change(keys.other, "others");
    assert.ok(!(await seen()).includes("typed by weather-team"));
    await change();
    await page.waitForSelector(".who button");
    await goTo("#/add");
    assert.equal(await page.$eval("#document", (area) => area.value), "");
    await change(keys.register, "weather-team");
    const again = await seen();
    for (const hash of Object.keys(places)) assert.ok(again.includes(`typed by weather-team in ${hash}`), again);
    await page.close();
  },

  async "readers are told that calling takes another role, not that the registry calls nobody"() {
    const id = "urn:example:agents:called";
    assert.ok(await isTaken(keys.register, "PUT", `/things/${id}`, agent(id, "Called", { actions: { say: { forms: [{ href: "https://192.0.2.1/say" }] } } })));
    const root = await (await as(keys.read, "GET", "/")).json();
    for (const [key, told] of [[keys.read, "the role register"], [keys.register, undefined]]) {
      const page = await open("about:blank");
      await page.evaluateOnNewDocument((key) => sessionStorage.setItem("agentdex-key", key), key);
      await page.setRequestInterception(true);
      // A registry that calls agents.
      page.on("request", async (request) => {
        if (new URL(request.url()).pathname !== "/" || !/json/.test(request.headers().accept)) return request.continue();
        const about = await (await as(key, "GET", "/")).json();
        request.respond({ contentType: "application/json", body: JSON.stringify({ ...about, links: { ...about.links, conversation: `${root.links.things}/{id}/conversation` } }) });
      });
      await page.goto(`${url}/#/agent/${encodeURIComponent(id)}?open=call`);
      await page.waitForSelector("form.action");
      const text = await text_of(page, "form.action");
      assert.equal(text.includes("Calling agents from this page requires an API key with the role register"), Boolean(told), text);
      assert.ok(!text.includes("doesn't call agents"), text);
      assert.equal(Boolean(await page.$("form.action button.primary")), !told);
      await page.close();
    }
  },

  async "whoever has signed in reads the metrics, and sends requests from the page of the API"() {
    const page = await open("about:blank");
    await page.evaluateOnNewDocument((key) => sessionStorage.setItem("agentdex-key", key), keys.admin);
    await page.goto(`${url}/#/status`);
    await click(page, "main a[href$=metrics]");
    await shows(page, "caption", "agentdex_things");
    await page.goto(`${url}/#/status`);
    await click(page, "main a[href='docs/']");
    await page.waitForSelector(".opblock");
    await page.waitForSelector(".authorize.locked");
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    // What is left is in the markup of Swagger UI.
    assert.deepEqual(violations.map(({ id }) => id).filter((id) => !["heading-order", "nested-interactive"].includes(id)), []);
    assert.ok(!(await text_of(page, "body")).includes("Swagger UI") && !(await page.$(".topbar, img[alt*=Swagger]")));
    await click(page, "#operations-keys-list_keys .opblock-summary-control, #operations-about-list_keys .opblock-summary-control");
    await click(page, ".opblock.is-open .try-out__btn");
    await click(page, ".opblock.is-open .execute");
    await shows(page, ".opblock.is-open .live-responses-table .response-col_status", "200");
    await click(page, ".top a");
    await until(page, () => document.querySelector("#q"));
    await page.close();
  },
});
