// Changes as they happen: by kind, held still, with what was and is; and the state of the registry in plain words.

const rows = (page) => all(page, ".changes .change .what > a, .changes .change .what > .t:first-child");

await run({
  async "changes by kind, and what was and is"() {
    await call("PUT", "/things/urn:example:calm", agent("urn:example:calm", "Calm"));
    const page = await open(`${url}/#/live`);
    await shows(page, ".changes", "Calm");
    await call("PATCH", "/things/urn:example:calm", { description: "Calmer than before." }, "application/merge-patch+json");
    await page.waitForSelector(".changes .thing_updated");
    await page.evaluate(() => document.querySelector(".changes .thing_updated summary").click());
    await shows(page, ".changes .diff del", "An agent for tests");
    await shows(page, ".changes .diff ins", "Calmer than before.");
    // What is open stays open when more comes.
    await call("PUT", "/things/urn:example:next", agent("urn:example:next", "Next"));
    await shows(page, ".changes", "Next");
    assert.equal(await page.$eval(".changes .thing_updated details", (one) => one.open), true);
    await page.evaluate(() => [...document.querySelectorAll(".kinds label")].find((one) => one.textContent === "created").querySelector("input").click());
    await until(page, () => !document.querySelector(".changes .thing_created") && document.querySelector(".changes .thing_updated"));
    // One that changes all the time takes no room from the others.
    for (let at = 0; at < 130; at += 1) await call("PATCH", "/things/urn:example:next", { description: `Changed ${at}` }, "application/merge-patch+json");
    await shows(page, ".changes .thing_updated", "130 times");
    assert.equal((await page.$$(".changes .thing_updated")).length, 2, "it has more than one place");
    // Whoever opens the view then sees the others too.
    const later = await open(`${url}/#/live`);
    await shows(later, ".changes .thing_updated", "times");
    await shows(later, ".changes", "Weather agent");
    await later.close();
    await page.evaluate(() => [...document.querySelectorAll(".kinds label")].find((one) => one.textContent === "created").querySelector("input").click());
    await page.waitForSelector(".changes .thing_created");
    await page.close();
  },

  async "a saved search that there isn't"() {
    const page = await open(`${url}/#/live?query=nosuch`);
    await shows(page, ".changes .note", "nosuch");
    await shows(page, "main [role=status]", "stopped");
    await page.close();
  },

  async "a pause"() {
    const page = await open(`${url}/#/live`);
    await page.waitForSelector(".changes .change");
    await shows(page, "main [role=status]", "live ·");
    const press = (name) => page.evaluate((name) => [...document.querySelectorAll("main button")].find((one) => one.textContent.startsWith(name)).click(), name);
    await press("Pause");
    await shows(page, "main [role=status]", "paused");
    await call("PUT", "/things/urn:example:paused", agent("urn:example:paused", "Came in the pause"));
    await shows(page, "main button", "Resume (1 new)");
    assert.ok(!(await text_of(page, ".changes")).includes("Came in the pause"));
    await press("Resume");
    await shows(page, ".changes", "Came in the pause");
    await page.close();
  },

  async "the state of the registry, and its agents by kind"() {
    const page = await open(`${url}/#/status`);
    await shows(page, "main", "Everything works");
    await shows(page, "main", "Agents by");
    await shows(page, "main h3", "Protocol");
    await shows(page, "main", "Came in the pause");
    await page.evaluate(() => document.querySelector("view-status .abilities a").click());
    await page.waitForSelector(".chip");
    assert.deepEqual(await all(page, "nav[aria-label=Views] a").then((names) => names.filter((name) => ["Guardian", "Chains", "Registry", "Live"].includes(name))), []);
    await page.close();
  },
});
