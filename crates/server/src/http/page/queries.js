// Saved queries: what they ask, what they find now, and their changes.

import { enc, get, href, live, may, send } from "./api.js";
import { count, dim, e, h, into, moment, refill } from "./dom.js";

/** The parameters of a saved query. */
const parametersOf = (query) => new URLSearchParams(Object.entries(query).flatMap(([member, value]) => [value].flat().map((one) => [member, one])));

const MODES = { hybrid: "words and meaning", semantic: "meaning alone", lexical: "words alone" };

/** A saved query in words; of a threshold, what tells it from others. */
export const words = (query) => [...parametersOf(query)].map(([member, value]) => {
	if (member === "q") return value;
	if (member === "mode") return MODES[value] ?? value;
	return member === "threshold" ? `at least ${Math.round(value * 1000) / 10} % similar` : `${member}: ${value}`;
}).join(" · ") || "all agents";

class QueriesView extends HTMLElement {
	update() {
		this.list = e("div");
		refill(this, e("h1", "Saved searches"), e("p.dim", "Each reports which agents start or stop matching it. Save one from ", h("a", { href: "#/" }, "a search"), "."), this.list);
		this.load();
	}

	load() {
		return into(this.list, async () => {
			const queries = await get("queries");
			if (!queries.length) return e("p.dim", "There are none yet.");
			return e("ul.cards", queries.map((query) => this.card(query)));
		});
	}

	card({ name, owner = "", visibility = "public", query, saved }) {
		const parameters = parametersOf(query);
		const found = dim("…");
		get(`search?${parameters}&limit=1`).then(({ total }) => refill(found, `${count(total)} now`), () => refill(found));
		const said = h("span", { role: "status" });
		const button = (text, method, more, body) => h("button.quiet", { "aria-label": `${text} the saved search ${name}`, onclick: () => into(said, async () => {
			await send(method, `queries/${enc(name)}?owner=${enc(owner)}${more}`, body);
			this.load();
		}) }, text);
		const actions = e("span");
		may("register", owner).then((mine) => mine && refill(actions, owner && button(`Make ${other}`, "PUT", `&visibility=${other}`, query), button("Remove", "DELETE", "")), () => {});
		const other = visibility === "public" ? "private" : "public";
		return e("li.card", e("h2", h("a.t", { href: href("", parameters) }, name)),
			e("p.t", words(query)),
			e("p.bar", found, dim("saved ", moment(saved), owner && ` by ${owner}, ${visibility}`), h("a", { href: live({ name, owner }) }, "Watch"), actions, said));
	}
}
customElements.define("view-queries", QueriesView);
