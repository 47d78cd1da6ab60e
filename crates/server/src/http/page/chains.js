// Search by data: capabilities that take what there is and give what is wanted, also in a row.

import { enc, href, send } from "./api.js";
import { agentdexRun } from "./call.js";
import { copyable, dim, e, failure, fold, h, pair, plural, refill, scrolled, shown, svg, who } from "./dom.js";
import { sample } from "./schema.js";

const TYPES = ["string", "number", "integer", "boolean", "array", "object"];

/** A data schema: `city, days: integer`, or a JSON Schema. */
export function schemaOf(text, all) {
	if (!text.trim()) return undefined;
	if (text.trim().startsWith("{")) return JSON.parse(text);
	const properties = {};
	for (const part of text.split(",").map((part) => part.trim()).filter(Boolean)) {
		const [name, type = "string"] = part.split(":").map((word) => word.trim());
		if (!TYPES.includes(type)) throw new Error(`“${type}” is not one of ${TYPES.join(", ")}.`);
		properties[name] = { type };
	}
	return { type: "object", properties, required: all && Object.keys(properties) };
}

class ChainsView extends HTMLElement {
	connectedCallback() {
		const field = (id, label, placeholder) => e(".field", h("label", { for: id }, label), (this[id] = h("input", { id, placeholder, autocomplete: "off", spellcheck: "false" })));
		const option = (id, label) => e("label", (this[id] = h("input", { type: "checkbox", id })), ` ${label}`);
		this.results = h("section", { "aria-label": "Results", "aria-live": "polite" });
		refill(this, e("h1", "Combine agents"),
			e("p", "Find agents by their input and output, or several agents to call in a row. Name the data you have and the data you want, separated by commas, with a type unless it is text (", e("code", "days: integer"), "); or write a JSON Schema."),
			h("form.data", { onsubmit: (event) => { event.preventDefault(); this.go(); } },
				field("have", "Data you have", "place, days: integer"), field("want", "Data you want", "summary"), field("query", "Topic (optional)", "weather"),
				e(".bar", option("several", "several agents in a row"), option("near", "also agents that need one more input"), e("button.primary", "Search"))),
			e("p.hint", "Try ", h("a", { href: href("chains", { have: "place", want: "summary" }) }, "a place, for a summary"), " or ", h("a", { href: href("chains", { have: "document", want: "approval", several: "1" }) }, "a document, for an approval"), "."),
			this.results);
	}

	go() {
		const state = {};
		for (const name of ["have", "want", "query"]) if (this[name].value.trim()) state[name] = this[name].value.trim();
		for (const name of ["several", "near"]) if (this[name].checked) state[name] = "1";
		const url = href("chains", state);
		url === location.hash ? this.search() : (location.hash = url);
	}

	update(parameters) {
		for (const name of ["have", "want", "query"]) this[name].value = parameters.get(name) ?? "";
		for (const name of ["several", "near"]) this[name].checked = parameters.has(name);
		refill(this.results);
		if (parameters.get("have") || parameters.get("want")) this.search();
	}

	async search() {
		try {
			const [have, want] = [schemaOf(this.have.value, 1), schemaOf(this.want.value)];
			const query = this.query.value.trim() || undefined;
			if (this.several.checked) {
				if (!have || !want) throw new Error("For several agents in a row, name the data you have and the data you want.");
				const { value } = await send("POST", "search/compose", { have, want, query, max_steps: 4 });
				refill(this.results, e("h2", value.chains.length ? plural(value.chains.length, "chain") : "No chain of agents produces this data"),
					value.complete ? "" : e("p.note", "Not all chains were compared: there may be better ones."),
					value.chains.map((chain, at) => chainOf(chain, at)));
			} else {
				const { value } = await send("POST", "search/compatible", { have, want, query, near_misses: this.near.checked });
				refill(this.results, e("h2", value.hits.length ? `${plural(value.hits.length, "capability").replace(/ys$/, "ies")} of ${value.total}` : "Nothing fits"),
					e("ol.hits", value.hits.map((hit) => e("li.hit",
						e(".head", e("h3", who(hit.id, hit.title), e("span.dim.t", ` ${hit.capability}`)), e("dl.scores", pair("fit", hit.fit.toFixed(2)))),
						e("p.t", hit.why), hit.missing ? e("p.note.t", hit.missing.message) : ""))));
			}
		} catch (error) {
			refill(this.results, failure(error));
		}
	}
}
customElements.define("view-chains", ChainsView);

/** A chain, as a graph and in words. */
function chainOf(chain, at) {
	const data = (name) => (name ? e("code.t", name) : "the data");
	const inputs = (all) => all.map(({ from, to, step, doubts }, index) => [index ? "; " : "", data(from), step ? ` of step ${step}` : "",
		from === to ? "" : [" as ", data(to)], doubts ? dim(` (${doubts})`) : ""]);
	return e("article.chain", e("h3", `Chain ${at + 1}`, dim(` fit ${chain.fit.toFixed(2)}`)),
		e(".columns.graphed", scrolled("The chain as a drawing", graph(chain)),
			e("ol", chain.steps.map((step) => e("li", e("strong.t", step.capability), " of ", who(step.id, step.title), e("p.dim", "takes ", inputs(step.input)))),
				e("li.end", "gives ", inputs(chain.output)))),
		chain.flow ? fold("Run it", () => [e("p", "Save this Flow of Open Agent Spec as ", e("code", "flow.json"), ", then run it:"), copyable(agentdexRun("flow.json", inputOf(chain.flow)), "a command that runs the chain"), copyable(JSON.stringify(chain.flow, null, 2), "the Flow")]) : chain.flow_problem ? e("p.dim.t", chain.flow_problem) : "");
}

/** An example of the input of a Flow. */
const inputOf = ({ inputs }) => Object.fromEntries((Array.isArray(inputs) ? inputs : []).map((one) => [one.title, sample(one, one.title)]));

const [WIDTH, HEIGHT, GAP, LEFT] = [190, 40, 46, 8];

/** The chain as a graph; data that skips a step goes around it. */
export function graph(chain) {
	const cut = (text, most) => ([...shown(text)].length > most ? `${[...shown(text)].slice(0, most - 1).join("")}…` : shown(text));
	const nodes = ["data you have", ...chain.steps.map((step) => step.capability), "data you want"];
	const top = (index) => 4 + index * (HEIGHT + GAP);
	const all = chain.steps.flatMap((step, to) => step.input.map((one) => ({ ...one, source: one.step ?? 0, node: to + 1 })))
		.concat(chain.output.map((one) => ({ ...one, source: one.step ?? 0, node: nodes.length - 1 })));
	const edges = new Map();
	for (const one of all) {
		const key = `${one.source} ${one.node}`;
		edges.set(key, { ...one, names: [...(edges.get(key)?.names ?? []), one.from || "data"] });
	}
	let lane = 0;
	const drawn = [...edges.values()].map(({ source, node, names }) => {
		const [from, to] = [top(source) + HEIGHT, top(node)];
		const text = cut(names.join(", "), 24);
		if (node === source + 1) {
			const x = LEFT + WIDTH / 2;
			return [svg("path", { class: "edge", d: `M${x} ${from}V${to - 2}`, "marker-end": "url(#arrow)" }), svg("text", { class: "label", x: x + 8, y: (from + to) / 2 + 4 }, text)];
		}
		lane += 1;
		const [right, out] = [LEFT + WIDTH, LEFT + WIDTH + 16 * lane];
		return [svg("path", { class: "edge", d: `M${right} ${from - 12}H${out - 8}q8 0 8 8V${to + 4}q0 8 -8 8H${right + 2}`, "marker-end": "url(#arrow)" }), svg("text", { class: "label", x: out + 5, y: (from + to) / 2 + 4 }, text)];
	});
	const boxes = nodes.map((name, index) => {
		const end = index === 0 || index === nodes.length - 1;
		const box = svg("g", { class: end ? "node end" : "node" }, svg("rect", { x: LEFT, y: top(index), width: WIDTH, height: HEIGHT, rx: end ? 20 : 8 }), svg("text", { x: LEFT + WIDTH / 2, y: top(index) + 25, "text-anchor": "middle" }, cut(name, 24)));
		return end ? box : svg("a", { href: `#/agent/${enc(chain.steps[index - 1].id)}` }, box);
	});
	const [width, height] = [LEFT + WIDTH + 16 * lane + 130, top(nodes.length - 1) + HEIGHT + 4];
	return svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `A chain of ${plural(chain.steps.length, "step")}: ${chain.steps.map((step) => step.capability).join(", then ")}` },
		svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" }, svg("path", { class: "tip", d: "M0 0 8 4 0 8z" }))),
		drawn, boxes);
}
