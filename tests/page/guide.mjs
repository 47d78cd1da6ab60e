// The documentation, and the page of the REST API: reached from the page, for those who can't see it well, and by the keyboard.

const guide = `${url}/docs/guide/`;

async function check(page, name, wrong) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, help, nodes } of violations) wrong.push(`${name}: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
}

await run({
  async "every page of the documentation, in one theme or the other, narrow and wide"() {
    const page = await open(guide);
    const paths = await page.$$eval("#contents a", (all) => all.map((one) => one.href));
    assert.ok(paths.length > 35, paths);
    const wrong = [];
    for (const [at, path] of paths.entries()) {
      // All pages have the same style.
      for (const scheme of at < 4 ? ["light", "dark"] : [["light", "dark"][at % 2]]) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await page.setViewport({ width: scheme === "light" ? 1280 : 360, height: 900 });
        await page.goto(path);
        await check(page, `${path}, ${scheme}`, wrong);
        if (shots) await page.screenshot({ path: `${shots}/guide-${new URL(path).pathname.replace(/\W+/g, "-")}-${scheme}.png` });
        const pictures = await page.$$eval("article img", (all) => all.map((one) => [one.currentSrc, one.naturalWidth]));
        for (const [source, width] of pictures) if (!width || !source.includes(scheme)) wrong.push(`${path}, ${scheme}: ${source}`);
      }
      await page.setViewport({ width: 360, height: 900 });
      const [content, window_] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      if (content > window_) wrong.push(`${path}: ${content} pixels in a window of ${window_}`);
    }
    assert.deepEqual(wrong, []);
    await page.close();
  },

  async "the keyboard goes from the page to the documentation, and on to the next chapter"() {
    const page = await open(`${url}/`);
    await page.waitForSelector(".hit, .intro");
    await page.focus(".foot a");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".guide");
    assert.equal(page.url(), guide);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(new URL(page.url()).hash, "#main");
    await page.focus(".turn [rel=next]");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.pathname.endsWith("/tutorial"));
    assert.equal(await page.$eval("[aria-current=page]", (one) => one.textContent), "Tutorial");
    await page.goto(`${guide}guide/search`);
    await page.click(".brand");
    await page.waitForSelector(".box input");
    await page.close();
  },

  async "the page of the REST API, with requests tried"() {
    const page = await open(`${url}/docs/`);
    const wrong = [];
    await page.waitForSelector(".opblock");
    await until(page, () => !document.querySelector(".opblock-summary-control a[href]"));
    const operation = async (id) => {
      await page.click(`#operations-${id} .opblock-summary-control`);
      await page.waitForSelector(`#operations-${id} .try-out__btn`);
      await page.click(`#operations-${id} .try-out__btn`);
      await page.waitForSelector(`#operations-${id} .execute`);
    };
    await operation("things-list_things");
    assert.match(page.url(), /#\/things\/list_things$/);
    await operation("things-create_thing");
    await operation("about-home_page");
    await page.click("#operations-about-home_page .execute");
    await page.waitForSelector("#operations-about-home_page .live-responses-table");
    await until(page, () => document.querySelectorAll("pre.microlight:not([tabindex])").length === 0);
    await page.click(".btn.authorize");
    await page.waitForSelector(".close-modal[aria-label]");
    // Once, with all of it: this takes seconds for so large a page.
    await check(page, "the API", wrong);
    assert.deepEqual(wrong, []);
    await page.close();
  },
});
