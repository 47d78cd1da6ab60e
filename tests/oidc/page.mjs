// What people do who sign in at an authorization server.

await run({
  async "sign in, come back, register, sign out"() {
    const page = await open(`${url}/#/live`);
    await page.waitForSelector("dialog[open] #key");
    const host = new URL(keys.issuer).host;
    const click = (text) => page.evaluate((wanted) => [...document.querySelectorAll("button")].find(({ textContent }) => textContent.includes(wanted)).click(), text);
    await click(`Sign in at ${host}`);
    await page.waitForSelector("input[name=login]");
    await page.type("input[name=login]", "anna");
    await page.type("input[name=password]", "any");
    await page.click("[type=submit]");
    await page.waitForFunction(() => document.body.textContent.includes("Continue"));
    await page.click("[type=submit]");
    await shows(page, ".who", "anna");
    await shows(page, ".who", "register");
    // Where people were before, without the code in the address.
    assert.equal(page.url(), `${url}/#/live`);
    assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), ["agentdex-key"]);
    const put = (title) => page.evaluate(async (body) => {
      const headers = { authorization: `Bearer ${sessionStorage.getItem("agentdex-key")}`, "content-type": "application/td+json" };
      return (await fetch("things/urn:example:agents:mine", { method: "PUT", headers, body })).status;
    }, JSON.stringify(agent("urn:example:agents:mine", title)));
    assert.equal(await put("Mine"), 201);
    await shows(page, ".change", "Mine");
    await click("Sign out");
    assert.equal(await page.evaluate(() => Object.values(sessionStorage).length), 0);
    await page.close();
  },

  async "an answer that this tab didn't ask for gives no token"() {
    const page = await open(`${url}/?state=other&code=stolen`);
    await shows(page, ".who", "not the answer to a sign-in of this tab");
    assert.equal(page.url(), `${url}/`);
    await page.close();
  },
});
