// What admins do on the page: keys, namespaces, the audit trail, backups. And staying signed in on a device.

const as = (key, path) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);
const enter = async (page, key, stays) => {
  await page.waitForSelector("dialog[open] #key");
  if (stays) await page.click("#stay");
  await page.$eval("#key", (input) => (input.value = ""));
  await page.type("#key", key);
  await page.keyboard.press("Enter");
};
const kept = (page) => page.evaluate(() => [Object.keys(sessionStorage).length, Object.keys(localStorage).length]);
const press = (page, name) => page.evaluate((name) => [...document.querySelectorAll("main button")].find((one) => one.textContent === name || one.getAttribute("aria-label") === name).click(), name);
const link = (page) => page.$eval("[data-admin]", (one) => !one.hidden);

await run({
  async "who isn't an admin finds no administration"() {
    const page = await open(`${url}/`);
    await enter(page, keys.register);
    await shows(page, ".who", "weather-team");
    assert.equal(await link(page), false);
    await page.goto(`${url}/#/admin`);
    await shows(page, "main", "These settings require the role admin.");
    assert.equal((await page.$$("main input, main select, main section")).length, 0, "forms that can't be used");
    await click(page, ".who button");
    await shows(page, "main .note", "You are signed out.");
    assert.ok(await page.$("main .note button"));
    await page.evaluate(() => (location.hash = "#/guardian"));
    await shows(page, ".steps .note button", "Sign in");
    await page.close();
  },

  async "a key that is no longer valid is told, at once and after a reload"() {
    const made = await (await fetch(`${url}/keys`, { method: "POST", headers: { authorization: `Bearer ${keys.admin}`, "content-type": "application/json" }, body: JSON.stringify({ owner: "passing", role: "register" }) })).json();
    const page = await open(`${url}/#/live`);
    await enter(page, made.key);
    await shows(page, ".who", "passing");
    await shows(page, "[data-pulse]", "live");
    assert.ok((await fetch(`${url}/keys/${made.id}`, { method: "DELETE", headers: { authorization: `Bearer ${keys.admin}` } })).ok);
    await shows(page, ".who", "You were signed out");
    await shows(page, ".who button", "Sign in");
    assert.ok(!(await text_of(page, ".who")).includes("Sign out"));
    await page.goto(`${url}/#/?q=x`);
    await shows(page, ".summary .note", "You are signed out.");
    const again = await open("about:blank");
    await again.evaluateOnNewDocument((key) => sessionStorage.getItem("began") ?? (sessionStorage.setItem("agentdex-key", key), sessionStorage.setItem("began", "1")), made.key);
    await again.goto(`${url}/#/live`);
    await shows(again, ".who", "You were signed out");
    // Depending on which request is answered first, the list names the key or its consequence.
    await until(again, () => /signed out|the API key is not valid/.test(document.querySelector(".changes")?.textContent));
    await again.close();
    await page.close();
  },

  async "keys are created, shown once, and revoked"() {
    const page = await open(`${url}/#/admin`);
    await enter(page, keys.admin);
    await shows(page, "tbody", "weather-team");
    assert.equal(await link(page), true);
    await page.type("#key-owner", "new-team");
    await page.select("#key-role", "register");
    await page.type("#key-days", "30");
    await page.keyboard.press("Enter");
    await shows(page, ".note.good", "adx_");
    const made = await text_of(page, ".note.good pre");
    assert.equal(await as(made, "/things"), 200);
    await shows(page, "tbody", "new-team");
    await page.reload();
    await shows(page, "tbody", "new-team");
    assert.ok(!(await page.content()).includes(made), "it is shown again");
    await page.focus(`[aria-label="Revoke the key ${made.split("_")[1]} of new-team"]`);
    await page.keyboard.press("Enter");
    await click(page, "dialog[open] button.danger");
    await until(page, () => ![...document.querySelectorAll("tbody")].some((one) => one.textContent.includes("new-team") && one.textContent.includes("Revoke…")));
    assert.equal(await as(made, "/things"), 401);
    assert.notEqual(await page.evaluate(() => document.activeElement.localName), "body", "the focus is lost");
    await page.reload();
    await shows(page, "section:nth-of-type(3) tbody", "Created a key");
    await shows(page, "section:nth-of-type(3) tbody", "Revoked a key");
    await page.type("#key-owner", "two words");
    await press(page, "Create a key");
    await shows(page, "main .note.bad", "is not an owner");
    assert.ok(!/invalid query|line 1/.test(await text_of(page, "main .note.bad")));
    await page.close();
  },

  async "namespaces, the audit trail page by page, and a backup"() {
    const page = await open(`${url}/#/admin`);
    await enter(page, keys.admin);
    await page.waitForSelector("#namespace-name");
    await page.type("#namespace-name", "weather");
    await page.type("#namespace-members", "others, weather-team");
    await page.keyboard.press("Enter");
    await shows(page, "tbody", "others, weather-team");
    await press(page, "Give up the namespace weather");
    await click(page, "dialog[open] button.danger");
    await shows(page, "section", "There are none.");
    for (let at = 0; at < 60; at += 1) {
      const id = `urn:example:audited${at}`;
      assert.ok((await fetch(`${url}/things/${id}`, { method: "PUT", headers: { authorization: `Bearer ${keys.register}`, "content-type": "application/td+json" }, body: JSON.stringify(agent(id, `Audited ${at}`)) })).ok);
    }
    await page.reload();
    await shows(page, "tbody", "urn:example:audited59");
    const first = (await all(page, "section:nth-of-type(3) tbody tr")).length;
    assert.ok(first === 50, String(first));
    assert.deepEqual(await all(page, "thead th:last-child").then((names) => names.filter((name) => !name)), [], "a column without a name");
    await page.setViewport({ width: 360, height: 740 });
    const tables = await page.$$eval(".scroll", (tables) => tables.map((one) => [one.ariaLabel, one.scrollWidth > one.clientWidth]));
    assert.deepEqual(tables, [["API keys", false], ["Audit trail", false]], "a table scrolls sideways");
    const unnamed = await page.$$eval("tbody td", (cells) => cells.filter((one) => one.textContent && !one.dataset.name && !one.querySelector("button")).length);
    assert.equal(unnamed, 0, "cells without the name of their column");
    await page.setViewport({ width: 1280, height: 900 });
    await press(page, "Older");
    await shows(page, "tbody", "urn:example:audited0");
    assert.ok(await page.evaluate(() => [...document.querySelectorAll("button")].some((one) => one.textContent === "Newer" && !one.disabled)));
    await press(page, "Download a backup");
    await shows(page, "section", ".backup, ");
    const [, bytes] = /backup, ([\d,]+) bytes/.exec(await text_of(page, "main"));
    assert.ok(Number(bytes.replaceAll(",", "")) > 1000);
    await page.close();
  },

  async "staying signed in is a choice: of all tabs, until somebody signs out in one"() {
    const page = await open(`${url}/`);
    await page.waitForSelector("dialog[open] #stay");
    assert.equal(await page.$eval("#stay", (one) => one.checked), false);
    await enter(page, keys.register);
    await shows(page, ".who", "weather-team");
    assert.deepEqual(await kept(page), [1, 0], "it is kept though nobody chose it");
    const other = await open(`${url}/#/status`);
    await shows(other, ".who", "Sign in");
    await shows(other, "[data-pulse]", "signed out");
    await enter(other, keys.register, true);
    await shows(other, ".who", "weather-team");
    assert.deepEqual((await kept(other))[1], 1);
    const third = await open(`${url}/#/status`);
    await shows(third, ".who", "weather-team");
    await shows(third, "main", "Agents and other Things");
    await third.evaluate(() => [...document.querySelectorAll(".who button")].find((one) => one.textContent === "Sign out").click());
    await shows(third, ".who", "Sign in");
    await shows(other, ".who", "Sign in");
    assert.deepEqual(await kept(third), [0, 0]);
    assert.deepEqual((await kept(other))[1], 0);
    for (const one of [page, other, third]) await one.close();
  },

  async "admins stay signed in only where the operator allows it; a key that is no longer valid isn't kept"() {
    const page = await open(`${url}/`);
    await shows(page, "#stay-help", "With the role admin");
    await enter(page, keys.admin, true);
    await shows(page, ".who", "ops");
    assert.deepEqual(await kept(page), [1, 0]);
    await page.close();
    const allowed = await open(`${keys.allowing}/`);
    await allowed.waitForSelector("dialog[open] #stay-help");
    assert.ok(!(await text_of(allowed, "#stay-help")).includes("With the role admin"));
    await enter(allowed, keys.allowed, true);
    await shows(allowed, ".who", "ops");
    assert.deepEqual(await kept(allowed), [0, 1]);
    await allowed.evaluate(() => localStorage.setItem(Object.keys(localStorage)[0], "adx_000000000000_wrong"));
    await allowed.reload();
    await shows(allowed, ".who", "Sign in");
    assert.deepEqual(await kept(allowed), [0, 0]);
    await allowed.close();
  },
});
