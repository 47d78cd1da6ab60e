// A conversation with an agent, from its page, where the registry offers that.

await run({
  async "a question, one that it asks back, and its answer"() {
    await call("PUT", "/things/urn:example:deaf", agent("urn:example:deaf", "Deaf", { actions: { ask: { forms: [{ href: "https://192.0.2.1/ask" }] } } }));
    const page = await open(`${url}/#/agent/${encodeURIComponent(keys.talker)}`);
    await until(page, () => [...document.querySelectorAll("summary")].some(({ textContent }) => textContent === "Talk with it"));
    await page.evaluate(() => [...document.querySelectorAll("summary")].find(({ textContent }) => textContent === "Talk with it").click());
    await page.waitForSelector("#say");
    const say = async (text) => {
      await page.type("#say", text);
      await page.keyboard.press("Enter");
    };
    await say("Will it rain <b>today</b>?");
    await shows(page, "[role=log]", "Yes, take an umbrella.");
    await shows(page, "[role=log]", "Will it rain <b>today</b>?");
    assert.equal(await page.$eval("#say", ({ value }) => value), "");
    await say("which");
    await shows(page, "[role=log]", "Which city?");
    await say("Bonn");
    await shows(page, "[role=log]", "It is dry in Bonn.");
    assert.equal((await all(page, "[role=log] .said")).length, 6);
    await say("fail");
    await shows(page, "[role=alert]", "No station answers");
    // What failed is still there to be sent again.
    assert.equal(await page.$eval("#say", ({ value }) => value), "fail");
    for (const scheme of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].failureSummary}`), []);
    }
    await page.setViewport({ width: 320, height: 700 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.close();
  },

  async "an agent that can't be called"() {
    const page = await open(`${url}/#/agent/urn%3Aexample%3Adeaf`);
    await until(page, () => [...document.querySelectorAll("summary")].some(({ textContent }) => textContent === "Talk with it"));
    await page.evaluate(() => [...document.querySelectorAll("summary")].find(({ textContent }) => textContent === "Talk with it").click());
    await page.waitForSelector("#say");
    await page.type("#say", "Hello?");
    await page.keyboard.press("Enter");
    await shows(page, "[role=alert]", "192.0.2.1");
    // What wasn't sent is still there for who comes back.
    await page.evaluate(() => [...document.querySelectorAll("nav a")].find(({ textContent }) => textContent === "Find").click());
    await shows(page, ".summary", "agent");
    await page.goBack();
    await until(page, () => [...document.querySelectorAll("summary")].some(({ textContent }) => textContent === "Talk with it"));
    await page.evaluate(() => [...document.querySelectorAll("summary")].find(({ textContent }) => textContent === "Talk with it").click());
    await until(page, () => document.querySelector("#say")?.value === "Hello?");
    await page.close();
  },
});
