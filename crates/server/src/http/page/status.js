// The state of the registry: how many agents, how far its followers are, which sources are tracked.

import { get, self } from "./api.js";
import { sourceOf } from "./agent.js";
import { count, e, grid, h, into, pair, refill, who } from "./dom.js";
import { feed } from "./live.js";

class StatusView extends HTMLElement {
	connectedCallback() {
		this.facts = e("div");
		this.sources = e("div");
		refill(this, e("h1", "Registry"), this.facts, e("h2", "Tracked sources"), this.sources);
		this.changed = () => {
			clearTimeout(this.later);
			this.later = setTimeout(() => this.load(), 500);
		};
		feed.addEventListener("change", this.changed);
	}

	disconnectedCallback() {
		feed.removeEventListener("change", this.changed);
		clearTimeout(this.later);
	}

	update(parameters) {
		this.stale = parameters.get("status") === "stale";
		this.load();
		into(this.sources, () => this.tracked());
	}

	load() {
		return into(this.facts, async () => {
			const [about, ready] = await Promise.all([self(), get("health/ready").catch((error) => ({ error }))]);
			const state = ready.error ? e("p.note.bad", ready.error.message) : "";
			const last = Number(ready.cursor?.split("-")[1] ?? 0);
			return [state, e("dl.facts.large",
				ready.error ? "" : [pair("Agents and Things", e("strong", count(ready.things))), pair("Changes so far", count(last)),
					pair("Searches show", ready.indexed >= last ? "every change" : `up to change ${count(ready.indexed)}`)],
				pair("Version", about.version), pair("Id", e("span.id.t", about.registry))),
			ready.error ? "" : grid("What follows the log", ["Follower", "State", "Position", "Failures", "Rebuilds"], ready.followers.map((one) => [
				one.name, e(`span.badge${one.state === "following" ? ".good" : ".bad"}`, one.state), one.seq == null ? "" : count(one.seq), count(one.failures), count(one.rebuilds)]), false, ".numbers"),
			e("p.bar", h("a", { href: "docs/" }, "REST API"), h("a", { href: "openapi.json" }, "OpenAPI"), h("a", { href: "#/metrics" }, "Metrics"), h("a", { href: ".well-known/wot" }, "Its own description"))];
		});
	}

	async tracked() {
		const sources = await get(`imports?limit=100${this.stale ? "&status=stale" : ""}`);
		const filter = e("p.bar", this.stale ? h("a", { href: "#/status" }, "All sources") : h("a", { href: "#/status?status=stale" }, "Only those that fail"));
		if (!sources.length) return [this.stale ? filter : "", e("p.dim", this.stale ? "None is stale." : "None: agents that are added by URL are polled for changes.")];
		return [filter, e("ul.cards", sources.map((one) => e("li.card", e("p", who(one.id)), sourceOf(one))))];
	}
}
customElements.define("view-status", StatusView);
