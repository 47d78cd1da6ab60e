// Agents whose texts try to be more than texts.

const evil = "<img src=x onerror=\"window.executed='img'\"><script>window.executed='script'</script><svg onload=\"window.executed='svg'\">";
const odd = "a\u202eb\u2066c\u0007d\u009be\u{e0041}f\u3164g";
const link = "javascript:window.executed='link'";

await run({
  async "nothing that an agent says of itself is executed"() {
    const id = "urn:example:evil";
    const text = `${evil} forecast ${odd}`;
    const schema = { type: "object", title: text, description: text, properties: { [evil]: { type: "string", description: text, enum: [text], default: text }, "__proto__x": { type: "string" } }, required: [evil] };
    await call("PUT", `/things/${id}`, agent(id, text, {
      description: text,
      "lmos:capabilities": [{ id: evil, name: text, description: text, examples: [text] }],
      "schema:keywords": [text], "lmos:metadata": { "lmos:vendor": { "lmos:name": text, "lmos:url": link } },
      version: { instance: text }, support: link,
      securityDefinitions: { none: { scheme: "apikey", in: "header", name: "X-Key" } },
      links: [{ href: link, rel: evil, type: "text/html" }, { href: "data:text/html,%3Cscript%3Eparent.executed='data'%3C/script%3E", rel: "x" }],
      actions: { [evil]: { title: text, description: text, input: schema, output: schema, uriVariables: { x: { type: "string", description: text } }, forms: [{ href: "https://evil.example/$(touch%20x)/{x}?'", op: "invokeaction", "htv:headers": [{ "htv:fieldName": "X'; rm -rf /", "htv:fieldValue": text }] }, { href: "wss://evil.example/", op: "invokeaction" }] } },
      properties: { [evil]: { title: text, type: "string", forms: [{ href: "https://evil.example/p" }] } },
      events: { [evil]: { data: schema, forms: [{ href: "https://evil.example/e" }] } },
    }));
    await call("PATCH", `/things/${id}`, { description: `${text} again` }, "application/merge-patch+json");
    await call("PUT", "/queries/evil", { q: evil }, "application/json");
    const views = [`#/?q=forecast`, `#/?q=${encodeURIComponent(evil)}`, `#/?tag=${encodeURIComponent(evil)}`, `#/agent/${encodeURIComponent(id)}`, `#/agent/${encodeURIComponent(evil)}`, "#/live", `#/live?query=${encodeURIComponent("evil")}`, "#/queries", `#/chains?have=${encodeURIComponent(evil)}`, `#/add?edit=${encodeURIComponent(id)}`, `#/guardian?session=${encodeURIComponent(evil)}`, "#/status"];
    const page = await open(`${url}/`);
    for (const view of views) {
      await page.goto(`${url}/${view}`);
      await until(page, () => document.querySelector("main > *")?.textContent.length > 20 && !document.querySelector("[aria-busy]"));
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
      await until(page, () => !document.querySelector("[aria-busy]"));
      const found = await page.evaluate(() => ({
        executed: window.executed ?? null,
        elements: document.querySelectorAll("main script, main img, main iframe, main [onerror], main [onload], main object, main embed").length,
        links: [...document.links].map((one) => one.protocol).filter((protocol) => !["http:", "https:", "mailto:"].includes(protocol)),
        hidden: /[\u202a-\u202e\u2066-\u2069\u0007\u009b\u3164\u{e0041}]/u.test(document.body.innerText),
        title: /[\u202a-\u202e\u2066-\u2069\u0007\u009b\u3164\u{e0041}]/u.test(document.title),
      }));
      assert.deepEqual(found, { executed: null, elements: 0, links: [], hidden: false, title: false }, view);
    }
    await page.goto(`${url}/#/agent/${encodeURIComponent(id)}`);
    await shows(page, "h1", "‹U+202E›");
    await shows(page, "h1", "‹U+E0041›");
    await shows(page, "h1", "<script>");
    await page.evaluate(() => document.querySelectorAll("[data-part=call]").forEach((one) => (one.open = true)));
    await shows(page, ".affordance .code pre", "curl");
    const command = (await all(page, ".affordance .code pre")).find((text) => text.startsWith("curl"));
    assert.ok(command.includes(`'X'\\''; rm -rf /: `), command);
    assert.ok(!/[\u202e\u0007]/.test(command));
    await page.close();
  },

  async "inline scripts, and HTML from scripts, are refused"() {
    const page = await open(`${url}/`);
    const refused = await page.evaluate(() => {
      try {
        document.body.innerHTML = "<p>x</p>";
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    });
    assert.ok(refused, "HTML can be written");
    await page.evaluate(() => {
      const button = document.createElement("button");
      try {
        button.setAttribute("onclick", "window.executed = 'inline'");
      } catch {
        // Refused by Trusted Types already.
      }
      document.body.append(button);
      button.click();
    });
    assert.equal(await page.evaluate(() => window.executed), undefined);
    errors.splice(0);
    await page.close();
  },
});
