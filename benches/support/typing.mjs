// From each key that is pressed in the page to the list that answers it, pauses included. Follows tests/page/browser.mjs.

const TYPED = ["book a table for two tonight", "weather in hamburg", "translate a contract into spanish"];
const BETWEEN_KEYS = 150;

const page = await open(`${url}/`);
await until(page, () => /\d agents/.test(document.querySelector(".summary")?.textContent));
await page.evaluate(() => {
  window.times = { asked: [], answered: [], listed: [], painted: [] };
  let [pressed, value] = [0, ""];
  addEventListener("keydown", (event) => (pressed = event.timeStamp), true);
  document.querySelector("#q").addEventListener("input", ({ target }) => (value = target.value));
  new MutationObserver(() => {
    const { value: now } = document.querySelector("#q");
    if (!pressed || now !== value || !now.trim()) return;
    const [started, listed] = [pressed, performance.now()];
    pressed = 0;
    const asked = performance.getEntriesByType("resource").filter(({ name, startTime }) => name.includes("typing=true") && startTime >= started).at(-1);
    if (asked) times.asked.push(asked.startTime - started);
    if (asked) times.answered.push(asked.responseEnd - asked.startTime);
    times.listed.push(listed - started);
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => times.painted.push(performance.now() - started);
      channel.port2.postMessage("");
    });
  }).observe(document.querySelector(".summary"), { childList: true });
  performance.setResourceTimingBufferSize(10_000);
});
for (const typed of TYPED) {
  await page.$eval("#q", (input) => (input.value = ""));
  await page.focus("#q");
  for (const letter of typed) {
    await page.keyboard.type(letter);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_KEYS));
  }
}
const times = await page.evaluate(() => times);
await browser.close();
assert.deepEqual(errors, [], "errors in the browser");
const figures = Object.entries(times).map(([name, all]) => {
  all.sort((a, b) => a - b);
  const at = (percent) => all[Math.floor((all.length * percent) / 100)].toFixed(1);
  return `${name} ${at(50)} / ${at(90)}`;
});
console.log(`${times.listed.length} keys: ${figures.join(", ")}`);
