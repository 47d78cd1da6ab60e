// Every view in both themes, in narrow and wide windows: for those who can't see it well, or not at all.

const views = {
  find: ["#/", ".hit"],
  help: ["#/?q=nowhere+to+be+found&tag=booking", ".chip", () => document.querySelectorAll(".tools details").forEach((one) => (one.open = true))],
  search: ["#/?q=book+a+train+or+hotel", ".hit mark"],
  agent: ["#/agent/urn%3Aexample%3Aagents%3Aweather?open=history", ".history li", () => document.querySelectorAll("[data-part=call]").forEach((one) => (one.open = true))],
  remove: ["#/agent/urn%3Aexample%3Aagents%3Ainvoices?open=related", ".parts a.button", () => [...document.querySelectorAll(".operations button")].find((one) => one.textContent === "Remove…").click()],
  missing: ["#/agent/urn%3Aexample%3Anothing", "h1"],
  live: ["#/live", ".change"],
  add: ["#/add?edit=urn%3Aexample%3Aagents%3Aweather", ".preview .affordance"],
  chains: ["#/chains?have=document&want=approval&several=1", "svg.graph"],
  queries: ["#/queries", ".card"],
  guardian: ["#/guardian", ".step"],
  status: ["#/status", "tbody td"],
  admin: ["#/admin", "view-admin section:nth-of-type(4) button"],
  flow: ["#/agent/urn%3Aexample%3Aflow", "svg.graph a"],
  metrics: ["#/metrics", "tbody td"],
  looked: ["#/", ".hit", async () => { document.querySelector("[data-facet='capability+']").click(); }],
  nowhere: ["#/nosuchview", "h1"],
};

await run({
  async "every view, in both themes"() {
    await call("PUT", "/queries/weather", { q: "weather forecast", protocol: ["http"] }, "application/json");
    await call("PATCH", "/things/urn:example:agents:weather", { description: "Knows what the sky will do.", version: { instance: "2.5.0" } }, "application/merge-patch+json");
    await call("POST", "/import/agent-spec?id=urn:example:flow", flow("weather-flow", ["urn:example:agents:weather#getForecast", "urn:example:nobody#x", "urn:example:agents:translation#translate"]), "application/json");
    const context = { agent: { id: "urn:example:agents:weather", name: "Weather agent", version: "2.5.0", instructions: "x", provider: { name: "x", url: "https://example.org" } }, session: { id: "session-1" }, turnId: "t", stepId: "p", timestamp: "2026-11-22T10:00:00Z" };
    for (const tool of ["getForecast", "pay_out"]) {
      await call("POST", "/aos", { jsonrpc: "2.0", id: 1, method: "steps/toolCallRequest", params: { context, reasoning: "r", toolCallRequest: { executionId: tool, toolId: tool, inputs: [{ name: "place", value: "Oslo" }] } } }, "application/json");
    }
    const page = await open(`${url}/`);
    const wrong = [];
    for (const [name, [hash, selector, prepare]] of Object.entries(views)) {
      await page.setViewport({ width: 1280, height: 900 });
      await page.goto(`${url}/${hash}`);
      await page.waitForSelector(selector);
      await until(page, () => !document.querySelector("[aria-busy]"));
      if (prepare) await page.evaluate(prepare);
      for (const scheme of ["light", "dark"]) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
        for (const width of [1280, 360]) {
          await page.setViewport({ width, height: 900 });
          if (width === 1280 || scheme === "light") {
            await page.evaluate(axe);
            const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
            for (const { id, help, nodes } of violations) wrong.push(`${name}, ${scheme}, ${width}: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
          }
          // What is beside the edge of a table of numbers is not seen by who doesn't know that it is there.
          const cut = await page.$$eval(".numbers, .modes", (all) => all.filter((one) => one.scrollWidth > one.clientWidth || one.classList.contains("modes") && one.clientHeight > 48).length);
          if (cut) wrong.push(`${name}, ${scheme}, ${width}: ${cut} cut or wrapped`);
          if (shots) await page.screenshot({ path: `${shots}/${name}-${scheme}-${width}.png`, fullPage: true });
        }
      }
      await page.setViewport({ width: 320, height: 700 });
      const [content, window_] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      if (content > window_) wrong.push(`${name}: ${content} pixels in a window of ${window_}`);
    }
    assert.deepEqual(wrong, []);
    await page.close();
  },

  async "administration, numbers, and many agents, also in narrow windows"() {
    const as = (path, body) => fetch(keys.locked + path, { method: "POST", headers: { authorization: `Bearer ${keys.admin}`, "content-type": "application/json" }, body: JSON.stringify(body) });
    for (let at = 0; at < 12; at += 1) assert.ok((await as("/keys", { owner: `team-${at}`, role: "read" })).ok);
    const lines = Array.from({ length: 45 }, (_, at) => JSON.stringify(agent(`urn:example:many:${at}`, `Many ${at}`))).join("\n");
    await call("POST", "/things/batch", lines, "application/x-ndjson");
    const page = await open("about:blank");
    await page.evaluateOnNewDocument((key) => sessionStorage.setItem("agentdex-key", key), keys.admin);
    const wrong = [];
    for (const [name, address, selector] of [["admin", `${keys.locked}/#/admin`, "section:nth-of-type(4) button"], ["locked", `${keys.locked}/#/status`, "tbody td"], ["many", `${url}/#/`, ".pager a"], ["status", `${url}/#/status`, "tbody td"], ["metrics", `${url}/#/metrics`, "tbody td"]]) {
      await page.goto(address);
      await page.waitForSelector(selector);
      await until(page, () => !document.querySelector("[aria-busy]"));
      for (const width of [1280, 400, 360]) {
        await page.setViewport({ width, height: 740 });
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        for (const { id, nodes } of violations) wrong.push(`${name}, ${width}: ${id}: ${nodes[0].html} ${nodes[0].failureSummary}`);
        const seen = await page.evaluate(() => {
          const inWords = [];
          for (const one of document.querySelectorAll(".numbers .badge, .numbers th, td > .t, td > code, td > time")) {
            const text = document.createTreeWalker(one, NodeFilter.SHOW_TEXT).nextNode();
            for (const word of text?.data.matchAll(/\w+/g) ?? []) {
              const range = document.createRange();
              range.setStart(text, word.index);
              range.setEnd(text, word.index + word[0].length);
              if (word[0].length < 20 && new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) inWords.push(word[0]);
            }
          }
          const beyond = [...document.querySelectorAll(".samples td")].filter((one) => one.getBoundingClientRect().right > innerWidth).length;
          return { inWords, beyond, height: document.documentElement.scrollHeight, head: document.querySelector(".top").offsetHeight, sideways: document.documentElement.scrollWidth > innerWidth && [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest(".scroll")).slice(0, 3).map((one) => one.outerHTML.slice(0, 200)).join() };
        });
        if (seen.inWords.length) wrong.push(`${name}, ${width}: broken in a word: ${seen.inWords.slice(0, 5)}`);
        if (seen.beyond) wrong.push(`${name}, ${width}: ${seen.beyond} values beyond the edge`);
        if (seen.sideways) wrong.push(`${name}, ${width}: sideways: ${seen.sideways}`);
        if (name === "admin" && seen.height > 5000) wrong.push(`${name}, ${width}: ${seen.height} high`);
        if (seen.head > 112) wrong.push(`${name}, ${width}: a head of ${seen.head}`);
        if (shots) await page.screenshot({ path: `${shots}/w-${name}-${width}.png` });
      }
    }
    for (let at = 0; at < 45; at += 1) await call("DELETE", `/things/urn:example:many:${at}`);
    assert.deepEqual(wrong, []);
    await page.close();
  },

  async "who goes elsewhere has not said yes"() {
    const page = await open(`${url}/#/agent/urn%3Aexample%3Aagents%3Ainvoices`);
    await page.waitForSelector(".operations .bar button");
    await page.evaluate(() => [...document.querySelectorAll(".operations button")].find((one) => one.textContent === "Remove…").click());
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("/");
    assert.match(page.url(), /#\/agent\//);
    await page.evaluate(() => { location.hash = "#/live"; });
    await until(page, () => !document.querySelector("dialog"));
    await call("GET", "/things/urn:example:agents:invoices");
    await page.close();
  },

  async "the keyboard reaches everything"() {
    const page = await open(`${url}/`);
    await page.waitForSelector(".hit");
    await page.evaluate(() => document.activeElement.blur());
    const reached = [];
    for (let step = 0; step < 70; step += 1) {
      await page.keyboard.press("Tab");
      reached.push(await page.evaluate(() => {
        const { activeElement: one } = document;
        const { outlineStyle } = getComputedStyle(one);
        return `${one.localName}${one.id ? `#${one.id}` : ""}${one.closest(".hit") ? ".hit" : ""}${one.matches("nav a") ? ".nav" : ""}${outlineStyle === "none" && !one.matches(".modes input") ? " without an outline" : ""}`;
      }));
    }
    for (const expected of ["a.nav", "input#q", "a.hit", "summary"]) assert.ok(reached.includes(expected), `${expected}: ${reached}`);
    assert.deepEqual(reached.filter((one) => one.endsWith("outline") && !one.startsWith("body")), []);
    await page.close();
  },
});
