// Changes as they happen, by event streams that resume where they were.

import { enc, events, get, live, thing } from "./api.js";
import { count, cut, dim, e, failure, fold, h, moment, refill, who } from "./dom.js";

const KINDS = ["thing_created", "thing_updated", "thing_deleted", "thing_matched", "thing_unmatched"];
const WORDS = { thing_created: "created", thing_updated: "updated", thing_deleted: "removed", thing_matched: "now matches", thing_unmatched: "no longer matches" };
/** What is kept of each kind: one that comes often takes nothing from the others. */
const MOST = 100;
/** So many agents are enough to begin with. */
const FEW = 10;

/** An event stream that is closed while the page is hidden, and opened again after the last event. `missed` says that what a view shows may be older than the first event. */
export class Stream extends EventTarget {
	constructor(path, kinds, resumes = true) {
		super();
		Object.assign(this, { path, kinds, resumes, state: "connecting", wait: 1000 });
		this.seen = () => (document.hidden ? this.pause() : this.open());
	}

	start() {
		document.addEventListener("visibilitychange", this.seen);
		this.isLate = document.hidden;
		if (!document.hidden) this.open();
		return this;
	}

	async open() {
		if (this.source) return;
		clearTimeout(this.retry);
		const source = (this.source = new AbortController());
		try {
			for await (const event of events(this.path, { last: this.resumes && this.last, signal: source.signal })) {
				if (event.kind === "open") {
					this.wait = 1000;
					// Before the first event this is where the stream begins.
					if (this.resumes) this.last ??= event.id;
					this.become("live");
					this.dispatchEvent(new Event("open"));
					if (this.isLate) this.dispatchEvent(new Event("missed"));
					this.isLate = false;
				} else if (event.kind === "resync" || this.kinds.includes(event.kind)) this.take(event);
			}
		} catch (error) {
			// It ended, or was refused: what is refused to somebody is opened again once somebody else looks.
			if (this.source === source && error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)) {
				this.source = undefined;
				this.refusal = error;
				return this.become(error.status === 401 ? "signed out" : "refused");
			}
		}
		if (this.source !== source) return;
		this.isLate = true;
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
		this.dispatchEvent(new CustomEvent("change", { detail: { kind, data, seq: Number(id?.split("-")[1]), at: new Date().toISOString() } }));
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

/** What happened last, in the order in which it did, and the position to go on from. */
async function recent() {
	const { epoch, last } = await get("changes?limit=1");
	let changes;
	// Where one agent changes all the time, the others changed longer ago.
	for (const window of [60, 1000]) {
		({ changes } = await get(`changes?since=${epoch}-${Math.max(0, last - window)}&limit=1000`));
		if (new Set(changes.map(({ id }) => id)).size > FEW) break;
	}
	const entries = changes.map(({ kind, id, td, patch, at, reason, seq }) => ({ kind, data: { ...(td ?? patch), id }, at, reason, seq }));
	return { entries, position: `${epoch}-${changes.at(-1)?.seq ?? last}` };
}

/** What was and is, of one change of an agent. */
async function changed(id, seq) {
	const [{ changes }, { diff, versions }] = await Promise.all([get(thing(id, "/history?limit=1000")), import("./difference.js")]);
	const found = versions(changes).find((one) => one.seq === seq);
	return found?.places.length ? diff(found.places) : e("p.dim", found ? "Its description is the same; its visibility or time to live has changed." : "The registry no longer has this change.");
}

/** A change in a list; `titles` has those that earlier changes told. */
function entry({ kind, data, at, reason, seq, times }, titles) {
	if (kind === "resync") return e("li.change", e("span.kind", "gap"), e("span", "Changes are missing: the list starts again here."));
	const removed = kind === "thing_deleted";
	const title = data.title ?? titles.get(data.id) ?? data.id;
	const members = Object.keys(data).filter((name) => name !== "id" && !name.startsWith("@"));
	return e(`li.change.${kind}`,
		e("span.kind", WORDS[kind] ?? kind),
		e("span.what",
			removed ? e("span.t", cut(title)) : who(data.id, title),
			reason ? dim(` ${reason}`) : "", times > 1 ? dim(` ${count(times)} times`) : "",
			e("span.id.t", title === data.id ? "" : cut(data.id, 500)),
			kind === "thing_updated" && seq ? fold([times > 1 ? "What changed last" : "What changed", members.length ? dim(`: ${cut(members.slice(0, 6).join(", "))}`) : ""], () => changed(data.id, seq)) : ""),
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
		Object.assign(this, { changes: [], rows: new Map(), titles: new Map(), paused: false, waiting: 0, hiddenKinds: new Set() });
		stream.addEventListener("change", ({ detail }) => {
			this.learn(detail);
			this.take(detail);
			if (this.paused) this.waiting += 1;
			this.draw();
		});
		stream.addEventListener("state", () => this.draw());
		this.list = h("ol.changes", { "aria-label": "Changes" });
		this.state = h("p.dim", { role: "status" });
		this.pausing = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.pause() }, "Pause");
		const select = h("select", { id: "of", onchange: () => (location.hash = select.value) }, h("option", { value: "#/live" }, "All agents"));
		get("queries").then((queries) => {
			for (const query of queries) select.append(h("option", { value: live(query) }, "Saved search: ", query.owner && `${query.owner}/`, query.name));
			select.value = this.of;
		}, (error) => this.append(failure(error)));
		const kinds = name ? KINDS.slice(3) : KINDS.slice(0, 3);
		const kind = (one) => e("label.option", h("input", { type: "checkbox", checked: true, onchange: ({ target }) => {
			target.checked ? this.hiddenKinds.delete(one) : this.hiddenKinds.add(one);
			this.draw(true);
		} }), WORDS[one]);
		refill(this, e("h1", "Changes"), e("p.dim", "What happens in the registry, as it happens."),
			e(".bar", h("label", { for: "of" }, "Changes of"), select, h("fieldset.bar.kinds", {}, e("legend.sr", "Kinds of changes"), kinds.map(kind)), this.pausing, this.state), this.list);
		try {
			if (!name) {
				const { entries, position } = await recent();
				if (this.stream !== stream) return;
				for (const change of entries) {
					this.learn(change);
					this.take(change);
				}
				stream.last = position;
			}
		} catch {
			// It starts with what comes next.
		}
		if (!this.isConnected || this.stream !== stream) return;
		stream.start();
		this.draw();
	}

	/** Takes a change; of each kind the latest are kept. One agent that changes again and again has one place, but for what is open. */
	take(change) {
		const isSame = (one) => one.kind === "thing_updated" && one.kind === change.kind && one.data.id === change.data.id && !this.rows.get(one)?.querySelector("[open]");
		const before = this.changes.find(isSame);
		change.times = 1 + (before?.times ?? 0);
		this.changes = [change, ...this.changes.filter((one) => one !== before)];
		const same = this.changes.filter(({ kind }) => kind === change.kind);
		if (same.length > MOST) this.changes.splice(this.changes.lastIndexOf(same.at(-1)), 1);
	}

	/** Holds the list still, or goes on with what came meanwhile. */
	pause() {
		this.paused = !this.paused;
		this.waiting = 0;
		this.pausing.setAttribute("aria-pressed", String(this.paused));
		this.draw(true);
	}

	/** Remembers the title of an agent; asks for those that no change told, of the first hundred agents. */
	learn({ kind, data: { id, title } }) {
		if (typeof title === "string") this.titles.set(id, title);
		else if (kind === "thing_updated" && !this.titles.has(id) && this.titles.size < 100) {
			this.titles.set(id, undefined);
			get(thing(id)).then(({ title }) => { this.titles.set(id, title); this.rows.clear(); this.draw(); }, () => {});
		}
	}

	disconnectedCallback() {
		this.stream?.stop();
	}

	draw(anyway) {
		this.anyway ||= anyway;
		// Thousands of changes a second are drawn at most once a frame.
		if (this.drawing) return;
		this.drawing = requestAnimationFrame(() => {
			this.drawing = 0;
			const words = { live: "live", connecting: "connecting…", offline: "interrupted; it resumes", refused: "stopped" };
			const shown = this.changes.filter(({ kind }) => !this.hiddenKinds.has(kind));
			this.pausing.textContent = this.paused ? `Resume${this.waiting ? ` (${count(this.waiting)} new)` : ""}` : "Pause";
			if (this.paused && !this.anyway) return;
			this.anyway = false;
			this.state.textContent = `${this.paused ? "paused" : words[this.stream.state] ?? this.stream.state} · ${count(shown.length)} shown, latest first`;
			this.place(shown);
		});
	}

	/** Draws the changes; those that are drawn already stay as they are, with what is open in them. */
	place(shown) {
		const rows = new Map(shown.map((change) => [change, this.rows.get(change) ?? entry(change, this.titles)]));
		this.rows = rows;
		const refusal = ["signed out", "refused"].includes(this.stream.state) && this.stream.refusal;
		const wanted = rows.size ? [...rows.values()] : [refusal ? e("li", failure(refusal)) : e("li.dim", this.changes.length ? "No changes of these kinds." : "Nothing has changed yet.")];
		const keep = new Set(wanted);
		for (const row of [...this.list.children]) if (!keep.has(row)) row.remove();
		wanted.forEach((row, at) => this.list.children[at] === row || this.list.insertBefore(row, this.list.children[at] ?? null));
	}
}
customElements.define("view-live", LiveView);
