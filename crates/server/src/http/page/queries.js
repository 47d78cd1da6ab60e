// Saved queries: what they ask, what they find now, and their changes.

import { enc, get, href, live, self, send } from "./api.js";
import { count, dim, e, failure, h, into, moment, refill } from "./dom.js";

class QueriesView extends HTMLElement {
	update() {
		this.list = e("div");
		refill(this, e("h1", "Saved queries"), e("p.dim", "A saved query announces which agents now match it, and which no longer do. Save one from ", h("a", { href: "#/" }, "a search"), "."), this.list);
		this.load();
	}

	load() {
		return into(this.list, async () => {
			const [queries, { access }] = await Promise.all([get("queries"), self()]);
			if (!queries.length) return e("p.dim", "There is none yet.");
			return e("ul.cards", queries.map((query) => this.card(query, access)));
		});
	}

	card({ name, owner = "", visibility = "public", namespace, query, saved }, access) {
		const parameters = new URLSearchParams();
		for (const [member, value] of Object.entries(query)) {
			if (value === null) continue;
			for (const one of [value].flat()) parameters.append(member, one);
		}
		const found = dim("…");
		get(`search?${parameters}&limit=1`).then(({ total }) => refill(found, `${count(total)} now`), () => refill(found));
		const said = h("span", { role: "status" });
		const path = `queries/${enc(name)}?owner=${enc(owner)}`;
		const button = (text, ...request) => h("button.quiet", { type: "button", "aria-label": `${text} the saved query ${name}`, onclick: async () => {
			try {
				await send(...request);
				this.load();
			} catch (error) {
				refill(said, failure(error));
			}
		} }, text);
		const other = visibility === "public" ? "private" : "public";
		const mine = access.role === "admin" || (owner && owner === access.owner);
		return e("li.card", e("h2", h("a.t", { href: href("", parameters) }, name)),
			e("p.t", [...parameters].map(([member, value]) => (member === "q" ? value : `${member}: ${value}`)).join(" · ") || "all agents"),
			e("p.bar", found, dim("saved ", moment(saved), owner && ` by ${owner}, ${namespace && visibility === "namespace" ? namespace : visibility}`), h("a", { href: live({ name, owner }) }, "Watch"),
				mine && owner && button(`Make ${other}`, "PUT", `${path}&visibility=${other}`, query), mine && button("Remove", "DELETE", path), said));
	}
}
customElements.define("view-queries", QueriesView);
