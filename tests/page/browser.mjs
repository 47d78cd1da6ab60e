// What all tests in the browser share: the browser, a page that tells of every error, and calls of the REST API.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const { url, mounted, site, shots, formats, ...keys } = JSON.parse(readFileSync(0, "utf8"));
const axe = readFileSync(createRequire(`${process.cwd()}/`).resolve("axe-core/axe.min.js"), "utf8");
const executablePath = process.env.AGENTDEX_CHROMIUM ?? "/usr/bin/chromium";
const browser = await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu", "--lang=en"], timeout: 180_000 });
const errors = [];
const refused = [];

async function open(address, size = { width: 1280, height: 900 }) {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => message.type() === "error" && !/Failed to load resource/.test(message.text()) && errors.push(`${page.url()}: ${message.text()}`));
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.stack ?? error}`));
  page.on("requestfailed", (request) => refused.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on("dialog", (dialog) => {
    errors.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.setViewport(size);
  await page.evaluateOnNewDocument(() => {
    window.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(address);
  return page;
}

/** Waits until a function of the page is true. */
const until = (page, condition, ...values) => page.waitForFunction(condition, { polling: 50 }, ...values);
/** Waits until an element has a text. */
const shows = (page, selector, text) => until(page, (selector, text) => [...document.querySelectorAll(selector)].some((one) => one.textContent.includes(text)), selector, text)
  .catch(async (error) => assert.fail(`${selector} never had ${JSON.stringify(text)} (${error.message}): ${await text_of(page, "main")}; refused: ${refused.join(" ")}`));
/** Clicks an element once it stands still; when the page draws it anew meanwhile, the new one. */
const click = (page, selector) => page.locator(selector).click().catch((error) => assert.fail(`${selector} can't be clicked: ${error.message}`));
const text_of = (page, selector) => page.$eval(selector, (element) => element.textContent);
const all = (page, selector) => page.$$eval(selector, (elements) => elements.map((element) => element.textContent));

async function call(method, path, body, type = "application/td+json") {
  const answer = await fetch(url + path, { method, body: typeof body === "object" ? JSON.stringify(body) : body, headers: body === undefined ? {} : { "content-type": type } });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer;
}

const agent = (id, title, more = {}) => ({
  "@context": ["https://www.w3.org/2022/wot/td/v1.1", { lmos: "https://eclipse.dev/lmos/protocol/v1" }],
  "@type": "lmos:Agent", id, title, description: "An agent for tests",
  "lmos:capabilities": [{ id: "testing", name: "Testing", description: "Tests what there is" }],
  securityDefinitions: { none: { scheme: "nosec" } }, security: "none", ...more,
});

/** A Flow of Open Agent Spec that calls tools, named by agents and their actions, one after the other, or by ways between its nodes. */
function flow(name, tools, ways) {
  const refer = (id) => ({ $component_ref: id });
  const ids = ["start", ...tools.map((_, at) => `step${at}`), "end"];
  const edge = ([from, to, branch], at) => ({ component_type: "ControlFlowEdge", id: `c${at}`, name: `c${at}`, from_node: refer(from), to_node: refer(to), ...(branch ? { from_branch: branch } : {}) });
  const city = [{ title: "city", type: "string", description: "A city, such as Tokyo" }];
  const nodes = tools.map((id, at) => [`step${at}`, { component_type: "ToolNode", id: `step${at}`, name: `step ${at}`, tool: { component_type: "ServerTool", id, name: `tool${at}`, inputs: [], outputs: [] } }]);
  return {
    agentspec_version: "25.4.2", component_type: "Flow", id: name, name, inputs: city, outputs: [], start_node: refer("start"), nodes: ids.map(refer),
    control_flow_connections: (ways ?? ids.slice(1).map((to, at) => [ids[at], to])).map(edge), data_flow_connections: [],
    $referenced_components: { start: { component_type: "StartNode", id: "start", name: "start", inputs: city }, end: { component_type: "EndNode", id: "end", name: "end", outputs: [] }, ...Object.fromEntries(nodes) },
  };
}

/** Runs scenarios one after the other, and says which of them failed. */
async function run(scenarios) {
  const failed = [];
  for (const [name, scenario] of Object.entries(scenarios)) {
    const started = Date.now();
    try {
      await scenario();
      assert.deepEqual(errors.splice(0), [], "errors in the browser");
      console.log(`${name}: ${Date.now() - started} ms`);
    } catch (error) {
      failed.push(`${name}: ${error.stack}`);
    }
  }
  await browser.close();
  if (failed.length) {
    console.error(failed.join("\n\n"));
    process.exit(1);
  }
}
