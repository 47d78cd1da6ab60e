// Changes as they happen, by event streams that resume where they were.

import { enc, events, get, live, thing } from "./api.js";
import { count, dim, e, failure, h, moment, refill, who } from "./dom.js";

const KINDS = ["thing_created", "thing_updated", "thing_deleted", "thing_matched", "thing_unmatched"];
const WORDS = { thing_created: "registered", thing_updated: "changed", thing_deleted: "removed", thing_matched: "now matches", thing_unmatched: "no longer matches" };
const MOST = 200;

/** An event stream that is closed while the page is hidden, and opened again after the last event. */
export class Stream extends EventTarget {
	constructor(path, kinds, resumes = true) {
		super();
		Object.assign(this, { path, kinds, resumes, state: "connecting", wait: 1000 });
		this.seen = () => (document.hidden ? this.pause() : this.open());
	}

	start() {
		document.addEventListener("visibilitychange", this.seen);
		if (!document.hidden) this.open();
		return this;
	}

	async open() {
		if (this.source) return;
		clearTimeout(this.retry);
		const source = (this.source = new AbortController());
		try {
			for await (const event of events(this.path, this.resumes && this.last, source.signal)) {
				if (event.kind === "open") {
					this.wait = 1000;
					this.become("live");
					this.dispatchEvent(new Event("open"));
				} else if (event.kind === "resync" || this.kinds.includes(event.kind)) this.take(event);
			}
		} catch {
			// It ended, or was refused.
		}
		if (this.source !== source) return;
		this.become("offline");
		this.source = undefined;
		this.retry = setTimeout(() => this.open(), this.wait);
		this.wait = Math.min(2 * this.wait, 30_000);
	}

	/** Opens it again, as somebody else. */
	restart() {
		this.pause();
		if (!document.hidden) this.open();
	}

	take({ kind, id, data: text }) {
		if (id) this.last = id;
		let data = {};
		try {
			data = JSON.parse(text);
		} catch {
			// An event without data.
		}
		this.dispatchEvent(new CustomEvent("change", { detail: { kind, data, at: new Date().toISOString() } }));
	}

	become(state) {
		if (this.state === state) return;
		this.state = state;
		this.dispatchEvent(new Event("state"));
	}

	pause() {
		clearTimeout(this.retry);
		this.source?.abort();
		this.source = undefined;
	}

	stop() {
		document.removeEventListener("visibilitychange", this.seen);
		this.pause();
	}
}

/** That something changed: for views that show it. */
export const feed = new Stream("events", KINDS.slice(0, 3));

/** What happened last, the latest first, and the position to go on from. */
async function recent() {
	const { epoch, last } = await get("changes?limit=1");
	const { changes } = await get(`changes?since=${epoch}-${Math.max(0, last - 30)}&limit=100`);
	const entries = changes.reverse().map(({ kind, id, td, patch, at, reason }) => ({ kind, data: { ...(td ?? patch), id }, at, reason }));
	return { entries, position: `${epoch}-${changes[0]?.seq ?? last}` };
}

/** A change in a list; `titles` has those that earlier changes told. */
function entry({ kind, data, at, reason }, titles) {
	if (kind === "resync") return e("li.change", e("span.kind", "resync"), e("span", "Changes are missing: the list starts again here."));
	const removed = kind === "thing_deleted";
	const title = data.title ?? titles.get(data.id) ?? data.id;
	const members = Object.keys(data).filter((name) => name !== "id" && !name.startsWith("@"));
	return e(`li.change.${kind}`,
		e("span.kind", WORDS[kind] ?? kind),
		e("span.what",
			removed ? e("span.t", title) : who(data.id, title),
			kind === "thing_updated" && members.length ? dim(` ${members.slice(0, 6).join(", ")}`) : "",
			reason ? dim(` ${reason}`) : "",
			e("span.id.t", title === data.id ? "" : data.id)),
		moment(at));
}

class LiveView extends HTMLElement {
	async update(parameters) {
		if (this.of === location.hash) return;
		this.of = location.hash;
		const name = parameters.get("query");
		parameters.delete("query");
		parameters.append("diff", true);
		this.stream?.stop();
		const stream = (this.stream = new Stream(`${name ? `queries/${enc(name)}/` : ""}events?${parameters}`, KINDS));
		this.changes = [];
		this.titles = new Map();
		stream.addEventListener("change", ({ detail }) => {
			this.learn(detail);
			this.changes.unshift(detail);
			this.changes.length = Math.min(this.changes.length, MOST);
			this.draw();
		});
		stream.addEventListener("state", () => this.draw());
		this.list = h("ol.changes", { "aria-label": "Changes" });
		this.state = h("p.dim", { role: "status" });
		const select = h("select", { id: "of", onchange: () => (location.hash = select.value) }, h("option", { value: "#/live" }, "All agents"));
		get("queries").then((queries) => {
			for (const query of queries) select.append(h("option", { value: live(query) }, "Saved query: ", query.owner && `${query.owner}/`, query.name));
			select.value = this.of;
		}, (error) => this.append(failure(error)));
		refill(this, e("h1", "Live"), e(".bar", h("label", { for: "of" }, "Changes of"), select, this.state), this.list);
		try {
			if (!name) {
				const { entries, position } = await recent();
				entries.toReversed().forEach((change) => this.learn(change));
				this.changes = entries;
				stream.last = position;
			}
		} catch {
			// It starts with what comes next.
		}
		if (!this.isConnected || this.stream !== stream) return;
		stream.start();
		this.draw();
	}

	/** Remembers the title of an agent; asks for those that no change told, of the first hundred agents. */
	learn({ kind, data: { id, title } }) {
		if (typeof title === "string") this.titles.set(id, title);
		else if (kind === "thing_updated" && !this.titles.has(id) && this.titles.size < 100) {
			this.titles.set(id, undefined);
			get(thing(id)).then(({ title }) => { this.titles.set(id, title); this.draw(); }, () => {});
		}
	}

	disconnectedCallback() {
		this.stream?.stop();
	}

	draw() {
		// Thousands of changes a second are drawn at most once a frame.
		if (this.drawing) return;
		this.drawing = requestAnimationFrame(() => {
			this.drawing = 0;
			const words = { live: "live", connecting: "connecting…", offline: "interrupted; it resumes" };
			this.state.textContent = `${words[this.stream.state]} · ${count(this.changes.length)} shown, the latest first`;
			refill(this.list, this.changes.length ? this.changes.map((change) => entry(change, this.titles)) : e("li.dim", "Nothing has changed yet."));
		});
	}
}
customElements.define("view-live", LiveView);
