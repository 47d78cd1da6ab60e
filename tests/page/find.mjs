// How people find agents: what they see first, sorting, looking for values of facets, the keyboard, and links.

const focused = (page) => page.evaluate(() => document.activeElement.closest("[data-key]")?.dataset.key ?? document.activeElement.id ?? document.activeElement.localName);
const titles = (page) => all(page, ".hit h2");
/** Waits until searches find everything that was written. */
const indexed = async () => {
  while (!(await fetch(`${url}/search?limit=0&consistent=true`)).ok);
};
const settled = (page) => until(page, () => document.querySelector(".hits:not([aria-busy])"));

await run({
  async "what a newcomer sees first"() {
    const page = await open(`${url}/`);
    await shows(page, ".summary", "9 agents");
    await shows(page, ".intro", "Describe what you need");
    await page.waitForSelector(".intro a");
    assert.ok((await page.evaluate(() => window.shift)) < 0.01, "the layout shifts while it loads");
    const examples = await all(page, ".intro a");
    assert.equal(examples.length, 3, examples.join());
    for (const example of examples) assert.ok(/^\p{Lu}/u.test(example) && example.split(" ").length >= 3, `in nobody's own words: ${example}`);
    const sorted = [...await titles(page)];
    assert.deepEqual(sorted, [...sorted].sort((a, b) => a.toLowerCase() < b.toLowerCase() ? -1 : 1), "by title where nothing was asked for");
    for (const [at, example] of examples.entries()) {
      await click(page, `.intro a:nth-of-type(${at + 1})`);
      await until(page, (q) => new URLSearchParams(location.hash.split("?")[1]).get("q") === q && document.querySelector(".hit") && document.querySelector(".intro").hidden, example);
      await until(page, () => document.activeElement.matches(".summary"));
      await page.goBack();
      await until(page, () => location.hash === "#/" || location.hash === "");
      await shows(page, ".intro:not([hidden])", "Describe what you need");
    }
    await page.goto(`${url}/#/?q=weather`);
    const weather = "[data-key='urn:example:agents:weather']";
    await shows(page, `${weather} h2 mark`, "Weather");
    const facts = await text_of(page, `${weather} .facts`);
    for (const fact of ["Skylight", "http", "v2.4.0", "changed"]) assert.ok(facts.includes(fact), `${fact}: ${facts}`);
    assert.ok(await page.$(`${weather} svg.icon`) && !(await page.$(".hit img")), "a picture of another server");
    assert.ok(await page.$(`${weather} .lines mark`), "nothing is marked in the description");
    await page.close();
  },

  async "agents that can be tried here are marked"() {
    const page = await open(`${url}/`);
    await shows(page, "[data-key='urn:example:open'] .badge", "can be tried here");
    assert.equal((await all(page, ".hit .badge.good")).length, 1);
    await page.close();
  },

  async "sorting"() {
    const page = await open(`${url}/#/?q=agent`);
    await page.waitForSelector(".hit");
    assert.equal(await page.$eval("#sort", (select) => select.value), "relevance");
    await call("PATCH", "/things/urn:example:agents:weather", { description: "An agent that changed last." }, "application/merge-patch+json");
    await indexed();
    await page.select("#sort", "modified");
    await until(page, () => location.hash.includes("sort=modified") && document.querySelector(".hit")?.dataset.key === "urn:example:agents:weather");
    await page.select("#sort", "title");
    await until(page, () => location.hash.includes("sort=title") && [...document.querySelectorAll(".hit h2")].every((one, at, all) => !at || all[at - 1].textContent.toLowerCase() <= one.textContent.toLowerCase()));
    await page.goto(`${url}/#/?sort=relevance`);
    await page.waitForSelector(".hit");
    assert.deepEqual([await page.$eval("#sort", (select) => select.value), await page.$("#sort [value=relevance]")], ["title", null]);
    await page.close();
  },

  async "from the box to the hits by the keyboard"() {
    const page = await open(`${url}/`);
    await page.waitForSelector(".hit");
    await page.focus("#q");
    await page.keyboard.type("agent");
    await until(page, () => location.hash.includes("q=agent"));
    await settled(page);
    const ids = await page.$$eval(".hit", (all) => all.map((one) => one.dataset.key));
    await page.keyboard.press("ArrowDown");
    assert.equal(await focused(page), ids[0]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await focused(page), ids[1]);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    assert.equal(await focused(page), "q");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await until(page, (id) => location.hash === `#/agent/${encodeURIComponent(id)}`, ids[0]);
    await page.close();
  },

  async "hits come before the filters for the keyboard"() {
    const page = await open(`${url}/#/?q=agent`);
    await page.waitForSelector(".hit");
    await settled(page);
    await page.focus("#q");
    let steps = 0;
    while (!(await page.evaluate(() => document.activeElement.closest(".hit"))) && steps < 40) {
      await page.keyboard.press("Tab");
      steps += 1;
    }
    assert.ok(steps <= 6, `${steps} presses of Tab`);
    const [filters, results] = await page.evaluate(() => [".filters", ".hits"].map((one) => document.querySelector(one).getBoundingClientRect().left));
    assert.ok(filters < results, "the filters stand at the left");
    await page.setViewport({ width: 360, height: 740 });
    await until(page, () => document.querySelector(".filters").getBoundingClientRect().bottom <= document.querySelector(".summary").getBoundingClientRect().top);
    await page.close();
  },

  async "focus survives live updates"() {
    const page = await open(`${url}/#/?q=weather`);
    await page.waitForSelector(".hit");
    await shows(page, "[data-pulse]", "live");
    for (const change of [
      () => call("PUT", "/things/urn:example:late", agent("urn:example:late", "Late agent")),
      () => call("PATCH", "/things/urn:example:agents:weather", { title: "Weather agent of today" }, "application/merge-patch+json"),
      () => call("PUT", "/things/urn:example:rain", agent("urn:example:rain", "Weather weather weather", { description: "weather" })),
      () => call("DELETE", "/things/urn:example:rain"),
    ]) {
      await page.focus("[data-key='urn:example:agents:weather'] h2 a");
      await page.evaluate(() => (window.asked = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/search?")).length));
      await change();
      await until(page, () => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/search?")).length > window.asked);
      await settled(page);
      assert.equal(await focused(page), "urn:example:agents:weather", String(change));
    }
    await shows(page, ".hit h2", "Weather agent of today");
    await page.focus("[data-facet='protocol=http'], [data-facet^='capability=']");
    const facet = await page.evaluate(() => document.activeElement.dataset.facet);
    await call("DELETE", "/things/urn:example:late");
    await until(page, () => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/search?")).length > window.asked + 1);
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.facet), facet);
    await call("PATCH", "/things/urn:example:agents:weather", { title: "Weather agent" }, "application/merge-patch+json");
    await page.close();
  },

  async "values of facets are looked up"() {
    const capabilities = (from, to) => Array.from({ length: to - from }, (_, at) => ({ id: `skill-${from + at}` }));
    await call("PUT", "/things/urn:example:skilled", agent("urn:example:skilled", "Skilled", { "lmos:capabilities": [...capabilities(0, 400), { id: "book-hotel-room" }] }));
    await indexed();
    const page = await open(`${url}/#/?q=skilled`);
    await shows(page, ".hit h2", "Skilled");
    const more = "[data-facet='capability+']";
    const open_ = async () => { await click(page, more); await page.waitForSelector("[data-facet='capability?']:not([hidden])"); };
    await shows(page, more, "395 more");
    await open_();
    await shows(page, ".facets [role=status]", "100 of 401");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.facet), "capability?");
    await page.keyboard.type("hotel");
    await shows(page, ".facets [role=status]", "1 of 1");
    await until(page, () => document.querySelector("[data-facet='capability=book-hotel-room']") && !document.querySelector("[data-facet='capability=skill-1']"));
    await call("PATCH", "/things/urn:example:skilled", { description: "Has many." }, "application/merge-patch+json");
    await shows(page, ".hit .lines", "Has many.");
    assert.deepEqual(await page.evaluate(() => [document.activeElement.dataset.facet, document.activeElement.value, document.activeElement.selectionStart]), ["capability?", "hotel", 5]);
    await click(page, "[data-facet='capability=book-hotel-room']");
    await until(page, () => location.hash.includes("capability=book-hotel-room"));
    await shows(page, ".chips", "Capability book-hotel-room");
    await click(page, more);
    await shows(page, more, "more");
    await page.goto(`${url}/#/?q=hotel+rooms`);
    await shows(page, ".hit h2", "Skilled");
    await shows(page, ".facets fieldset:nth-of-type(2) label:first-of-type, .facets label", "book-hotel");
    await call("DELETE", "/things/urn:example:skilled");
    await page.close();
  },

  async "filters are cleared at once, and nothing found leads on"() {
    const page = await open(`${url}/#/?type=lmos%3AAgent&format=td&status=current`);
    await page.waitForSelector(".chip");
    await page.evaluate(() => [...document.querySelectorAll(".chips button")].find((one) => one.textContent === "Clear all").click());
    await until(page, () => location.hash === "#/" && !document.querySelector(".chip"));
    await page.goto(`${url}/#/?type=lmos%3AAgent&format=td`);
    await page.waitForSelector(".chip");
    await shows(page, "[data-pulse]", "live");
    await page.focus(".chip");
    await call("PUT", "/things/urn:example:chip", agent("urn:example:chip", "Chip agent"));
    await shows(page, ".hit h2", "Chip agent");
    assert.ok(await page.evaluate(() => document.activeElement.matches(".chip")));
    await page.keyboard.press("Enter");
    await until(page, () => !location.hash.includes("type=") && document.querySelectorAll(".chip").length === 1);
    await until(page, () => document.activeElement.matches(".summary"));
    await call("DELETE", "/things/urn:example:chip");
    await page.goto(`${url}/#/?q=weather&vendor=nobody`);
    await shows(page, ".summary", "No agent matches");
    await page.evaluate(() => [...document.querySelectorAll(".summary button")].find((one) => one.textContent === "Clear the filters").click());
    await until(page, () => location.hash === "#/?q=weather");
    await shows(page, ".hit h2", "Weather agent");
    await page.goto(`${url}/#/?q=weather+%2Bzzzz`);
    await shows(page, ".summary", "Because of the +, only agents with “zzzz” are found.");
    await page.evaluate(() => [...document.querySelectorAll(".summary a")].find((one) => one.textContent === "Search without + and -").click());
    await shows(page, ".hit h2", "Weather agent");
    await page.goto(`${url}/#/?q=wether+forcast&mode=lexical`);
    await shows(page, ".summary .note", "No agent contains “wether” or “forcast”: searched for weather forecast.");
    assert.deepEqual([(await page.$$(".summary .note, .summary .hint")).length], [1]);
    await page.close();
  },

  async "pages"() {
    const lines = Array.from({ length: 50 }, (_, at) => JSON.stringify(agent(`urn:example:many:${at}`, `Many ${String(at).padStart(2, "0")}`))).join("\n");
    await call("POST", "/things/batch", lines, "application/x-ndjson");
    await indexed();
    const page = await open(`${url}/#/?q=many&mode=lexical&page=999`);
    await shows(page, ".summary", "There is no page 999");
    assert.deepEqual(await titles(page), []);
    await page.goto(`${url}/#/?q=many&mode=lexical&page=4`);
    await shows(page, ".summary a", "last page, 3");
    await click(page, ".summary a");
    await shows(page, ".pager", "41 to 50 of 50");
    await page.goto(`${url}/#/?q=many&mode=lexical`);
    await shows(page, ".pager", "1 to 20 of 50");
    await shows(page, "[data-pulse]", "live");
    await page.focus("[data-page=Next]");
    await call("PUT", "/things/urn:example:many:50", agent("urn:example:many:50", "Many 50"));
    await shows(page, ".pager", "1 to 20 of 51");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.page), "Next");
    await call("DELETE", "/things/urn:example:many:50");
    await shows(page, ".pager", "1 to 20 of 50");
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await click(page, "[data-page=Next]");
    await shows(page, ".pager", "21 to 40 of 50");
    await until(page, () => document.activeElement.matches(".summary"));
    const top = await page.$eval(".summary", (one) => one.getBoundingClientRect().top);
    assert.ok(top >= 0 && top < 400, `the results begin at ${top}`);
    await page.keyboard.press("Tab");
    await click(page, "[data-page=Last]");
    await shows(page, ".pager", "41 to 50 of 50");
    for (let at = 0; at < 50; at += 1) await call("DELETE", `/things/urn:example:many:${at}`);
    await page.close();
  },

  async "links that people make by hand"() {
    const page = await open(`${url}/?q=weather&vendor=Skylight+Meteorology`);
    await shows(page, ".summary", "1 agent");
    assert.equal(await page.evaluate(() => location.pathname + location.search + location.hash), "/#/?q=weather&vendor=Skylight+Meteorology");
    for (const name of ["nosuchview", "constructor"]) {
      await page.goto(`${url}/#/${name}`);
      await shows(page, "h1", "No such view");
      assert.ok(!(await page.$("nav [aria-current]")), name);
    }
    await click(page, "main a");
    await shows(page, ".summary", "agents");
    for (const path of ["/agent/urn:example:agents:weather", "/agent/urn%3Aexample%3Aagents%3Aweather?open=json"]) {
      await page.goto(`${url}${path}`);
      await shows(page, "h1", "Weather agent");
      assert.ok(await page.evaluate((start) => location.href.startsWith(start), `${url}/#/agent/urn`), page.url());
    }
    await page.goto(`${url}/live`);
    await shows(page, "h1", "Changes");
    const inside = await open(`${mounted}/agent/urn:example:m`);
    await shows(inside, "h1", "Mounted");
    await inside.close();
    await page.close();
  },

  async "a server that is gone"() {
    const page = await open(`${url}/`);
    await page.setRequestInterception(true);
    page.on("request", (request) => (request.url().includes("/search?") ? request.abort() : request.continue()));
    await page.reload();
    await shows(page, ".summary .note", "can't be reached");
    const [width, filters] = await page.evaluate(() => [document.querySelector(".summary .note").clientWidth, document.querySelector(".filters").hidden]);
    assert.ok(filters && width > 600, `${width}, ${filters}`);
    // Nor is anything offered for results that aren't there.
    const late = await open(`${url}/#/?q=agent&type=lmos%3AAgent`);
    await shows(late, ".sorting:not([hidden])", "Sort by");
    await late.setRequestInterception(true);
    late.on("request", (request) => (request.url().includes("/search?") ? request.abort() : request.continue()));
    await late.evaluate(() => (location.hash = "#/?q=agents&type=lmos%3AAgent"));
    await shows(late, ".summary .note", "can't be reached");
    assert.ok(await late.evaluate(() => [".sorting", ".chip", ".pager *"].every((one) => !document.querySelector(one)?.checkVisibility())));
    await late.close();
    await page.close();
  },

  async "the metrics"() {
    const page = await open(`${url}/#/metrics`);
    await shows(page, "caption", "agentdex_things");
    await page.type("#metric", "nothing of this name");
    await shows(page, "main", "No metric has this in its name");
    await page.close();
  },
});
