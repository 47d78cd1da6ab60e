// The page of an agent: what it can do, how it is called, what it is made of, and what became of it.

import { enc, exactly, exists, get, may, request, self, send, thing } from "./api.js";
import { command, inWords, target } from "./call.js";
import { announce, ask, copier, copyable, dim, e, fold, h, into, link, moment, pair, refill, shown, who } from "./dom.js";
import { diff, versions } from "./difference.js";
import { feed } from "./live.js";
import { table, typeOf } from "./schema.js";

const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const texts = (value) => list(value).filter((one) => typeof one === "string");
const json = (value) => JSON.stringify(value, null, 2);

/** A member with the prefix `lmos:` or without. */
const lmos = (object, name) => object?.[`lmos:${name}`] ?? object?.[name];

class AgentView extends HTMLElement {
	connectedCallback() {
		this.changed = ({ detail }) => {
			if (detail.data.id !== this.key) return;
			if (detail.kind === "thing_deleted") this.load();
			else this.stale.hidden = false;
		};
		feed.addEventListener("change", this.changed);
	}

	disconnectedCallback() {
		feed.removeEventListener("change", this.changed);
	}

	update(parameters) {
		this.parameters = parameters;
		if (this.td) return;
		this.load();
	}

	load() {
		return into(this, async () => {
			try {
				const { value, text } = await request("GET", thing(this.key));
				[this.td, this.exact] = [value, exactly(text)];
			} catch (error) {
				if (error.status !== 404) throw error;
				return [e("h1", "No such agent"), e("p.id.t", this.key), e("p", "It was removed, has expired, or was never registered."),
					fold("Its history", () => history(this.key)), e("p", h("a", { href: "#/" }, "Find agents"))];
			}
			document.title = `${shown(titleOf(this.td))} · agentdex`;
			return this.draw(this.td);
		});
	}

	draw(td) {
		const id = this.key;
		this.stale = h("p.note", { role: "status", hidden: true }, "Its description has changed. ",
			h("button.quiet", { onclick: () => this.load() }, "Show it as it is now"));
		const open = this.parameters.get("open");
		return [
			header(td, id), this.stale,
			abilities(td),
			security(td),
			links(td),
			this.talk(td, id),
			fold("Documents", () => documents(id), open === "documents"),
			fold("History", () => history(id), open === "history"),
			fold("Related agents", () => related(id), open === "related"),
			fold("Raw JSON", () => copyable(json(this.exact), "the description"), open === "json"),
			this.operations(td, id),
		];
	}

	/** A conversation with it, where the registry offers that and it can do something. */
	talk(td, id) {
		const place = e(".talk");
		Promise.all([self(), may("register")]).then(([{ links }, may]) => may && links.conversation && td.actions && refill(place,
			fold("Talk with it", async () => (await import("./chat.js")).chat(id))), () => {});
		return place;
	}

	/** Whose it is and who sees it, where the registry authenticates; its owner changes that. */
	async sight(place, { owner, visibility, namespace }, mine, id, attempt) {
		const { access } = await self();
		if (!access.authentication) return;
		const words = { public: "everybody who may read", namespace: `the members of ${namespace ?? "its namespace"}`, private: "its owner" };
		const change = (parameters) => send("PUT", thing(id, `/access${parameters}`), { visibility: select.value }, undefined, { prefer: "return=effect" });
		// What fewer saw stays hidden until its owner says otherwise.
		const show = async () => {
			const { value } = await change("");
			const hidden = value.warnings.filter(({ rule }) => rule === "versions-hidden");
			if (!hidden.length) return;
			if (await ask(hidden.map(({ message }) => e("p.t", message)), "Publish these too", "Keep them hidden")) await change("?versions=all");
		};
		const select = h("select", { id: "sight", onchange: (event) => attempt(show, "It is so now.")(event) },
			Object.entries(words).map(([value, text]) => h("option", { value, selected: value === visibility }, text)));
		refill(place, e("p.bar", dim("Registered by "), e("span.t", owner ?? "nobody"), mine ? [h("label", { for: "sight" }, "Seen by"), select] : dim(` · seen by ${words[visibility]}`)));
	}

	/** What can be done with its registration, by its owner and admins. */
	operations(td, id) {
		const said = h("p", { role: "status" });
		const attempt = (work, done) => () => into(said, async () => {
			await work();
			return done;
		});
		const source = e(".source");
		const actions = e(".bar");
		const sight = e("div");
		const access = get(thing(id, "/access"));
		const mine = access.then(({ owner }) => may("register", owner ?? ""));
		Promise.all([get(`imports/${enc(id)}`), mine]).then(([tracked, mine]) => refill(source, sourceOf(tracked), mine && [
			h("button", { onclick: attempt(() => send("POST", thing(id, "/refresh")), "It was polled.") }, "Poll it now"), " ",
			h("button.quiet", { onclick: attempt(() => send("DELETE", `imports/${enc(id)}`), "It is no longer tracked.") }, "Stop tracking it")]), () => {});
		const removed = attempt(async () => {
			await send("DELETE", thing(id));
			announce("Removed");
			location.hash = "#/";
		});
		const sure = async () => (await ask(e("p", "Remove ", e("strong.t", titleOf(td)), " from the registry?"), "Remove it", "Keep it", "danger")) && removed();
		Promise.all([access, mine]).then(([access, mine]) => {
			if (mine) refill(actions, h("a.button", { href: `#/add?edit=${enc(id)}` }, "Edit"), h("button.quiet", { onclick: sure }, "Remove…"));
			return this.sight(sight, access, mine, id, attempt);
		}).catch(() => {});
		return h("section.operations", { "aria-label": "Registration" }, sight, source, actions, said);
	}
}
customElements.define("view-agent", AgentView);

export const titleOf = (td) => (typeof td.title === "string" && td.title ? td.title : td.id ?? "");

/** What an agent is, in short. */
export function header(td, id) {
	const metadata = lmos(td, "metadata");
	const vendor = lmos(metadata, "vendor") ?? lmos(td, "vendor");
	const registration = td.registration ?? {};
	const signature = td["agentdex:signature"];
	const tags = texts(td["schema:keywords"] ?? td.tags);
	const badge = (text, kind = "") => e(`span.badge${kind}`, text);
	const vendorName = isObject(vendor) ? lmos(vendor, "name") ?? vendor["schema:name"] : vendor;
	return [
		e("h1.t", titleOf(td)),
		e("p.badges", texts(td["@type"]).map((type) => badge(type)),
			signature ? badge(`signature ${signature.status}`, signature.status === "valid" ? ".good" : signature.status === "unsigned" ? "" : ".bad") : "",
			td["agentdex:status"] ? badge(String(td["agentdex:status"]), ".bad") : "",
			list(registration["agentdex:flags"]).map(({ kind, pointer, found }) => h("span.badge.bad.t", { title: `${pointer}: ${found}` }, kind))),
		id ? e("p.id", e("span.t", id), " ", copier(() => id, "the id")) : "",
		typeof td.description === "string" ? e("p.lead.t", td.description) : "",
		e("dl.facts",
			typeof vendorName === "string" ? pair("Vendor", e("span.t", vendorName)) : "",
			texts(td.version?.instance).map((version) => pair("Version", e("span.t", version))),
			tags.length ? pair("Tags", tags.map((tag, at) => [at ? ", " : "", h("a.t", { href: `#/?tag=${enc(tag)}` }, tag)])) : "",
			registration.created ? pair("Registered", moment(registration.created)) : "",
			registration.modified && registration.modified !== registration.created ? pair("Changed", moment(registration.modified)) : "",
			registration.expires ? pair("Expires", moment(registration.expires)) : "",
			(registration["agentdex:partOf"] ?? []).map((id) => pair("Part of", who(String(id))))),
	];
}

/** What it can do. */
export function abilities(td) {
	const capabilities = list(td["lmos:capabilities"] ?? td.capabilities).filter(isObject);
	const of = (kind, member) => Object.entries(isObject(td[member]) ? td[member] : {}).filter(([, one]) => isObject(one)).map(([name, one]) => affordance(kind, name, one, td));
	const [actions, properties, events] = [of("action", "actions"), of("property", "properties"), of("event", "events")];
	return [
		capabilities.length ? e("section", e("h2", "What it can do"), e("ul.abilities", capabilities.map((capability) => e("li",
			e("strong.t", lmos(capability, "name") ?? lmos(capability, "id") ?? ""), " ",
			lmos(capability, "version") ? e("span.dim.t", `v${lmos(capability, "version")}`) : "",
			e("p.t", lmos(capability, "description") ?? ""),
			texts(lmos(capability, "examples")).slice(0, 5).map((example) => e("q.t", example)),
			["input", "output"].map((side) => isObject(capability[side]) ? table(capability[side], side === "input" ? "Input" : "Output") : ""))))) : "",
		actions.length ? e("section", e("h2", "Actions"), actions) : "",
		properties.length ? e("section", e("h2", "Properties"), properties) : "",
		events.length ? e("section", e("h2", "Events"), events) : "",
	];
}

function affordance(kind, name, one, td) {
	const shapes = kind === "action" ? [["Input", one.input], ["Output", one.output]] : kind === "event" ? [["Data", one.data]] : [["Value", one]];
	const forms = list(one.forms).filter((form) => isObject(form) && typeof form.href === "string");
	return e("article.affordance",
		e("h3", e("span.t", one.title ?? name), one.title ? e("code.dim.t", name) : ""),
		one.description ? e("p.t", one.description) : "",
		isObject(one.uriVariables) ? table({ type: "object", properties: one.uriVariables }, "In the URL") : "",
		shapes.map(([caption, schema]) => schema === undefined ? "" : e("div", caption === "Value" ? e("p.schema", e("span.type", typeOf(schema))) : [typeof schema === "object" && !schema?.properties && !schema?.items?.properties ? e("h4", caption) : "", table(schema, caption)])),
		forms.length ? e("details.calls", e("summary", forms.length === 1 ? "Call it" : `Call it, in ${forms.length} ways`), forms.slice(0, 10).map((form) => {
			const line = command(form, kind, one, td);
			const protocol = [form.subprotocol, form.contentType].filter((text) => typeof text === "string").join(", ");
			return e(".form", protocol ? e("p.dim.t", protocol) : "", copyable(line ?? target(form, td.base), line ? `a command that calls ${one.title ?? name}` : "the address"));
		})) : "");
}

function security(td) {
	const names = texts(td.security);
	if (!names.length) return "";
	return e("section", e("h2", "What a caller needs"), e("ul.plain", names.map((name) => e("li.t", inWords(name, td.securityDefinitions?.[name])))));
}

function links(td) {
	const all = list(td.links).filter((one) => isObject(one) && typeof one.href === "string").slice(0, 50);
	if (typeof td.support === "string") all.unshift({ rel: "support", href: td.support });
	if (!all.length) return "";
	return e("section", e("h2", "Links"), e("ul.plain", all.map(({ rel, href, type }) => e("li",
		rel ? e("span.dim.t", `${rel} `) : "", type === "application/td+json" && /^urn:/.test(href) ? who(href) : link(href, undefined, td.base)))));
}

/** The description in each format and version that it can be exported in. */
async function documents(id) {
	const { formats } = await self();
	const offered = [{ name: "W3C Thing Description", path: thing(id) }];
	for (const format of formats.filter((format) => format.export)) {
		const path = format.export.replace("{id}", enc(id));
		const noun = format.noun.replace(/^an? /, "");
		if (!format.versions.length) offered.push({ name: noun, path });
		for (const version of format.versions) offered.push({ name: `${noun}, ${version}`, path: `${path}?version=${enc(version)}` });
	}
	const there = await Promise.all(offered.map(({ path }) => exists(path)));
	return e("ul.plain", offered.filter((_, at) => there[at]).map(({ name, path }) => e("li", h("a", { href: path, target: "_blank", rel: "noopener" }, name[0].toUpperCase() + name.slice(1)))));
}

/** The changes that the log still holds, each with what differs. */
async function history(id) {
	const { changes } = await get(thing(id, "/history?limit=1000"));
	const words = { thing_created: "Registered", thing_updated: "Changed", thing_deleted: "Removed" };
	return e("ol.history", versions(changes).map(({ kind, at, reason, seq, places, actor }) => e("li",
		e("p", e("strong", words[kind] ?? kind), " ", moment(at), dim(` at position ${seq}${reason ? `, ${reason}` : ""}${actor ? `, by ${actor}` : ""}`)),
		places.length ? diff(places) : "")));
}

/** Agents that can take what this one gives, or give what it needs. */
async function related(id) {
	const { capabilities } = await get(thing(id, "/compatible?limit=5"));
	const hits = (title, found) => found.length ? [e("h4", title), e("ul.plain", found.map((hit) => e("li",
		who(hit.id, hit.title), e("span.dim.t", ` ${hit.capability}: ${hit.why}`))))] : "";
	const found = capabilities.filter((one) => one.takes_output.length || one.gives_input.length);
	if (!found.length) return e("p.dim", "No other agent takes what this one gives, or gives what it needs.");
	return found.map((one) => e("div", e("h3.t", one.capability), hits("can take what it gives", one.takes_output), hits("can give what it needs", one.gives_input)));
}

/** A tracked source. */
export function sourceOf(tracked) {
	const bad = tracked.failures > 0;
	return e("p", "Tracked at ", link(tracked.source), dim(`, as ${tracked.format}; last polled `), moment(tracked.lastFetch), dim(", next "), moment(tracked.nextTry), ". ",
		tracked.status === "stale" ? e("span.badge.bad", "stale") : "", bad ? e("span.note.bad.t", `${tracked.failures} failed in a row: ${tracked.lastError ?? ""}`) : "");
}

