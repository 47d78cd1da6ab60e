// The documentation: reached from the page, for those who can't see it well, and by the keyboard.

const guide = `${url}/docs/guide/`;

async function check(page, name, wrong) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, help, nodes } of violations) wrong.push(`${name}: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
}

await run({
  async "every page of the documentation, in both themes, narrow and wide"() {
    const page = await open(guide);
    const paths = await page.$$eval("#contents a", (all) => all.map((one) => one.href));
    assert.ok(paths.length > 35, paths);
    const wrong = [];
    for (const path of paths) {
      for (const scheme of ["light", "dark"]) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await page.setViewport({ width: scheme === "light" ? 1280 : 360, height: 900 });
        await page.goto(path);
        await check(page, `${path}, ${scheme}`, wrong);
        if (shots) await page.screenshot({ path: `${shots}/guide-${new URL(path).pathname.replace(/\W+/g, "-")}-${scheme}.png` });
        const pictures = await page.$$eval("article img", (all) => all.map((one) => [one.currentSrc, one.naturalWidth]));
        for (const [source, width] of pictures) if (!width || !source.includes(scheme)) wrong.push(`${path}, ${scheme}: ${source}`);
      }
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
});
