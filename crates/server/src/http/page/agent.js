// The page of an agent: what it can do, how it is called, what it is made of, and what became of it.

import { edited, enc, exactly, get, href, may, request, self, send, thing } from "./api.js";
import { inWords, needsCredential } from "./call.js";
import { abilities, attributed, header, sourceOf, texts, titleOf } from "./description.js";
import { announce, ask, copyable, cut, dim, e, fold, h, into, link, message, moment, refill, shown, who } from "./dom.js";
import { diff, versions } from "./difference.js";
import { feed } from "./live.js";
import { isObject, list } from "./schema.js";

const json = (value) => JSON.stringify(value, null, 2);
const plain = (text) => JSON.stringify(edited(text));

class AgentView extends HTMLElement {
	connectedCallback() {
		this.changed = ({ detail }) => {
			if (detail && detail.kind !== "resync" && detail.data.id !== this.key) return;
			clearTimeout(this.later);
			this.later = setTimeout(() => this.compare(), 100);
		};
		for (const kind of ["change", "missed"]) feed.addEventListener(kind, this.changed);
	}

	disconnectedCallback() {
		for (const kind of ["change", "missed"]) feed.removeEventListener(kind, this.changed);
		clearTimeout(this.later);
		this.left?.abort();
	}

	update(parameters) {
		this.parameters = parameters;
		if (this.td) return this.reveal(parameters.get("open"));
		this.load();
	}

	/** Opens a part of the page, and goes there. */
	reveal(name) {
		const part = name && this.querySelector(`[data-part="${CSS.escape(name)}"]`);
		if (!part) return;
		part.open = true;
		part.scrollIntoView({ block: "start" });
		part.querySelector("summary")?.focus({ preventScroll: true });
	}

	async load() {
		await into(this, async () => {
			try {
				const { value, text } = await request("GET", thing(this.key));
				[this.td, this.text] = [value, text];
			} catch (error) {
				this.td = undefined;
				if (error.status !== 404) throw error;
				return [e("h1", "No such agent"), e("p.id.t", cut(this.key, 500)), e("p", "It was removed, has expired, or was never registered."),
					fold("Its history", () => history(this.key)), e("p", h("a", { href: "#/" }, "Find agents"))];
			}
			document.title = `${shown(cut(titleOf(this.td)))} · agentdex`;
			return this.draw(this.td);
		});
		this.reveal(this.parameters.get("open"));
	}

	/** Says so if the description is no longer the one that is shown. Who may see it is no part of it. */
	async compare() {
		const found = await request("GET", thing(this.key)).catch((error) => error);
		if (!this.isConnected) return;
		if (found.status === 404 ? this.td : found.text && !this.td) return this.load();
		if (found.text && plain(found.text) !== plain(this.text)) this.stale.hidden = false;
	}

	draw(td) {
		const id = this.key;
		// What was drawn before is gone, and so is who waits there for an answer.
		this.left?.abort();
		this.left = new AbortController();
		const left = this.left.signal;
		this.stale = h("p.note.stale", { role: "status", hidden: true }, "Its description has changed. ",
			h("button.quiet", { onclick: () => this.load() }, "Show the current version"));
		const part = (name, title, load) => attributed(fold(title, load), name);
		const obstacle = obstacleTo();
		const talk = e(".talk");
		const parts = h("nav.parts", { "aria-label": "Parts of this page" });
		this.offer(td, id, parts, talk, { obstacle, left });
		return [
			header(td, id), parts, this.stale,
			isFlow(td) ? drawing(id, td) : "",
			abilities(td, { id, obstacle, left }),
			security(td),
			links(td),
			talk,
			isServer(td) ? part("connect", "Connect a client", async () => (await import("./connect.js")).connect(thing(id, "/connect"))) : "",
			part("history", "History", () => history(id)),
			part("documents", "Documents", () => documents(id)),
			part("related", "Related agents", () => related(id)),
			part("json", "Raw JSON", () => copyable(json(exactly(this.text)), "the description")),
			this.operations(td, id),
		];
	}

	/** Links to what can be done here, as far as it can be done by whoever looks at the page. */
	async offer(td, id, parts, talk, { obstacle, left }) {
		const { textActions } = await import("./chat.js");
		const actions = textActions(td).filter(([name]) => !needsCredential(td.actions[name], td));
		const talks = !(await obstacle) && actions.length > 0;
		if (talks) {
			refill(talk, attributed(fold("Talk with it", async () => (await import("./chat.js")).chat(id, { actions, several: Object.keys(td.actions).length > 1, left })), "talk"));
		}
		const mine = await get(thing(id, "/access")).then(({ owner }) => may("register", owner ?? ""), () => false);
		const to = (name, text) => h("a", { href: href(`agent/${enc(id)}`, { open: name }), onclick: () => this.reveal(name) }, text);
		refill(parts, mine ? h("a.button", { href: `#/add?edit=${enc(id)}` }, "Edit") : "", talks ? to("talk", "Talk") : "",
			this.querySelector("[data-part=call]") ? to("call", "Call") : "", isServer(td) ? to("connect", "Connect") : "", to("history", "History"), to("documents", "Documents"), to("related", "Related"), to("json", "JSON"),
			mine ? to("registration", "Registration") : "");
		if (this.parameters.get("open") === "talk") this.reveal("talk");
	}

	/** Whose it is and who sees it, where the registry authenticates; its owner changes that. */
	async sight(place, { owner, visibility, namespace }, mine, id, attempt) {
		const { access } = await self();
		if (!access.authentication) return;
		const words = (visibility, namespace) => ({ public: "everyone who can read", namespace: `the members of ${namespace ?? "a namespace"}`, private: "its owner" })[visibility];
		if (!mine) return refill(place, e("p.bar", dim("Registered by "), e("span.t", owner ?? "nobody"), dim(` · visible to ${words(visibility, namespace)}`)));
		// Only the namespaces of whoever looks at the page can be chosen, and the one that it is in.
		const known = await get("namespaces").then((all) => all.map(({ name }) => name), () => []);
		const names = [...new Set([namespace, ...known].filter(Boolean))].slice(0, 200);
		const choices = [["public"], ...names.map((name) => ["namespace", name]), ["private"]];
		const change = (parameters) => {
			const [visibility, namespace] = choices[select.selectedIndex];
			return send("PUT", thing(id, `/access${parameters}`), namespace ? { visibility, namespace } : { visibility }, undefined, { prefer: "return=effect" });
		};
		// What fewer saw stays hidden until its owner says otherwise.
		const show = async () => {
			const { value } = await change("");
			const hidden = value.warnings.filter(({ rule }) => rule === "versions-hidden");
			if (!hidden.length) return;
			if (await ask(hidden.map(({ message }) => e("p.t", message)), "Publish these too", "Keep them hidden")) await change("?versions=all");
		};
		const select = h("select", { id: "sight", onchange: (event) => attempt(show, () => `It is now visible to ${words(...choices[select.selectedIndex])}.`)(event) },
			choices.map(([value, name]) => h("option", { value: name ? `namespace ${name}` : value, selected: value === visibility && (value !== "namespace" || name === namespace) }, words(value, name))));
		refill(place, e("p.bar", dim("Registered by "), e("span.t", owner ?? "nobody"), h("label", { for: "sight" }, "Visible to"), select));
	}

	/** What can be done with its registration, by its owner and admins. */
	operations(td, id) {
		const said = h("p", { role: "status" });
		const attempt = (work, done) => () => into(said, async () => {
			await work();
			return typeof done === "function" ? done() : done;
		});
		const source = e(".source");
		const actions = e(".bar");
		const sight = e("div");
		const access = get(thing(id, "/access"));
		const mine = access.then(({ owner }) => may("register", owner ?? ""));
		Promise.all([get(`imports?id=${enc(id)}`), mine]).then(([[tracked], mine]) => tracked && refill(source, sourceOf(tracked), mine && [
			h("button", { onclick: attempt(() => send("POST", thing(id, "/refresh")), "It was polled.") }, "Poll it now"), " ",
			h("button.quiet", { onclick: attempt(() => send("DELETE", `imports/${enc(id)}`), "It is no longer tracked.") }, "Stop tracking it")]), () => {});
		const removed = attempt(async () => {
			await send("DELETE", thing(id));
			announce("Removed");
			location.hash = "#/";
		});
		const sure = async () => (await ask(e("p", "Remove ", e("strong.t", cut(titleOf(td))), " from the registry?"), "Remove it", "Keep it", "danger")) && removed();
		Promise.all([access, mine]).then(([access, mine]) => {
			if (mine) refill(actions, h("button.quiet", { onclick: sure }, "Remove…"));
			return this.sight(sight, access, mine, id, attempt);
		}).catch(() => {});
		return h("section.operations", { "aria-label": "Registration", "data-part": "registration" }, sight, source, actions, said);
	}
}
customElements.define("view-agent", AgentView);

/** Why whoever looks at the page can't call agents from it; nothing if they can. */
async function obstacleTo() {
	try {
		const [{ links }, mayCall] = await Promise.all([self(), may("register")]);
		if (!links.conversation) return "This registry doesn't call agents for you. Fill the form in, and copy the command.";
		return mayCall ? "" : "Calling agents from this page requires an API key with the role `register`. Fill the form in, and copy the command.";
	} catch (error) {
		return error.message;
	}
}

/** True for MCP servers, to which assistants connect. */
const isServer = (td) => td["mcp:packages"] || Object.values(isObject(td.actions) ? td.actions : {}).some((action) => list(action?.forms).some((form) => form?.subprotocol === "mcp"));

const isFlow = (td) => texts(td["@type"]).some((type) => /(^|:)Flow$/.test(type));

/** The steps of a Flow, as a drawing. */
function drawing(id, td) {
	const section = h("section", { "aria-label": "Steps" });
	into(section, async () => (await import("./flow.js")).flowOf(id, td));
	return section;
}

function security(td) {
	const names = texts(td.security);
	if (!names.length) return "";
	return e("section", e("h2", "Credentials"), e("ul.plain", names.map((name) => e("li.t", inWords(name, td.securityDefinitions?.[name])))));
}

function links(td) {
	const all = list(td.links).filter((one) => isObject(one) && typeof one.href === "string").slice(0, 50);
	if (typeof td.support === "string") all.unshift({ rel: "support", href: td.support });
	if (!all.length) return "";
	return e("section", e("h2", "Links"), e("ul.plain", all.map(({ rel, href, type }) => e("li",
		rel ? e("span.dim.t", `${rel} `) : "", type === "application/td+json" && /^urn:/.test(href) ? who(href) : link(href, undefined, td.base)))));
}

/** The description in each format and version; one that it can't be exported in says why. */
async function documents(id) {
	const { formats } = await self();
	const offered = [];
	for (const format of formats.filter((format) => format.export)) {
		const path = format.export.replace("{id}", enc(id));
		const noun = format.noun.replace(/^an? /, "");
		if (!format.versions.length) offered.push({ name: noun, path });
		for (const version of format.versions) offered.push({ name: `${noun}, ${version}`, path: `${path}?version=${enc(version)}` });
	}
	return offered.map(({ name, path }) => fold(name[0].toUpperCase() + name.slice(1), async () => {
		const { value, text } = await request("GET", path);
		return copyable(typeof value === "object" ? json(exactly(text)) : text, `the ${name}`);
	}));
}

/** The changes that the log still holds, each with what differs. */
async function history(id) {
	const { changes } = await get(thing(id, "/history?limit=1000"));
	const words = { thing_created: "Created", thing_updated: "Updated", thing_deleted: "Removed" };
	return e("ol.history", versions(changes).map(({ kind, at, reason, seq, places, actor, accessBefore, accessAfter }) => e("li",
		e("p", e("strong", words[kind] ?? kind), " ", moment(at), dim(` as change ${seq}${reason ? `, ${reason}` : ""}${actor ? `, by ${actor}` : ""}`)),
		kind === "thing_updated" ? accessDiff(accessBefore, accessAfter) : "",
		places.length ? diff(places) : "")));
}

/** What changed of who may see an agent, and whose it is. */
function accessDiff(before = {}, after = {}) {
	const sight = ({ visibility = "public", namespace }) => ({ public: "everyone who can read", namespace: `the members of ${namespace}`, private: "its owner" })[visibility] ?? visibility;
	const all = [["seen by", sight], ["namespace", ({ namespace }) => namespace], ["owner", ({ owner }) => owner]];
	const changed = all.map(([name, of]) => ({ pointer: name, before: of(before), after: of(after) })).filter(({ before, after }) => before !== after);
	return changed.length ? diff(changed) : "";
}

/** Agents that can take what this one gives, or give what it needs. */
async function related(id) {
	const { capabilities } = await get(thing(id, "/compatible?limit=5"));
	const hits = (title, found) => found.length ? [e("h4", title), e("ul.plain", found.map((hit) => e("li",
		who(hit.id, hit.title), dim(" ", e("span.t", cut(hit.capability)), ": ", message(hit.why)))))] : "";
	const found = capabilities.filter((one) => one.takes_output.length || one.gives_input.length);
	if (!found.length) return e("p.dim", "No other agent accepts the output of this agent, or provides its input.");
	return found.map((one) => e("div", e("h3.t", one.capability), hits("can use its output", one.takes_output), hits("can provide its input", one.gives_input)));
}
