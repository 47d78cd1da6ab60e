// Adding an agent: by five fields beside the editor, and from an example of each format.

const document_of = (page) => page.$eval("#document", (area) => area.value);
const report = (page) => page.$eval(".report", (one) => one.textContent);

await run({
  async "five fields make a description, beside the editor, by the keyboard alone"() {
    const page = await open(`${url}/#/add`);
    await page.waitForSelector("#agent-name");
    await page.focus("#agent-name");
    const type = async (text) => {
      await page.keyboard.type(text);
      await page.keyboard.press("Tab");
    };
    await type("Rain watch");
    await type("Says when it rains.");
    await type("Forecast: says what the weather will be\nAlarm");
    await type("https://rain.example/ask");
    assert.equal(await page.evaluate(() => document.activeElement.id), "agent-credentials");
    await page.select("#agent-credentials", "bearer");
    await shows(page, ".outcome", "Creates Rain watch");
    assert.equal((await all(page, ".findings li")).length, 0, await report(page));
    const td = JSON.parse(await document_of(page));
    assert.deepEqual([td.title, td.description, td["lmos:capabilities"].map(({ name }) => name), td.actions.ask.forms[0].href, td.security], ["Rain watch", "Says when it rains.", ["Forecast", "Alarm"], "https://rain.example/ask", "bearer"]);
    // What is written in the editor is kept, and the fields follow it.
    await page.$eval("#document", (area, text) => {
      area.value = text;
      area.dispatchEvent(new Event("input"));
    }, JSON.stringify({ ...td, title: "Rain", support: "https://rain.example/help", number: 1.0 }).replace('"number":1', '"number":1.0'));
    assert.equal(await page.$eval("#agent-name", (input) => input.value), "Rain");
    await page.focus("#agent-description");
    await page.$eval("#agent-description", (area) => (area.value = ""));
    await page.type("#agent-description", "Rain.");
    const edited = await document_of(page);
    assert.ok(edited.includes('"number": 1.0') && edited.includes("rain.example/help") && JSON.parse(edited).description === "Rain.", edited);
    // Of another format the fields know nothing.
    await page.$eval("#document", (area) => {
      area.value = "name: Rhymer\nversion: 1.0.0\n";
      area.dispatchEvent(new Event("input"));
    });
    assert.ok(await page.$eval(".details", (one) => one.disabled));
    await page.$eval("#document", (area, text) => {
      area.value = text;
      area.dispatchEvent(new Event("input"));
    }, edited);
    await click(page, "button.primary:not(:disabled)");
    await shows(page, ".outcome", "Created Rain");
    const [found] = (await (await call("GET", "/search?q=title:Rain&consistent=true")).json()).hits;
    const stored = await (await call("GET", `/things/${encodeURIComponent(found.id)}`)).json();
    assert.deepEqual([stored.description, stored.securityDefinitions.bearer.scheme, stored.support], ["Rain.", "bearer", "https://rain.example/help"]);
    // Editing has the same fields.
    await page.goto(`${url}/#/add?edit=${encodeURIComponent(found.id)}`);
    await until(page, () => !document.querySelector("view-add")?.inert && document.querySelector("#agent-address")?.value === "https://rain.example/ask");
    await page.focus("#agent-address");
    await page.$eval("#agent-address", (input) => (input.value = ""));
    await page.type("#agent-address", "https://rain.example/v2");
    await click(page, "main button.primary:not(:disabled)");
    await shows(page, ".outcome", "Saved");
    assert.equal((await (await call("GET", `/things/${encodeURIComponent(found.id)}`)).json()).actions.ask.forms[0].href, "https://rain.example/v2");
    await page.close();
  },

  async "the focus stays where one works, and a name that is missing is missed"() {
    const page = await open(`${url}/#/add`, { width: 360, height: 740 });
    await page.waitForSelector("#agent-name");
    const focus = () => page.evaluate(() => document.activeElement.className || document.activeElement.id || document.activeElement.localName);
    await page.type("#agent-name", "Focused");
    await page.type("#agent-description", "Stays.");
    await page.waitForSelector("main button.primary:not(:disabled)");
    await page.focus("main button.primary");
    await page.keyboard.press("Enter");
    await shows(page, ".outcome", "Created Focused");
    await until(page, () => document.activeElement.matches(".outcome"));
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.matches(".outcome a")), await focus());
    await page.keyboard.press("Enter");
    await shows(page, "h1", "Focused");
    const id = await page.evaluate(() => decodeURIComponent(location.hash.slice("#/agent/".length)));
    await page.evaluate((id) => (location.hash = `#/add?edit=${encodeURIComponent(id)}`), id);
    await until(page, () => document.querySelector("#agent-description")?.value === "Stays." && !document.querySelector("view-add").inert);
    await page.type("#agent-description", " Here.");
    await page.waitForSelector("main button.primary:not(:disabled)");
    await page.focus("main button.primary");
    await page.keyboard.press("Enter");
    await shows(page, ".outcome", "Saved");
    await until(page, () => document.activeElement.matches(".outcome"));
    await call("DELETE", `/things/${encodeURIComponent(id)}`);
    await page.evaluate(() => (location.hash = "#/add"));
    await until(page, () => document.querySelector("h1")?.textContent === "Add an agent" && document.querySelector("#agent-name").value === "");
    // With an empty editor the button isn't below it.
    const [button, height] = await page.evaluate(() => [document.querySelector("main button.primary").getBoundingClientRect().top + scrollY, document.querySelector(".editor").clientHeight]);
    assert.ok(height < 200, `the empty editor is ${height} high, and the button at ${button}`);
    // A long document doesn't push the button out of a narrow window, wherever its reader is.
    const long = agent("urn:example:long", "Long", { support: "https://example.org", "example:lines": Array.from({ length: 400 }, (_, at) => `line ${at}`) });
    for (const [width, height] of [[360, 740], [400, 800]]) {
      await page.setViewport({ width, height });
      await page.$eval("#document", (area, text) => {
        area.value = text;
        area.dispatchEvent(new Event("input"));
      }, JSON.stringify(long, null, 2));
      await page.waitForSelector("main button.primary:not(:disabled)");
      for (const place of ["#agent-name", "#document"]) {
        await page.$eval(place, (one) => one.scrollIntoView({ block: "start" }));
        const { top, bottom, covered } = await page.$eval("main button.primary", (one) => {
          const { top, bottom, left, width } = one.getBoundingClientRect();
          return { top, bottom, covered: document.elementFromPoint(left + width / 2, (top + bottom) / 2) !== one };
        });
        assert.ok(top >= 0 && bottom <= height && !covered, `at ${place} in ${width} pixels, the button is from ${top} to ${bottom}`);
      }
      // What has the focus isn't behind the button.
      await page.focus("#example");
      await page.evaluate(() => document.activeElement.scrollIntoView({ block: "end" }));
      const [under, over] = await page.evaluate(() => [document.activeElement.getBoundingClientRect().bottom, document.querySelector(".write").getBoundingClientRect().top]);
      assert.ok(under <= over, `the focus ends at ${under}, the bar begins at ${over}`);
    }
    await page.focus("main button.primary");
    await page.keyboard.press("Enter");
    await shows(page, ".outcome", "Created Long");
    await until(page, () => document.activeElement.matches(".outcome"));
    const outcome = await page.$eval(".outcome", (one) => one.getBoundingClientRect().top);
    assert.ok(outcome >= 0 && outcome < 800, `the outcome is at ${outcome}`);
    await call("DELETE", "/things/urn:example:long");
    await page.evaluate(() => [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Discard it")?.click());
    // A view that isn't shown yet is left out, and then the one before stays as it is.
    await page.evaluate(() => (location.hash = "#/"));
    await page.waitForSelector("view-find");
    await page.evaluate(() => (location.hash = "#/add"));
    await until(page, () => document.querySelector("#agent-name")?.value === "");
    await page.type("#agent-name", "X");
    await page.keyboard.press("Backspace");
    await shows(page, ".report", "title");
    await shows(page, ".report", "invalid");
    assert.ok(await page.$eval("main button.primary", (one) => one.disabled));
    await page.close();
  },

  async "every example is registered without a warning, and its agent has an action"() {
    const page = await open(`${url}/#/add`);
    await until(page, () => document.querySelectorAll("#example option").length > 0);
    const names = await page.$$eval("#example option", (all) => all.map((one) => one.value));
    assert.deepEqual([...names].sort(), ["a2a", "agent-spec", "mcp-server", "td"], "formats that say where an agent is called");
    for (const name of names) {
      await page.select("#example", name);
      await page.evaluate(() => [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Start from an example").click());
      await click(page, "main button.primary:not(:disabled)");
      await shows(page, ".outcome .good", "Created");
      await shows(page, ".outcome .good a", "");
      const id = await page.$eval(".outcome .good a", (one) => decodeURIComponent(one.hash.slice("#/agent/".length)));
      const stored = await (await call("GET", `/things/${encodeURIComponent(id)}`)).json();
      assert.ok(Object.keys(stored.actions ?? {}).length > 0, name);
      // An id of a component is a part of the Thing's: another URN in it would be percent-encoded.
      assert.doesNotMatch(id, /%/, name);
      const document = await document_of(page);
      const checked = await (await call("POST", "/convert", document, "application/json")).json();
      assert.deepEqual([checked.format, checked.valid, checked.warnings], [name, true, []], name);
      await call("DELETE", `/things/${encodeURIComponent(id)}`);
      await page.reload();
      await until(page, () => document.querySelectorAll("#example option").length > 0);
    }
    await page.close();
  },

  async "an agent whose document has no address gets one by Edit"() {
    const page = await open(`${url}/#/add`);
    const id = "urn:example:agents:greeter";
    const capabilities = [{ id: "greet", name: "greet", version: "1.0.0", description: "Greets somebody by name." }];
    const tools = [{ id: "greet", name: "Greet", description: "Greets somebody by name.", type: "function_call", arguments: [], outputs: [] }];
    for (const [format, document] of [
      ["lmos-capabilities", { id, description: "Says hello.", capabilities }],
      ["aos", { id, name: "Greeter", description: "Says hello.", version: "1.0.0", instructions: "", provider: { name: "Example", url: "https://greeter.example" }, tools }],
    ]) {
      await page.goto(`${url}/#/add`);
      await until(page, () => document.querySelectorAll("#example option").length > 0);
      await page.$eval("#document", (area, text) => {
        area.value = text;
        area.dispatchEvent(new Event("input"));
      }, JSON.stringify(document));
      await shows(page, ".report .hint", "fill in the address");
      await click(page, "main button.primary:not(:disabled)");
      await shows(page, ".outcome .good", "Created");
      await page.goto(`${url}/#/add?edit=${encodeURIComponent(id)}`);
      await until(page, () => !document.querySelector("view-add")?.inert && document.querySelector("#document")?.value.includes("greet"));
      await page.type("#agent-address", "https://greeter.example/ask");
      await click(page, "main button.primary:not(:disabled)");
      await shows(page, ".outcome", "Saved");
      const stored = await (await call("GET", `/things/${id}`)).json();
      assert.equal(stored.actions.ask.forms[0].href, "https://greeter.example/ask", format);
      const exported = await (await call("GET", `/things/${id}/${format}`)).json();
      assert.equal(exported.description, "Says hello.");
      await call("DELETE", `/things/${id}`);
    }
    await page.close();
  },
});
