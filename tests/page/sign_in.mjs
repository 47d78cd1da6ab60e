// What the page shows to whom, where the registry asks for a key.

await run({
  async "a key that isn't valid, one that may read, one that may register, and none"() {
    const page = await open(`${url}/`);
    await page.waitForSelector("dialog[open] #key");
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.map(({ id }) => id), []);
    const enter = async (key) => {
      await page.$eval("#key", (input) => (input.value = ""));
      await page.type("#key", key);
      await page.keyboard.press("Enter");
    };
    await enter("adx_000000000000_wrong");
    await shows(page, "dialog", "This key is not valid");
    assert.equal((await page.$$("dialog [role=alert]")).length, 1, "it is said twice");
    await enter(keys.register);
    await shows(page, ".who", "weather-team");
    await shows(page, ".summary strong", "The registry is empty");
    assert.ok(!(await text_of(page, ".summary")).includes("No agent matches"));
    await page.goto(`${url}/#/add`);
    await page.waitForSelector("#document");
    await page.evaluate(() => [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Start from an example").click());
    await click(page, "button.primary:not(:disabled)");
    await page.waitForSelector(".outcome .good a");
    // Changes come as they happen, by a stream that is opened with the key.
    await page.goto(`${url}/#/live`);
    await shows(page, ".change", "created");
    await fetch(`${url}/things/urn:example:agents:other`, { method: "PUT", headers: { authorization: `Bearer ${keys.register}`, "content-type": "application/td+json" }, body: JSON.stringify(agent("urn:example:agents:other", "Other")) });
    await shows(page, ".change", "Other");
    const address = `${url}/#/agent/urn%3Aexample%3Aagents%3Agreeter`;
    await page.goto(address);
    await shows(page, ".operations", "Remove…");
    await shows(page, ".operations", "Registered by weather-team");
    await page.select("#sight", "private");
    await shows(page, ".operations", "It is now visible to its owner.");
    const as = (key) => fetch(`${url}/things/urn:example:agents:greeter`, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);
    assert.deepEqual([await as(keys.register), await as(keys.read)], [200, 404]);
    await page.select("#sight", "public");
    while ((await as(keys.read)) !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
    // A tab that is closed takes the key with it; who signs out sees nothing any more.
    await click(page, ".who button");
    await shows(page, "main", "You are signed out.");
    await shows(page, "[data-pulse]", "signed out");
    assert.equal(await page.evaluate(() => Object.values(sessionStorage).length), 0);
    await click(page, ".who button");
    await enter(keys.read);
    await shows(page, ".who", "readers");
    await shows(page, "h1", "Greeter");
    await page.waitForNetworkIdle({ idleTime: 300, concurrency: 1 });
    assert.deepEqual(await all(page, ".operations > .bar > *"), []);
    await page.close();
  },
});
