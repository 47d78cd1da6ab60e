// The page of an agent: its parts, who may see it, what changed, and the steps of a Flow.

const who = (key) => ({ authorization: `Bearer ${key}`, "content-type": "application/td+json" });
const send = async (key, method, path, body, type = "application/json") => {
  const answer = await fetch(keys.locked + path, { method, headers: { ...who(key), "content-type": type }, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
};
/** Failed requests of a page, which a browser writes to its console. */
const failures = (page) => {
  const found = [];
  page.on("response", (response) => response.status() >= 400 && found.push(`${response.status()} ${response.url()}`));
  return found;
};

await run({
  async "edit, talk, call and the rest are below the title, and by the keyboard"() {
    await call("PUT", "/things/urn:example:plain", agent("urn:example:plain", "Äpfel", { actions: { ask: { forms: [{ href: "https://192.0.2.1/ask" }] }, roll: { input: { type: "object", properties: { dice: { type: "integer" } } }, forms: [{ href: "https://192.0.2.1/roll" }] } } }));
    const page = await open("about:blank");
    const failed = failures(page);
    await page.goto(`${url}/#/agent/urn%3Aexample%3Aplain`);
    await shows(page, "nav.parts", "Edit");
    assert.deepEqual(await all(page, "nav.parts a"), ["Edit", "Talk", "Call", "History", "Documents", "Related", "JSON", "Registration"]);
    assert.equal(await text_of(page, ".title .icon"), "Ä");
    const top = await page.$eval("nav.parts", (one) => one.getBoundingClientRect().bottom);
    assert.ok(top < 400, `at ${top}`);
    for (const name of ["History", "Documents", "JSON"]) {
      await page.evaluate((name) => [...document.querySelectorAll("nav.parts a")].find((one) => one.textContent === name).focus(), name);
      await page.keyboard.press("Enter");
      await until(page, () => document.activeElement.localName === "summary" && document.activeElement.parentElement.open);
    }
    await until(page, () => !document.querySelector("[aria-busy]"));
    await page.waitForNetworkIdle({ idleTime: 300, concurrency: 1 });
    assert.deepEqual(failed, [], "the console has what failed");
    // One that takes no text can't be talked with.
    await call("PUT", "/things/urn:example:dice", agent("urn:example:dice", "Dice", { actions: { roll: { input: { type: "object", properties: { dice: { type: "integer" } } }, forms: [{ href: "https://192.0.2.1/roll" }] } } }));
    await page.goto(`${url}/#/agent/urn%3Aexample%3Adice`);
    await shows(page, "nav.parts", "Registration");
    assert.ok(!(await all(page, "nav.parts a")).includes("Talk"));
    await page.close();
  },

  async "assistants connect to MCP servers and to the registry by what can be copied"() {
    const packages = [{ registryType: "npm", identifier: "@example/w", version: "1.0.0", transport: { type: "stdio" }, environmentVariables: [{ name: "API_KEY", isSecret: true, description: "<b>Key</b>" }] }];
    const server = { name: "com.example/npm", title: "Npm", description: "<i>x</i>", version: "1.0.0", packages };
    await call("POST", "/import/mcp-server", server, "application/json");
    const page = await open(`${url}/#/agent/urn%3Aagentdex%3Amcp%3Acom.example%2Fnpm?open=connect`);
    await page.waitForSelector("#client");
    assert.ok((await all(page, "nav.parts a")).includes("Connect"));
    const { clients } = await (await fetch(`${url}/things/urn:agentdex:mcp:com.example%2Fnpm/connect`)).json();
    assert.deepEqual(await all(page, "#client option"), clients.map(({ title }) => title));
    for (const [at, { title, configuration, command }] of clients.entries()) {
      await page.evaluate((at) => { const select = document.querySelector("#client"); select.selectedIndex = at; select.dispatchEvent(new Event("change")); }, at);
      assert.deepEqual(await all(page, "[data-part=connect] pre"), [configuration, command]);
      assert.equal((await page.$$("[data-part=connect] .code button")).length, 2, title);
    }
    await shows(page, "[data-part=connect]", "${API_KEY}");
    await shows(page, "[data-part=connect]", "(<b>Key</b>)");
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.map(({ id }) => id), []);
    await page.setViewport({ width: 360, height: 700 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360));
    await page.goto(`${url}/#/status`);
    await click(page, "view-status > details.fold > summary");
    await shows(page, "view-status pre", `${url}/mcp`);
    await page.close();
  },

  async "an agent that asks for a credential is called by commands, and why is said"() {
    const forms = (more) => [{ href: "https://192.0.2.1/ask", contentType: "application/json", ...more }];
    const schemes = { key: { scheme: "apikey", in: "header", name: "X-Key" }, none: { scheme: "nosec" }, both: { scheme: "combo", allOf: ["key", "none"] }, either: { scheme: "combo", oneOf: ["key", "none"] } };
    const input = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
    const actions = { plain: { input, forms: forms() }, combined: { input, forms: forms({ security: "both" }) }, open: { input, forms: forms({ security: "none" }) }, choice: { input, forms: forms({ security: ["either"] }) } };
    await call("PUT", "/things/urn:example:guarded", agent("urn:example:guarded", "Guarded", { actions, securityDefinitions: schemes, security: "key" }));
    const page = await open(`${url}/#/agent/urn%3Aexample%3Aguarded?open=talk`);
    await page.waitForSelector("#talk-action");
    assert.deepEqual(await all(page, "#talk-action option"), ["open", "choice"]);
    await page.evaluate(() => document.querySelectorAll("[data-part=call]").forEach((one) => (one.open = true)));
    await until(page, () => document.querySelectorAll("form.action").length === 4);
    assert.deepEqual(await page.$$eval("form.action", (all) => all.map((one) => Boolean(one.querySelector("button.primary")))), [false, false, true, true]);
    await shows(page, "form.action", "The agent asks for a credential");
    await shows(page, "form.action .code pre", "X-Key: <key>");
    const { actions: { plain, combined } } = { actions };
    await call("PUT", "/things/urn:example:shut", agent("urn:example:shut", "Shut", { actions: { plain, combined }, securityDefinitions: schemes, security: "key" }));
    await page.goto(`${url}/#/agent/urn%3Aexample%3Ashut`);
    await shows(page, "nav.parts", "Registration");
    assert.ok(!(await all(page, "nav.parts a")).includes("Talk"));
    await page.close();
  },

  async "texts without an end are cut, and what was noticed is said once"() {
    const long = "endless ".repeat(12_500);
    const id = "urn:example:endless";
    await call("PUT", `/things/${id}`, agent(id, long, { description: `${long}\u202e${"\u202e".repeat(30)}`, "schema:keywords": [long], "lmos:capabilities": Array.from({ length: 12 }, (_, at) => ({ id: `c${at}`, name: `C \u202e${at}`, description: "\u202ereversed" })), actions: { ask: { title: long, description: long, forms: [{ href: "https://192.0.2.1/ask" }] } } }));
    const page = await open(`${url}/#/agent/${encodeURIComponent(id)}`);
    await shows(page, "h1", "endless");
    assert.ok((await page.title()).length < 300, "its title is the whole text");
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) < 6000, "it goes on for ever");
    while (!(await (await call("GET", `/things/${id}`)).json()).registration["agentdex:flags"]?.length) await call("GET", "/search?limit=0&consistent=true");
    for (const hash of [`#/agent/${encodeURIComponent(id)}`, "#/live", `#/?q=${encodeURIComponent(`id:"${id}"`)}`]) {
      await page.goto(`${url}/${hash}`);
      await page.reload();
      await shows(page, "main", "endless");
      const badges = await all(page, ".hit .badge.bad, .badges .badge.bad");
      assert.ok(badges.length > 0 || hash === "#/live");
      assert.equal(new Set(badges.map((one) => one.replace(/ ×.*/, ""))).size, badges.length, badges.join());
      assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) < 8000, hash);
    }
    await call("DELETE", `/things/${id}`);
    await page.close();
  },

  async "that a description has changed is in sight wherever one reads"() {
    await call("PUT", "/things/urn:example:read", agent("urn:example:read", "Read", { actions: Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`act${at}`, { description: "Does it.", forms: [{ href: "https://192.0.2.1/x" }] }])) }));
    const page = await open(`${url}/#/agent/urn%3Aexample%3Aread`);
    await shows(page, "[data-pulse]", "live");
    await page.waitForSelector(".operations button");
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await call("PATCH", "/things/urn:example:read", { description: "Anew." }, "application/merge-patch+json");
    await shows(page, ".stale:not([hidden])", "has changed");
    const top = await page.$eval(".stale", (one) => one.getBoundingClientRect().top);
    assert.ok(top >= 0 && top < 800, `at ${top}`);
    await page.focus(".stale button");
    await page.keyboard.press("Enter");
    await shows(page, ".lead", "Anew.");
    assert.notEqual(await page.evaluate(() => document.activeElement.localName), "body");
    const small = await page.$$eval("nav.parts a", (all) => all.map((one) => one.getBoundingClientRect().height).filter((height) => height < 24));
    assert.deepEqual(small, []);
    await shows(page, ".fold", "Raw JSON");
    await page.evaluate(() => (location.hash = "#/agent/urn%3Aexample%3Aread?open=json"));
    await page.waitForSelector(".code pre .name");
    const colors = await page.evaluate(() => [".name", ".text"].map((one) => getComputedStyle(document.querySelector(`.code pre ${one}`)).color));
    assert.notEqual(colors[0], colors[1]);
    await page.close();
  },

  async "times go on while they are looked at"() {
    const page = await open(`${url}/#/agent/urn%3Aexample%3Aplain`);
    await page.waitForSelector(".facts time");
    await page.evaluate(() => {
      const now = Date.now;
      Date.now = () => now() + 3 * 3_600_000;
    });
    await shows(page, ".facts time", "3 hours ago");
    await page.close();
  },

  async "differences of objects are indented and folded"() {
    const more = (length) => agent("urn:example:grown", "Grown", { "lmos:metadata": Object.fromEntries(Array.from({ length }, (_, at) => [`member${at}`, { text: "x".repeat(40), at }])) });
    await call("PUT", "/things/urn:example:grown", agent("urn:example:grown", "Grown"));
    await call("PUT", "/things/urn:example:grown", more(30));
    const page = await open(`${url}/#/agent/urn%3Aexample%3Agrown?open=history`);
    await page.waitForSelector(".diff ins pre");
    const [lines, hidden] = await page.$eval(".diff ins", (one) => [one.querySelector("pre").textContent.split("\n"), one.querySelector("details:not([open]) pre").checkVisibility()]);
    assert.ok(lines.length === 10 && /^ +"/.test(lines[1]) && !hidden, lines.join("\n"));
    await shows(page, ".diff summary", "more lines");
    await page.close();
  },

  async "a Flow is drawn with links to its agents, and the command to run it; large ones are bounded"() {
    for (const id of ["urn:example:one", "urn:example:two"]) await call("PUT", `/things/${id}`, agent(id, `Agent ${id.slice(-3)}`));
    const looping = flow("looping", ["urn:example:one#go", "urn:example:two#go", "urn:example:nobody#go"]);
    looping.control_flow_connections.push({ component_type: "ControlFlowEdge", id: "back", name: "back", from_node: { $component_ref: "step1" }, to_node: { $component_ref: "step0" }, from_branch: "again" });
    await call("POST", "/import/agent-spec?id=urn:example:flow&profile=sdk", looping, "application/json");
    const page = await open(`${url}/#/agent/urn%3Aexample%3Aflow`);
    await page.waitForSelector("svg.graph a");
    assert.deepEqual(await page.$$eval("svg.graph a", (all) => all.map((one) => one.getAttribute("href"))), ["#/agent/urn%3Aexample%3Aone", "#/agent/urn%3Aexample%3Atwo"]);
    assert.equal((await page.$$("svg.graph .edge")).length, 5);
    assert.equal((await page.$$("svg.graph .node")).length, 5);
    await shows(page, "svg.graph .label", "again");
    await shows(page, ".code pre", "agentdex run urn:example:flow --input");
    await shows(page, ".code pre", '{"city":"Tokyo"}');
    await page.evaluate(() => document.querySelector("svg.graph a").focus());
    await page.keyboard.press("Enter");
    await shows(page, "h1", "Agent one");
    await call("POST", "/import/agent-spec?id=urn:example:long", flow("long", Array.from({ length: 400 }, (_, at) => `urn:example:agent${at}#go`)), "application/json");
    await page.goto(`${url}/#/agent/urn%3Aexample%3Along`);
    await page.waitForSelector("svg.graph .node");
    assert.ok((await page.$$("svg.graph .node")).length <= 60);
    await shows(page, "section", "342 steps more");
    await page.close();
  },

  async "steps are in layers, and their ways run around the others"() {
    const ways = (...all) => all.map((one) => one.split(" ")).map(([from, to, branch]) => [from, to, branch].map((word) => word?.replace(/^(\d+)$/, "step$1")));
    const flows = {
      chain: [3, ways("start 0", "0 1", "1 2", "2 end")],
      join: [4, ways("start 0", "0 1 approved", "0 2 rejected", "0 3 default", "1 3", "2 3", "3 end")],
      loop: [3, ways("start 0", "0 1", "1 0 again", "1 1 once-more", "1 2 on", "2 0 from-the-beginning", "2 end")],
      skip: [5, ways("start 0", "0 1", "0 3 at-once", "1 2", "1 4 aside", "2 3", "3 4", "4 end")],
      twelve: [10, ways("start 0", "0 1 left", "0 2 right", "1 3", "2 4", "3 5", "4 5", "5 6 yes", "5 7 no", "6 8", "7 8", "8 9", "0 9 nothing", "9 5 again", "9 end done", "1 end failed")],
      wide: [13, ways("start 0", ...Array.from({ length: 12 }, (_, at) => [`0 ${at + 1} way-${at}`, `${at + 1} end`]).flat())],
    };
    const page = await open(url);
    for (const [name, [steps, edges]] of Object.entries(flows)) {
      const id = `urn:example:drawn:${name}`;
      await call("POST", `/import/agent-spec?profile=sdk&id=${id}`, flow(name, Array.from({ length: steps }, (_, at) => `urn:example:none#go${at}`), edges), "application/json");
      await page.goto(`${url}/#/agent/${encodeURIComponent(id)}`);
      await page.waitForSelector("svg.graph .node");
      for (const width of [360, 1280]) {
        await page.setViewport({ width, height: 800 });
        const seen = await page.evaluate((edges) => {
          const boxes = new Map([...document.querySelectorAll("svg.graph .node")].map((node) => {
            const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(node.querySelector("rect").getAttribute(name)));
            return [node.querySelector("text").textContent.replace("step ", "step"), { x, y, width, height }];
          }));
          const inside = ({ x, y, width, height }, at) => at.x > x + 1 && at.x < x + width - 1 && at.y > y + 1 && at.y < y + height - 1;
          const wrong = [];
          const paths = [...document.querySelectorAll("svg.graph .edge")];
          paths.forEach((path, index) => {
            const points = Array.from({ length: 200 }, (_, at) => path.getPointAtLength((at * path.getTotalLength()) / 199));
            for (const [box, area] of boxes) if (points.some((point) => inside(area, point))) wrong.push(`way ${edges[index]} runs through ${box}`);
            const [from, to] = edges[index].map((name) => boxes.get(name));
            if (points[0].y !== from.y + from.height || Math.abs(points.at(-1).y - to.y) > 2) wrong.push(`way ${edges[index]} isn't from bottom to top`);
          });
          const labels = [...document.querySelectorAll("svg.graph .way")].map((one) => [one.textContent, one.getBBox()]);
          const apart = (a, b) => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
          labels.forEach(([name, box], at) => {
            for (const [other, area] of boxes) if (!apart(box, area)) wrong.push(`label ${name} is over ${other}`);
            for (const [other, area] of labels.slice(at + 1)) if (!apart(box, area)) wrong.push(`label ${name} is over label ${other}`);
            const own = paths[edges.findIndex((edge) => edge[2] === name)];
            const near = Array.from({ length: 200 }, (_, at) => own.getPointAtLength((at * own.getTotalLength()) / 199)).some(({ x, y }) => Math.abs(box.x - x) < 12 && y > box.y - 12 && y < box.y + box.height + 12);
            if (!near) wrong.push(`label ${name} is far from its way`);
          });
          const svg = document.querySelector("svg.graph");
          if (Math.abs(svg.getBoundingClientRect().width - svg.viewBox.baseVal.width) > 1) wrong.push("it is not as large as it is");
          if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page is wider than its window");
          const [start, view] = [document.querySelector("svg.graph .node rect"), svg.parentElement].map((one) => one.getBoundingClientRect());
          if (start.right < view.left || start.left > view.right) wrong.push("the start is out of sight");
          return { wrong, tops: Object.fromEntries([...boxes].map(([name, { y }]) => [name, y])), label: svg.parentElement.getAttribute("aria-label"), tab: svg.parentElement.tabIndex };
        }, edges);
        assert.deepEqual(seen.wrong, [], `${name} at ${width}`);
        assert.ok(seen.label && seen.tab === 0);
        // What several ways lead to is below all that lead there.
        const back = new Set({ loop: ["1 0", "1 1", "2 0"], twelve: ["9 5"] }[name]?.map((one) => one.replace(/\d/g, "step$&")));
        for (const [from, to] of edges) if (!back.has(`${from} ${to}`)) assert.ok(seen.tops[from] < seen.tops[to], `${name}: ${to} is not below ${from}`);
        if (shots) {
          for (const scheme of ["light", "dark"]) {
            await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
            await page.screenshot({ path: `${shots}/flow-${name}-${scheme}-${width}.png`, fullPage: true });
          }
        }
      }
    }
    await page.close();
  },

  async "only namespaces of whoever looks can be chosen, and history has changes of access"() {
    const id = "urn:example:shared";
    await send(keys.register, "PUT", `/things/${id}`, agent(id, "Shared"), "application/td+json");
    const page = await open("about:blank");
    await page.evaluateOnNewDocument((key) => sessionStorage.setItem("agentdex-key", key), keys.register);
    await page.goto(`${keys.locked}/#/agent/${encodeURIComponent(id)}?open=history`);
    await page.waitForSelector("#sight");
    assert.deepEqual(await all(page, "#sight option"), ["everyone who can read", "its owner"]);
    await send(keys.register, "PUT", "/namespaces/weather", { members: [] });
    await page.reload();
    await page.waitForSelector("#sight");
    assert.deepEqual(await all(page, "#sight option"), ["everyone who can read", "the members of weather", "its owner"]);
    await page.select("#sight", "namespace weather");
    await shows(page, ".operations", "It is now visible to the members of weather.");
    // Its description is the same.
    await page.waitForNetworkIdle({ idleTime: 700, concurrency: 2 });
    assert.ok(await page.$(".stale[hidden]"));
    await page.reload();
    await shows(page, ".history li", "the members of weather");
    await shows(page, ".history li .diff del", "everyone who can read");
    await page.close();
  },
});
