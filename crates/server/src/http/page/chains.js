// Search by data: capabilities that take what there is and give what is wanted, also in a row.

import { enc, href, send } from "./api.js";
import { agentdexRun } from "./call.js";
import { copyable, cut, dim, e, failure, fold, h, icon, message, pair, plural, refill, who } from "./dom.js";
import { drawn } from "./flow.js";
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
			e("p", "Find agents by their input and output, or several agents to be called one after the other. List the data you have and the data you want, separated by commas, each with a type unless it is text (", e("code", "days: integer"), "); or write a JSON Schema."),
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
						icon(hit.title ?? hit.id, hit.id),
						e("div", e(".head", e("h3", who(hit.id, hit.title), dim(" ", e("span.t", cut(hit.capability)))), e("dl.scores", pair("fit", hit.fit.toFixed(2)))),
							e("p", message(hit.why)), hit.missing && hit.missing.message !== hit.why ? e("p.note", message(hit.missing.message)) : "")))));
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
		from === to ? "" : [" as ", data(to)], doubts?.length ? dim(" (", message(Array.isArray(doubts) ? doubts.join("; ") : doubts), ")") : ""]);
	return e("article.chain", e("h3", `Chain ${at + 1}`, dim(` fit ${chain.fit.toFixed(2)}`)),
		e(".columns.graphed", graph(chain),
			e("ol", chain.steps.map((step) => e("li", e("strong.t", step.capability), " of ", who(step.id, step.title), e("p.dim", "takes ", inputs(step.input)))),
				e("li.end", "gives ", inputs(chain.output)))),
		chain.flow ? fold("Run it", () => [e("p", "Save this Flow of Open Agent Spec as ", e("code", "flow.json"), ", then run it:"), copyable(agentdexRun("flow.json", inputOf(chain.flow)), "a command that runs the chain"), copyable(JSON.stringify(chain.flow, null, 2), "the Flow")]) : chain.flow_problem ? e("p.dim", message(chain.flow_problem)) : "");
}

/** An example of the input of a Flow. */
const inputOf = ({ inputs }) => Object.fromEntries((Array.isArray(inputs) ? inputs : []).map((one) => [one.title, sample(one, one.title)]));

/** The chain as a drawing. */
function graph({ steps, output }) {
	const boxes = [{ name: "data you have", isEnd: true }, ...steps.map(({ capability, title, id }) => ({ name: capability, below: title ?? id, href: `#/agent/${enc(id)}` })), { name: "data you want", isEnd: true }];
	const links = [...steps.map(({ input }) => input), output].flatMap((all, at) => all.map(({ step, from }) => ({ from: step ?? 0, to: at + 1, name: from || "data" })));
	const edges = Object.values(Object.groupBy(links, ({ from, to }) => `${from} ${to}`)).map((same) => ({ ...same[0], label: same.map(({ name }) => name).join(", ") }));
	return drawn(boxes, edges, 0, `A chain of ${plural(steps.length, "step")}: ${steps.map(({ capability }) => capability).join(", then ")}`);
}
