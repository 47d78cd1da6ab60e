// The state of the registry: its agents, and the parts of the server.

import { get, href, self } from "./api.js";
import { sourceOf } from "./description.js";
import { count, dim, e, fold, grid, h, into, message, moment, pair, refill, who } from "./dom.js";
import { feed } from "./live.js";

/** What agents are counted by. */
const COUNTED = { protocol: "Protocol", format: "Format", vendor: "Vendor", type: "Type" };
const MOST_VALUES = 8;
/** What the parts of the server are for, by their names. */
const PARTS = { search: "Search by words", vectors: "Search by meaning", flags: "Checks of descriptions", shapes: "Search by data", queries: "Saved searches", guardian: "Guardrails", mqtt: "MQTT" };
const STATES = { following: "up to date", rebuilding: "being rebuilt", failing: "failing", stopped: "stopped" };

class StatusView extends HTMLElement {
	connectedCallback() {
		this.facts = e("div");
		this.agents = e("div");
		this.sources = e("div");
		refill(this, e("h1", "Status"), this.facts, this.agents, e("h2", "Agents that are read from a URL"), this.sources,
			fold("Connect an assistant over MCP", async () => (await import("./connect.js")).connect("connect")),
			e("p.bar", h("a", { href: "docs/guide/" }, "Documentation"), h("a", { href: "docs/" }, "REST API"), h("a", { href: "openapi.json" }, "OpenAPI"), h("a", { href: "#/metrics" }, "Metrics"), h("a", { href: ".well-known/wot" }, "The registry's own description")));
		this.changed = () => {
			clearTimeout(this.later);
			this.later = setTimeout(() => this.load(), 500);
		};
		for (const kind of ["change", "missed"]) feed.addEventListener(kind, this.changed);
	}

	disconnectedCallback() {
		for (const kind of ["change", "missed"]) feed.removeEventListener(kind, this.changed);
		clearTimeout(this.later);
	}

	update(parameters) {
		this.stale = parameters.get("status") === "stale";
		this.load();
		into(this.sources, () => this.tracked());
	}

	load() {
		into(this.agents, () => this.counted());
		return into(this.facts, async () => {
			const [about, ready] = await Promise.all([self(), get("health/ready").catch((error) => ({ error }))]);
			if (ready.error) return e("p.note.bad", message(ready.error.message));
			const last = Number(ready.cursor?.split("-")[1] ?? 0);
			const followers = ready.followers ?? [];
			const late = followers.filter(({ state }) => state !== "following");
			return [late.length ? "" : e("p", e("span.badge.good", "Everything works")), (ready.notes ?? []).map((note) => e("p.note", message(note))),
				e("dl.facts.large", ready.things === undefined ? "" : [pair("Agents and other Things", e("strong", count(ready.things))), pair("Changes so far", count(last)),
					pair("Searches show", ready.indexed >= last ? "every change" : `changes up to number ${count(ready.indexed)}`)], pair("Version", about.version), pair("Registry id", e("span.id.t", about.registry))),
				followers.length ? fold("Parts of the server", () => grid("Parts of the server", ["Part", "State", "Last change", "Failures", "Rebuilds"], followers.map((one) => [
					PARTS[one.name] ?? one.name, e(`span.badge${one.state === "following" ? ".good" : ".bad"}`, STATES[one.state] ?? one.state), one.seq == null ? "" : count(one.seq), count(one.failures), count(one.rebuilds)]), true, ".numbers"), true) : ""];
		});
	}

	/** What there is: agents by what most people look for, and the newest. */
	async counted() {
		const [found, newest] = await Promise.all([get(`search?facets=${Object.keys(COUNTED).join(",")}&limit=1`), get("things?sort_by=created&sort_order=desc&limit=5")]);
		if (!found.total) return "";
		const values = (name, title) => {
			const all = found.facets?.[name] ?? [];
			return all.length ? e("div", e("h3", title), e("ul.plain", all.slice(0, MOST_VALUES).map(({ value, count: number }) => e("li", h("a.t", { href: href("", { [name]: value }) }, value.replace(/^lmos:/, "")), dim(` ${count(number)}`))))) : "";
		};
		return [e("h2", "Agents by"), e(".abilities", Object.entries(COUNTED).map(([name, title]) => values(name, title))),
			e("h2", "The newest"), e("ul.plain", newest.map((td) => e("li", who(td.id, td.title), " ", moment(td.registration?.created))))];
	}

	async tracked() {
		const sources = await get(`imports?limit=100${this.stale ? "&status=stale" : ""}`);
		const filter = e("p.bar", this.stale ? h("a", { href: "#/status" }, "All of them") : h("a", { href: "#/status?status=stale" }, "Only those that can't be read"));
		if (!sources.length) return [this.stale ? filter : "", e("p.dim", this.stale ? "All of these URLs can be read." : "There are no such agents. If an agent was added by its URL, the registry polls the URL for changes.")];
		return [filter, e("ul.cards", sources.map((one) => e("li.card", e("p", who(one.id)), sourceOf(one))))];
	}
}
customElements.define("view-status", StatusView);
