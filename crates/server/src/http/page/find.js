// Finding agents: a search while typing, facets as filters, pages. Everything that is asked for is in the URL.

import { enc, get, href, live, may, send } from "./api.js";
import { announce, ask, copier, count, dim, e, failure, fold, h, into, marked, message, pair, plural, refill, who } from "./dom.js";
import { feed } from "./live.js";

const LIMIT = 20;
const DEEPEST = 10_000;
const FACETS = { type: "Type", capability: "Capability", vendor: "Vendor", protocol: "Protocol", tag: "Tag", format: "Format", security: "Security", signature: "Signature", status: "Status" };
const FILTERS = [...Object.keys(FACETS), "tenant", "channel", "speaks"];
const MODES = { hybrid: "Words and meaning", lexical: "Words", semantic: "Meaning" };
const SHOWN_VALUES = 6;

const EXAMPLES = [
	["weather forecast", "any of these words, in any form; what has both comes first"],
	['"severe weather"', "these words, in this order"],
	["+translate -music", "must have the first, must not have the second"],
	["title:weather", "only in the title"],
	["capability:translate-text", "has exactly this capability"],
	["transl*", "words that begin like this"],
	["turn down the heat", "what is meant counts too"],
];

class FindView extends HTMLElement {
	connectedCallback() {
		this.input = h("input", { id: "q", type: "search", autocomplete: "off", spellcheck: "false", maxlength: "4096", "aria-describedby": "keys", "aria-controls": "results", oninput: () => this.typed(), placeholder: "What should the agent do?" });
		this.mode = e("fieldset.modes", e("legend.sr", "What counts"), Object.entries(MODES).map(([value, name]) =>
			e("label", h("input", { type: "radio", name: "mode", value, onchange: () => this.go({ mode: value, page: "" }) }), e("span", name))));
		this.summary = h("p.summary", { role: "status" });
		this.chips = h("ul.chips", { "aria-label": "Filters that are on" });
		this.list = h("ol.hits", { id: "results", "aria-label": "Agents" });
		this.pager = h("nav.pager", { "aria-label": "Pages" });
		this.facets = e(".facets");
		this.opened = new Set();
		this.wide = matchMedia("(min-width: 56rem)");
		this.filters = h("details.filters", { open: this.wide.matches }, e("summary", "Filters"), this.facets);
		this.resized = () => (this.filters.open = this.wide.matches);
		this.wide.addEventListener("change", this.resized);
		refill(this,
			e("h1.sr", "Find agents"),
			h("form.search", { role: "search", onsubmit: (event) => { event.preventDefault(); this.settle(); } },
				h("label.sr", { for: "q" }, "Search agents by what they can do"),
				e(".box", this.input, h("kbd", { id: "keys", "aria-label": "Press slash to search" }, "/")),
				this.mode),
			e(".tools", help(), this.saving()),
			e(".columns",
				this.filters,
				h("section", { "aria-label": "Results" }, this.summary, this.chips, this.list, this.pager)));
		this.changed = () => {
			clearTimeout(this.later);
			this.later = setTimeout(() => this.search(true), 400);
		};
		feed.addEventListener("change", this.changed);
		if (matchMedia("(hover: hover)").matches) this.input.focus({ preventScroll: true });
	}

	disconnectedCallback() {
		feed.removeEventListener("change", this.changed);
		this.wide.removeEventListener("change", this.resized);
		clearTimeout(this.later);
		clearTimeout(this.typing);
		this.asked?.abort();
	}

	/** Shows what the URL says. */
	update(parameters) {
		this.state = parameters;
		this.written = this.begun = false;
		const q = parameters.get("q") ?? "";
		if (this.input.value !== q) this.input.value = q;
		const mode = parameters.get("mode") || "hybrid";
		for (const radio of this.mode.querySelectorAll("input")) radio.checked = radio.value === mode;
		clearTimeout(this.typing);
		this.search();
	}

	typed() {
		clearTimeout(this.typing);
		this.typing = setTimeout(() => {
			// Typing makes one entry in the history of the browser, not one for each letter.
			const url = href("", this.next({ q: this.input.value.trim(), page: "" }));
			if (this.written) history.replaceState(null, "", url);
			else history.pushState(null, "", url);
			this.written = this.begun = true;
			this.state = new URLSearchParams(url.split("?")[1]);
			this.search();
		}, 9);
	}

	settle() {
		this.written = false;
		this.go({ q: this.input.value.trim(), page: "" });
	}

	next(changes) {
		const next = new URLSearchParams(this.state);
		for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
		if (next.get("mode") === "hybrid") next.delete("mode");
		// A threshold is that of a saved query: of another one it means nothing.
		if ("q" in changes || "mode" in changes) next.delete("threshold");
		return next;
	}

	go(changes) {
		this.written = false;
		const url = href("", this.next(changes));
		if (url !== location.hash) location.hash = url;
	}

	toggle(name, value) {
		const next = this.next({ page: "" });
		next.has(name, value) ? next.delete(name, value) : next.append(name, value);
		this.written = false;
		location.hash = href("", next);
	}

	get page() {
		return Math.max(1, Number.parseInt(this.state.get("page") ?? "1", 10) || 1);
	}

	async search(quiet) {
		this.asked?.abort();
		const asked = (this.asked = new AbortController());
		const query = new URLSearchParams();
		for (const name of ["q", "mode", "threshold", ...FILTERS]) for (const value of this.state.getAll(name)) query.append(name, value);
		const offset = (this.page - 1) * LIMIT;
		query.set("limit", LIMIT);
		if (offset) query.set("offset", offset);
		// The last word may still go on.
		if (this.begun) query.set("typing", true);
		query.set("facets", Object.keys(FACETS).join(","));
		this.list.setAttribute("aria-busy", "true");
		const started = performance.now();
		try {
			const answer = await get(`search?${query}`, asked.signal);
			this.show(answer, offset, performance.now() - started, quiet);
		} catch (error) {
			if (error.name === "AbortError") return;
			refill(this.summary, failure(error));
			refill(this.list);
			refill(this.pager);
		}
		this.list.removeAttribute("aria-busy");
	}

	show(answer, offset, time, quiet) {
		const { total, hits, facets, suggestions, corrections = [], hints = [], confidence } = answer;
		const asked = this.state.get("q");
		const words = total === 0 ? "No agent matches" : `${plural(total, "agent")}`;
		refill(this.summary, e("strong", words), quiet || total === 0 ? "" : dim(` in ${Math.max(1, Math.round(time))} ms`),
			corrections.map(({ word, read_as }) => e("span.note", `No agent has “${word}”: searched for ${read_as.join(", ")}.`)),
			confidence === "low" ? e("span.note", "Low confidence: nothing is much like the request.") : "",
			suggestions.length ? e("span.hint", "Did you mean ", suggestions.slice(0, 4).map((q, at) => [at ? ", " : "", h("a.t", { href: href("", this.next({ q, page: "" })) }, q)]), "?") : "",
			hints.map((hint) => e("span.hint", message(hint))),
			total === 0 ? e("span.hint", asked || this.on().length ? "Try fewer words or filters." : ["The registry is empty. ", h("a", { href: "#/add" }, "Add an agent"), "."]) : "");
		refill(this.chips, this.on().map(([name, value]) => e("li",
			h("button.chip", { type: "button", "aria-label": `Remove the filter ${name} ${value}`, onclick: () => this.toggle(name, value) }, dim(`${name} `), value, " ×"))));
		this.draw(hits, offset, Boolean(asked));
		this.pages(total, offset);
		this.count(facets, total);
	}

	on() {
		return FILTERS.flatMap((name) => this.state.getAll(name).map((value) => [name, value]));
	}

	/** The hits; those that were there stay, so that what is focused stays focused. */
	draw(hits, offset, scored) {
		const old = new Map([...this.list.children].map((item) => [item.dataset.key, item]));
		this.list.start = offset + 1;
		const items = hits.map((hit) => {
			const key = JSON.stringify([hit, scored]);
			const item = old.get(key) ?? hitOf(hit, scored);
			item.dataset.key = key;
			return item;
		});
		items.forEach((item, at) => {
			if (this.list.children[at] !== item) this.list.insertBefore(item, this.list.children[at] ?? null);
		});
		while (this.list.children.length > items.length) this.list.lastChild.remove();
	}

	pages(total, offset) {
		const last = Math.ceil(Math.min(total, DEEPEST) / LIMIT);
		const to = (page, name) => page >= 1 && page <= last && page !== this.page
			? h("a.button", { href: href("", this.next({ page: page > 1 ? String(page) : "" })), "data-page": name }, name)
			: h("span.button.off", { "aria-hidden": "true" }, name);
		refill(this.pager, last > 1 ? [to(this.page - 1, "Previous"),
			dim(`${count(offset + 1)} to ${count(Math.min(offset + LIMIT, total))} of ${count(total)}`),
			to(this.page + 1, "Next"),
			this.page === last && total > DEEPEST ? dim("Further ones are found with more words or filters.") : ""] : "");
	}

	count(facets, total) {
		this.filters.hidden = total === 0 && !this.on().length;
		const focused = document.activeElement?.dataset?.facet;
		refill(this.facets, Object.entries(FACETS).map(([name, title]) => {
			const chosen = this.state.getAll(name);
			const values = facets[name] ?? [];
			const known = new Set(values.map(({ value }) => value.toLowerCase()));
			const all = [...chosen.filter((value) => !known.has(value.toLowerCase())).map((value) => ({ value, count: 0 })), ...values];
			// What all of them have is no choice.
			if (!all.length || (!chosen.length && all.length === 1 && all[0].count === total)) return "";
			const isOn = (value) => chosen.some((one) => one.toLowerCase() === value.toLowerCase());
			all.sort((a, b) => isOn(b.value) - isOn(a.value));
			const open = this.opened.has(name);
			const some = open ? all : all.slice(0, SHOWN_VALUES);
			return e("fieldset", e("legend", title), some.map(({ value, count: found }) =>
				e("label.facet", h("input", { type: "checkbox", checked: isOn(value), "data-facet": `${name}=${value}`, onchange: () => this.toggle(name, chosen.find((one) => one.toLowerCase() === value.toLowerCase()) ?? value) }),
					h("span.value.t", { title: value }, value), dim(count(found)))),
				all.length > SHOWN_VALUES ? h("button.quiet", { type: "button", "data-facet": `${name}+`, "aria-expanded": String(open), onclick: () => { open ? this.opened.delete(name) : this.opened.add(name); this.count(facets, total); } }, open ? "Fewer" : `${all.length - SHOWN_VALUES} more`) : "");
		}));
		if (focused) [...this.facets.querySelectorAll("[data-facet]")].find((one) => one.dataset.facet === focused)?.focus();
	}

	/** Saves the search, so that changes of what it finds can be followed. */
	saving() {
		const allowed = "Letters, digits and - _ . ~, with no dot in front";
		const name = h("input", { id: "save-as", required: true, pattern: "[A-Za-z0-9_~\\-][A-Za-z0-9._~\\-]{0,127}", title: allowed, "aria-describedby": "save-help", placeholder: "name" });
		const said = h("p", { role: "status" });
		const save = (event) => {
			event.preventDefault();
			const query = {};
			const [q, mode, threshold] = ["q", "mode", "threshold"].map((one) => this.state.get(one));
			if (q) Object.assign(query, { q, mode: mode ?? "hybrid" }, threshold && { threshold: Number(threshold) });
			for (const filter of FILTERS) query[filter] = this.state.getAll(filter);
			into(said, async () => {
				const value = await saved(name.value, query);
				return value ? ["Saved. ", h("a", { href: live(value) }, "Watch its changes"), "."] : "Nothing was saved.";
			});
		};
		const form = h("form", { onsubmit: save }, e(".bar", h("label", { for: "save-as" }, "Save as"), name, e("button", "Save")), h("p.dim", { id: "save-help" }, `${allowed}.`));
		const place = e("div");
		may("register").then((may) => refill(place, may ? form : e("p.dim", "To save it needs a key with the role ", e("code", "register"), ".")), () => {});
		return e("details.fold", e("summary", "Save or share this search"), place, said,
			e(".bar", e("span", "The link to this search"), copier(() => location.href, "the link to this search")));
	}
}

/** Saves a query. One that has the name already is replaced only by who says so; else nothing is returned. */
async function saved(name, query) {
	const path = `queries/${enc(name)}`;
	const put = async (conditions) => (await send("PUT", path, query, undefined, conditions)).value;
	try {
		return await put({ "if-none-match": "*" });
	} catch (error) {
		if (error.status !== 412) throw error;
	}
	const there = await get(path);
	const { words } = await import("./queries.js");
	const plain = ({ threshold, mode = "hybrid", ...rest }) => words(Object.fromEntries(Object.entries({ mode, ...rest }).sort()));
	if (plain(there.query) === plain(query) && [undefined, there.query.threshold].includes(query.threshold)) return there;
	const replaces = await ask([e("p", "There is a saved search ", e("strong.t", name), " already: ", e("span.t", words(there.query)), "."), e("p", "Whoever watches it gets this search instead.")], "Replace it", "Keep it", "danger");
	return replaces ? put() : undefined;
}

/** A hit. */
function hitOf(hit, scored) {
	const { id, title, description, capabilities, more_capabilities: more, score, bm25, cosine, flags = [] } = hit;
	const rest = capabilities.length + more - 3;
	return e("li.hit",
		e(".head", e("h2", who(id, title)),
			scored ? e("dl.scores",
				pair("score", score.toFixed(1)),
				pair("words", bm25.toFixed(1)),
				typeof cosine === "number" ? pair("meaning", cosine.toFixed(2)) : "") : ""),
		title ? e("p.id.t", id) : "",
		flags.length ? e("p.badges", flags.map(({ kind }) => e("span.badge.bad", kind))) : "",
		description ? e("p.lines.t", description) : "",
		capabilities.length ? h("ul.capabilities", { "aria-label": "Capabilities" }, capabilities.slice(0, 3).map(({ name, snippet }) =>
			e("li", e("span.name.t", name), snippet && snippet !== name ? e("span.snippet.t", marked(snippet)) : "")),
			rest > 0 ? e("li.dim", `and ${rest} more`) : "") : "");
}

/** The query language, with examples that run. */
function help() {
	return fold("How to search", () => [
		e("dl.examples", EXAMPLES.map(([query, meaning]) => [e("dt", h("a", { href: href("", { q: query }), onclick: () => announce(`Search for ${query}`) }, query)), e("dd", meaning)])),
		e("p", "Fields: ", e("code", "title description id language capability type tag vendor protocol security format status signature"), ". Words in quotes or of a field are matched as words only."),
	]);
}
customElements.define("view-find", FindView);
