// The metrics of the registry, for somebody who may read them: a link would send no key.

import { request } from "./api.js";
import { copyable, e, grid, h, into, refill } from "./dom.js";

/** The samples of the Prometheus text format by the metric that they belong to, with what it says of itself. */
function families(text) {
	const found = new Map();
	const of = (name) => found.get(name) ?? found.set(name, { help: "", samples: [] }).get(name);
	for (const line of text.split("\n")) {
		const [, help, words] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
		const [, sample, value] = line.startsWith("#") ? [] : /^(.*\S)\s+(\S+)$/.exec(line) ?? [];
		if (help) of(help).help = words;
		if (!sample) continue;
		const name = sample.split("{")[0];
		const base = name.replace(/_(bucket|sum|count)$/, "");
		of(found.has(name) ? name : base).samples.push([sample, value]);
	}
	return found;
}

class MetricsView extends HTMLElement {
	update() {
		const wanted = h("input", { id: "metric", type: "search", autocomplete: "off", oninput: () => this.draw?.(wanted.value) });
		const place = e("div");
		refill(this, e("h1", "Metrics"),
			e("p", "Prometheus can scrape these at ", e("code", "/metrics"), ", with a key that has the role ", e("code", "read"), "."),
			e(".bar", h("label", { for: "metric" }, "Find a metric"), wanted, h("button", { type: "button", onclick: () => this.load(place, wanted) }, "Refresh")), place);
		this.load(place, wanted);
	}

	load(place, wanted) {
		return into(place, async () => {
			const { text } = await request("GET", "metrics", { headers: { accept: "text/plain" } });
			const list = e("div");
			this.draw = (part) => {
				const some = [...families(text)].filter(([name, { samples }]) => samples.length && name.includes(part.trim()));
				refill(list, some.length ? some.map(([name, { help, samples }]) => grid(name, [help || "Sample", "Value"], samples.slice(0, 200).map(([sample, value]) => [e("code.t", sample), value]), false, ".samples")) : e("p.dim", "No metric has this in its name."));
			};
			this.draw(wanted.value);
			return [list, e("details.fold", e("summary", "As text"), copyable(text, "the metrics"))];
		});
	}
}
customElements.define("view-metrics", MetricsView);
