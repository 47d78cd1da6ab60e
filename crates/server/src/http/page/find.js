// Finding agents: a search while typing, facets as filters, pages. Everything that is asked for is in the URL.

import { enc, get, href, live, may, self, send } from "./api.js";
import { flagsOf } from "./flags.js";
import { announce, ask, copier, count, cut, dim, e, failure, fold, h, icon, into, marked, message, moment, pair, plural, refill, who } from "./dom.js";
import { feed } from "./live.js";

const LIMIT = 20;
const DEEPEST = 10_000;
const FACETS = { type: "Type", capability: "Capability", vendor: "Vendor", protocol: "Protocol", tag: "Tag", format: "Format", security: "Security", signature: "Signature", status: "Status" };
const FILTERS = [...Object.keys(FACETS), "tenant", "channel", "speaks"];
const TITLES = { ...FACETS, tenant: "Tenant", channel: "Channel", speaks: "Speaks" };
// What hits are sorted by, and in which direction. Without words there is no relevance: titles come by the alphabet.
const ORDERS = { relevance: "Relevance", title: "Title", modified: "Last changed", created: "Newest" };
const MODES = { hybrid: "Words and meaning", lexical: "Words", semantic: "Meaning" };
const SHOWN_VALUES = 6;

const EXAMPLES = [
	["weather forecast", "any of these words, in any form; matches of both come first"],
	['"severe weather"', "these words, in this order"],
	["+translate -music", "must have the first, must not have the second"],
	["title:weather", "only in the title"],
	["capability:translate-text", "has exactly this capability"],
	["transl*", "words that begin with this"],
	["turn down the heat", "agents are also matched by meaning"],
];

class FindView extends HTMLElement {
	connectedCallback() {
		this.input = h("input", { id: "q", type: "search", autocomplete: "off", spellcheck: "false", maxlength: "4096", "aria-describedby": "keys", "aria-controls": "results", oninput: () => this.typed(), placeholder: "What should the agent do?" });
		this.mode = e("fieldset.modes", e("legend.sr", "Match by"), Object.entries(MODES).map(([value, name]) =>
			e("label", h("input", { type: "radio", name: "mode", value, onchange: () => this.go({ mode: value, page: "" }) }), e("span", name))));
		this.summary = h("p.summary", { role: "status", tabindex: "-1" });
		this.sort = h("select", { id: "sort", onchange: () => this.go({ sort: this.sort.value, page: "" }) });
		this.sorting = h("p.sorting", { hidden: true }, h("label", { for: "sort" }, "Sort by"), this.sort);
		this.tried = e("p.tries");
		this.intro = h(".intro", { hidden: true }, e("p", "Describe what you need in your own words. The registry finds agents by what they can do, even if their descriptions use different words."), this.tried);
		this.chips = h("ul.chips", { "aria-label": "Active filters" });
		this.list = h("ol.hits", { id: "results", "aria-label": "Agents" });
		this.pager = h("nav.pager", { "aria-label": "Pages" });
		this.results = h("section", { "aria-label": "Results" }, e(".over", this.summary, this.sorting), this.chips, this.list, this.pager);
		this.facets = e(".facets");
		this.groups = new Map();
		// Who follows a link to other results goes on at their beginning.
		this.turning = ({ ctrlKey, metaKey, shiftKey }) => (this.turned = !ctrlKey && !metaKey && !shiftKey);
		this.tries = Promise.all([self(), may("register")]).then(([{ links }, may]) => may && Boolean(links.conversation), () => false);
		this.wide = matchMedia("(min-width: 56rem)");
		this.filters = h("details.filters", { open: this.wide.matches }, e("summary", "Filters"), this.facets);
		this.resized = () => (this.filters.open = this.wide.matches);
		this.wide.addEventListener("change", this.resized);
		this.addEventListener("keydown", (event) => this.step(event));
		refill(this,
			e("h1.sr", "Find agents"),
			this.intro,
			h("form.search", { role: "search", onsubmit: (event) => { event.preventDefault(); this.settle(); } },
				h("label.sr", { for: "q" }, "Search agents by what they can do"),
				e(".box", this.input, h("kbd", { id: "keys", "aria-label": "Press slash to search" }, "/")),
				this.mode),
			e(".tools", help(), this.saving()),
			// Hits come first for the keyboard; the filters stand at their side, or above them.
			e(".columns.found",
				this.results,
				this.filters));
		this.changed = () => {
			clearTimeout(this.later);
			this.later = setTimeout(() => this.search(true), 400);
		};
		for (const kind of ["change", "missed"]) feed.addEventListener(kind, this.changed);
		if (matchMedia("(hover: hover)").matches) this.input.focus({ preventScroll: true });
	}

	disconnectedCallback() {
		for (const kind of ["change", "missed"]) feed.removeEventListener(kind, this.changed);
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
		this.order();
		clearTimeout(this.typing);
		this.search();
	}

	/** The orders that there are: by relevance only where words were asked for. What this is, is said where nothing was. */
	order() {
		this.intro.hidden = Boolean(this.state.get("q") || this.on().length || this.page > 1);
		const orders = Object.entries(ORDERS).filter(([key]) => key !== "relevance" || this.state.get("q"));
		refill(this.sort, orders.map(([value, name]) => h("option", { value }, name)));
		this.sort.value = this.sortedBy;
	}

	get sortedBy() {
		const asked = this.state.get("sort");
		const known = Object.hasOwn(ORDERS, asked ?? "") && (asked !== "relevance" || this.state.get("q"));
		return known ? asked : this.state.get("q") ? "relevance" : "title";
	}

	/** Goes from the box to the hits, and from one to the next. */
	step(event) {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
		const stops = [this.input, ...this.list.querySelectorAll("h2 a")];
		const at = document.activeElement === this.summary ? 0 : stops.indexOf(document.activeElement);
		if (at < 0 || !stops[at + by]) return;
		event.preventDefault();
		stops[at + by].focus();
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
			this.order();
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
		const query = this.query();
		// Nothing is beyond this; how many there are is told all the same.
		const offset = Math.min((this.page - 1) * LIMIT, DEEPEST - LIMIT);
		query.set("limit", LIMIT);
		if (offset) query.set("offset", offset);
		query.set("facets", Object.keys(FACETS).join(","));
		query.set("highlight", true);
		if (this.sortedBy !== "relevance") {
			query.set("sort_by", this.sortedBy);
			query.set("sort_order", this.sortedBy === "title" ? "asc" : "desc");
		}
		this.list.setAttribute("aria-busy", "true");
		const started = performance.now();
		try {
			const [answer, tries] = await Promise.all([get(`search?${query}`, asked.signal), this.tries, this.lookUp(asked.signal)]);
			this.keep(() => this.show(answer, offset, performance.now() - started, quiet, tries));
		} catch (error) {
			if (error.name === "AbortError") return;
			refill(this.summary, failure(error));
			for (const part of [this.list, this.pager, this.chips, this.tried]) refill(part);
			delete this.tried.dataset.key;
			this.sorting.hidden = true;
			this.filters.hidden = !this.facets.children.length;
		}
		this.list.removeAttribute("aria-busy");
		if (this.turned) {
			this.turned = false;
			this.summary.focus({ preventScroll: true });
			this.summary.scrollIntoView({ block: "start" });
		}
	}

	/** Shows other results. What had the focus and is made anew has it again; what is gone leaves it to the summary. */
	keep(show) {
		const { activeElement: had } = document;
		const inside = this.results.contains(had);
		show();
		if (!inside || had.isConnected) return;
		const same = [...this.results.querySelectorAll("a, button")].find((one) => one.textContent === had.textContent);
		(same ?? this.summary).focus({ preventScroll: true });
	}

	/** What is searched for: words, mode and filters. */
	query() {
		const query = new URLSearchParams();
		for (const name of ["q", "mode", "threshold", ...FILTERS]) for (const value of this.state.getAll(name)) query.append(name, value);
		// The last word may still go on.
		if (this.begun) query.set("typing", true);
		return query;
	}

	/** Looks up the values of the facets that somebody looks for. */
	lookUp(signal) {
		return Promise.all([...this.groups].filter(([, { text, set }]) => text && set.isConnected).map(async ([name, group]) => {
			const { text } = group;
			const query = this.query();
			query.set("limit", 0);
			query.set("facets", name);
			query.set("facet_query", text);
			const { facets, facet_totals } = await get(`search?${query}`, signal);
			// Something else may have been typed meanwhile.
			if (group.text === text) Object.assign(group, { found: facets[name], matching: facet_totals[name] });
		}));
	}

	show(answer, offset, time, quiet, tries) {
		const { total, hits, suggestions, corrections = [], hints = [], confidence } = answer;
		const asked = this.state.get("q") ?? "";
		const on = this.on();
		const last = Math.max(1, Math.ceil(Math.min(total, DEEPEST) / LIMIT));
		const beyond = total > 0 && this.page > last;
		const words = total > 0 ? plural(total, "agent") : asked || on.length ? "No agent matches" : "The registry is empty";
		// One sentence says what was corrected, and leads to it.
		const corrected = corrections.length ? e("span.note", "No agent contains ", corrections.map(({ word }, at) => [at ? " or " : "", `“${word}”`]), ": searched for ",
			suggestions.length ? this.link({ q: suggestions[0], page: "" }, suggestions[0]) : corrections.map(({ read_as }) => read_as.join(", ")).join("; "), ".") : "";
		refill(this.summary, e("strong", words), quiet || total === 0 ? "" : dim(` in ${Math.max(1, Math.round(time))} ms`),
			corrected,
			confidence === "low" && !corrections.length ? e("span.note", "No agent closely matches your request. These are the closest.") : "",
			corrections.length ? "" : suggestions.length ? e("span.hint", "Did you mean ", suggestions.slice(0, 4).map((q, at) => [at ? ", " : "", this.link({ q, page: "" }, q)]), "?") : "",
			hints.map((hint) => e("span.hint", message(hint))),
			total === 0 ? this.nothing(asked, on) : "",
			beyond ? e("span.hint", `There is no page ${count(this.page)}. `, this.turn(last, `Go to the last page, ${count(last)}`)) : "");
		refill(this.chips, on.map(([name, value]) => e("li",
			h("button.chip", { type: "button", "aria-label": `Remove the filter ${TITLES[name]} ${value}`, onclick: () => this.toggle(name, value) }, dim(`${TITLES[name]} `), named(name, value), " ×"))),
			on.length > 1 ? e("li", h("button.quiet", { type: "button", onclick: () => this.go(this.cleared()) }, "Clear all")) : "");
		this.sorting.hidden = total < 2;
		this.suggest(answer);
		this.draw(beyond ? [] : hits, offset, Boolean(asked), tries);
		this.pages(total, offset, beyond ? 0 : last);
		this.count(answer);
	}

	/** A link to another search. */
	link(changes, text) {
		return h("a.t", { href: href("", this.next(changes)) }, text);
	}

	/** The changes that take all filters off. */
	cleared() {
		return { ...Object.fromEntries(FILTERS.map((name) => [name, ""])), page: "" };
	}

	/** What to do where nothing was found. */
	nothing(asked, on) {
		const plain = asked.replace(/(^|\s)[+-](?=\S)/g, "$1");
		const needed = asked.match(/(?<=(^|\s)\+)\S+/g) ?? [];
		if (!asked && !on.length) return e("span.hint", h("a", { href: "#/add" }, "Add an agent"), ", or start the registry with some: ", e("code", "agentdex serve --examples"), ".");
		return e("span.hint",
			needed.length ? `Because of the +, only agents with ${needed.map((word) => `“${word}”`).join(" and ")} are found. ` : "",
			plain !== asked ? [this.link({ q: plain, page: "" }, "Search without + and -"), " "] : "",
			on.length ? [h("button.quiet", { type: "button", onclick: () => this.go(this.cleared()) }, "Clear the filters"), " "] : "",
			asked && on.length ? [this.link({ ...Object.fromEntries(FILTERS.map((name) => [name, ""])), q: "" }, "Show all agents")] : asked ? [this.link({ q: "", page: "" }, "Show all agents")] : "");
	}

	/** Searches to begin with, where nothing is asked for. */
	suggest({ hits }) {
		if (this.intro.hidden) return;
		// What the agents here say that they do, as somebody would ask for it: each of them finds something.
		const queries = [...new Set(hits.flatMap(({ capabilities, description }) => [capabilities.map(({ snippet }) => phraseOf(snippet)).find(Boolean) ?? phraseOf(description)]).filter(Boolean))].slice(0, 3);
		const key = queries.join("|");
		if (this.tried.dataset.key === key) return;
		this.tried.dataset.key = key;
		refill(this.tried, queries.length ? [dim("For example "), queries.map((q) => h("a.button", { href: href("", { q }), onclick: this.turning }, q))] : "");
	}

	on() {
		return FILTERS.flatMap((name) => this.state.getAll(name).map((value) => [name, value]));
	}

	/** The hits; those that were there stay and change in place, so that what is focused stays focused. */
	draw(hits, offset, scored, tries) {
		this.list.start = offset + 1;
		reuse(this.list, hits.map((hit) => [hit.id, hit]), hitOf, (item, hit) => item.show(hit, scored, tries));
	}

	/** A link to a page of the results, which shows their beginning. */
	turn(page, name, kind = "a.t") {
		return h(kind, { href: href("", this.next({ page: page > 1 ? String(page) : "" })), "data-page": name, onclick: this.turning }, name);
	}

	pages(total, offset, last) {
		const to = (page, name) => page >= 1 && page <= last && page !== this.page ? this.turn(page, name, "a.button") : h("span.button.off", { "aria-hidden": "true" }, name);
		refill(this.pager, last > 1 ? [to(this.page - 1, "Previous"),
			dim(`${count(offset + 1)} to ${count(Math.min(offset + LIMIT, total))} of ${count(total)}`),
			to(this.page + 1, "Next"), this.page < last ? to(last, "Last") : "",
			this.page === last && total > DEEPEST ? dim("Add words or filters to narrow the results.") : ""] : "");
	}

	count(answer) {
		this.answer = answer;
		const { facets, facet_totals, total } = answer;
		this.filters.hidden = total === 0 && !this.on().length;
		const shown = Object.keys(FACETS).filter((name) => {
			const [chosen, values] = [this.state.getAll(name), facets[name] ?? []];
			// What all of them have is no choice.
			return chosen.length || (values.length && !(values.length === 1 && values[0].count === total));
		});
		reuse(this.facets, shown.map((name) => [name, name]), (name) => this.group(name), (group, name) => group.show(facets[name] ?? [], facet_totals[name] ?? 0));
	}

	/** The values of a facet, as filters; where there are many, with a box to look for some. */
	group(name) {
		const group = { text: "" };
		this.groups.set(name, group);
		const list = e("div");
		const box = h("input", { type: "search", "aria-label": `Search the values of ${TITLES[name]}`, autocomplete: "off", maxlength: "100", "data-facet": `${name}?`, oninput: () => {
			group.text = box.value.trim();
			clearTimeout(group.later);
			group.later = setTimeout(() => this.lookUp().then(() => this.count(this.answer), (error) => refill(said, failure(error))), 60);
		} });
		const said = h("p.dim", { role: "status" });
		const more = h("button.quiet", { type: "button", "data-facet": `${name}+`, onclick: () => { group.open = !group.open; if (!group.open) group.text = box.value = ""; this.count(this.answer); if (group.open) box.focus(); } });
		const set = e("fieldset", e("legend", TITLES[name]), box, said, list, more);
		group.set = set;
		set.show = (values, total) => {
			const chosen = this.state.getAll(name);
			const same = (one, other) => one.toLowerCase() === other.toLowerCase();
			const isOn = (value) => chosen.some((one) => same(one, value));
			const listed = group.text ? group.found ?? [] : values;
			const unlisted = chosen.filter((value) => !listed.some((one) => same(one.value, value))).map((value) => ({ value, count: values.find((one) => same(one.value, value))?.count ?? 0 }));
			const all = [...unlisted, ...listed].sort((a, b) => isOn(b.value) - isOn(a.value));
			const some = group.open ? all : all.slice(0, SHOWN_VALUES);
			reuse(list, some.map((one) => [one.value.toLowerCase(), one]), ({ value }) => this.choice(name, value), (label, one) => label.show(one, isOn(one.value)));
			box.hidden = said.hidden = !group.open;
			const there = group.text ? group.matching ?? 0 : total;
			box.placeholder = `Search ${count(total)} values`;
			said.textContent = group.text || total > listed.length ? `${count(listed.length)} of ${count(there)}` : `${count(total)}`;
			more.hidden = total <= SHOWN_VALUES;
			more.setAttribute("aria-expanded", String(Boolean(group.open)));
			more.textContent = group.open ? "Fewer" : `${count(Math.max(total, all.length) - some.length)} more`;
		};
		return set;
	}

	/** A value of a facet, to be filtered by. */
	choice(name, value) {
		const input = h("input", { type: "checkbox", "data-facet": `${name}=${value}`, onchange: () => this.toggle(name, this.state.getAll(name).find((one) => one.toLowerCase() === value.toLowerCase()) ?? value) });
		const number = dim();
		const label = e("label.facet", input, h("span.value.t", { title: value }, named(name, value)), number);
		label.show = ({ count: found }, on) => {
			input.checked = on;
			number.textContent = count(found);
		};
		return label;
	}

	/** Saves the search, so that changes of what it finds can be followed. */
	saving() {
		const allowed = "Letters, digits, and - _ . ~, not starting with a dot";
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
		may("register").then((may) => refill(place, may ? form : e("p.dim", "To save it, you need a key with the role ", e("code", "register"), ".")), () => {});
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
	const replaces = await ask([e("p", "There is a saved search ", e("strong.t", name), " already: ", e("span.t", words(there.query)), "."), e("p", "Everyone who watches it will get this search instead.")], "Replace it", "Keep it", "danger");
	return replaces ? put() : undefined;
}

/** Makes the children of an element those of a list of keys and values. Those that were there stay, and change in place. */
function reuse(parent, entries, make, show) {
	const { activeElement } = document;
	const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
	entries.forEach(([key, value], at) => {
		const child = old.get(key) ?? make(value);
		old.delete(key);
		child.dataset.key = key;
		show(child, value);
		if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
	});
	for (const child of old.values()) child.remove();
	while (parent.children.length > entries.length) parent.lastChild.remove();
	// An element that is moved loses the focus.
	if (activeElement !== document.activeElement && parent.contains(activeElement)) activeElement.focus({ preventScroll: true });
}

/** A value of a facet as people know it: `lmos:Agent` is the type Agent. */
const named = (facet, value) => (facet === "type" ? value.replace(/^lmos:/, "") : value);

const LINKING = /^(and|as|at|by|for|from|how|if|in|into|of|on|or|so|than|that|to|what|when|where|which|while|who|with)$/i;

/** What an agent that "sets the temperature" is asked to do: set it. */
const imperative = (verb) => verb.replace(/(?<=[^aeiou])ies$/, "y").replace(/(?<=ch|sh|ss|x|zz|o)es$|(?<=[^aisu])s$|(?<=[ae]y)s$/, "");

/** The beginning of a sentence that is short and means something by itself: "Set the temperature". */
function phraseOf(text) {
	const [clause] = /^\p{L}[\p{L}\s'’-]*/u.exec(String(text ?? "").replace(/<\/?b>/g, "").slice(0, 200)) ?? [""];
	const words = clause.trim().split(/\s+/);
	const isShort = (some) => some.length >= 3 && some.join(" ").length <= 34;
	const end = words.findIndex((word, at) => at >= 3 && LINKING.test(word));
	const [verb, ...rest] = [words, words.slice(0, end)].find((some) => isShort(some) && !some.slice(0, 3).some((word) => LINKING.test(word))) ?? [];
	return verb && [imperative(verb), ...rest].join(" ");
}

/** A text whose segments that match are marked. */
const segments = (parts) => parts.map(({ text, match }) => (match ? e("mark", text) : text));

/** A hit. It changes in place; its link stays. */
function hitOf({ id, title }) {
	const link = who(id, title);
	const rest = e(".rest");
	const scores = e("div");
	const picture = e("div");
	const item = e("li.hit", picture, e("div", e(".head", e("h2", link), scores), rest));
	let drawn;
	item.show = (hit, scored, tries) => {
		const key = JSON.stringify([hit, scored, tries]);
		if (drawn === key) return;
		drawn = key;
		const { id, title, description, highlight = {}, version, vendors = [], protocols = [], callable, modified, capabilities, more_capabilities: more, score, bm25, cosine, flags = [] } = hit;
		const name = title || id;
		refill(picture, icon(name, id));
		refill(link, highlight.title ? segments(highlight.title) : cut(name));
		refill(scores, scored ? e("dl.scores",
			pair("score", score.toFixed(1)),
			pair("words", bm25.toFixed(1)),
			typeof cosine === "number" ? pair("meaning", cosine.toFixed(2)) : "") : "");
		const further = capabilities.length + more - 3;
		const facts = [
			...vendors.map((vendor) => e("span.t", vendor)),
			protocols.length ? e("span.t", protocols.join(", ")) : "",
			version ? e("span.t", /^\d/.test(version) ? `v${version}` : version) : "",
			modified ? e("span", "changed ", moment(modified)) : ""].filter(Boolean);
		refill(rest,
			e("p.facts", facts, callable && tries ? e("span.badge.good", "can be tried here") : "", flagsOf(flags)),
			title ? e("p.id.t", cut(id, 500)) : "",
			description ? e("p.lines.t", highlight.description ? segments(highlight.description) : description) : "",
			capabilities.length ? h("ul.capabilities", { "aria-label": "Capabilities" }, capabilities.slice(0, 3).map(({ name, snippet }) =>
				e("li", e("span.name.t", name), snippet && snippet !== name ? e("span.snippet.t", marked(snippet)) : "")),
				further > 0 ? e("li.dim", `and ${further} more`) : "") : "");
	};
	return item;
}

/** The query language, with examples that run. */
function help() {
	return fold("How to search", () => [
		e("dl.examples", EXAMPLES.map(([query, meaning]) => [e("dt", h("a", { href: href("", { q: query }), onclick: () => announce(`Search for ${query}`) }, query)), e("dd", meaning)])),
		e("p", "Fields: ", e("code", "title description id language capability type tag vendor protocol security format status signature"), ". Quoted words and words in a field are matched literally, not by meaning."),
	]);
}
customElements.define("view-find", FindView);
