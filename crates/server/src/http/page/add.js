// Adding and editing an agent: a document of any format, what it is, what is wrong with it, what registering it does.

import { exactly, edited, get, may, relative, request, self, send, thing, versionOf } from "./api.js";
import { signIn } from "./access.js";
import { detailsForm } from "./compose.js";
import { abilities, header } from "./description.js";
import { announce, ask, e, failure, focusOn, h, into, message, plural, refill, stopButton } from "./dom.js";
import { draftOf } from "./drafts.js";
import { changes, fate, losses, origin, present, told, wouldDrop, write } from "./effects.js";
import { EXAMPLES } from "./examples.js";
import { feed } from "./live.js";
import { lineOf, lines } from "./locate.js";

const typeOf = (text) => (/^\s*[[{]/.test(text) ? "application/json" : "application/yaml");

const isMissing = (error) => error.status === 404;
/** Refusals that say something of the document; others say something of the caller or the registry. */
const isOfDocument = ({ status }) => [400, 413, 415, 422].includes(status);

class AddView extends HTMLElement {
	connectedCallback() {
		const field = (id, more) => h("input.long", { id, autocomplete: "off", oninput: () => this.typed(), ...more });
		this.text = h("textarea", { id: "document", rows: "22", placeholder: "{ … }", spellcheck: "false", autocomplete: "off", wrap: "off", "aria-describedby": "document-help", oninput: () => this.typed(), onscroll: () => (this.gutter.scrollTop = this.text.scrollTop) });
		this.gutter = h("pre.gutter", { "aria-hidden": "true" }, "1");
		this.notes = e("div");
		this.stale = h(".stale", { role: "status" });
		this.report = h(".report", { role: "status" });
		this.outcome = h(".outcome", { role: "status" });
		this.differences = e("div");
		this.preview = e(".preview");
		this.more = e("div");
		this.url = field("url", { type: "url", placeholder: "https://agents.example", oninput: () => this.keep() });
		this.own = field("own-id");
		this.ownId = e(".bar", h("label", { for: "own-id" }, "Id, if the document has none"), this.own);
		this.button = h("button.primary", { type: "button", disabled: true, onclick: () => this.register() });
		const file = h("input.sr", { id: "file", type: "file", accept: ".json,.jsonld,.yaml,.yml,.td", onchange: () => file.files[0] && this.take(file.files[0]) });
		const editor = e(".editor", this.gutter, this.text);
		editor.addEventListener("dragover", (event) => {
			event.preventDefault();
			editor.classList.add("over");
		});
		editor.addEventListener("dragleave", () => editor.classList.remove("over"));
		editor.addEventListener("drop", (event) => {
			editor.classList.remove("over");
			const [dropped] = event.dataTransfer.files;
			if (!dropped) return;
			event.preventDefault();
			this.take(dropped);
		});
		this.details = detailsForm(() => this.text.value, (text) => {
			this.text.value = text;
			this.typed();
		});
		this.example = h("select", { id: "example" });
		this.heading = e("h1");
		this.fetching = h("form.bar", { onsubmit: (event) => { event.preventDefault(); this.fetched(); } },
			h("label", { for: "url" }, "From a URL"), this.url, e("button", "Check it"));
		refill(this, this.heading, this.notes, this.stale, this.fetching,
			e(".columns.halves",
				h("section", { "aria-label": "Document" },
					this.details.element,
					h("label", { for: "document" }, "Its document"),
					h("p.dim", { id: "document-help" }, "Paste it, drop a file, or ", h("label.filepick", { for: "file" }, "choose one"), file, ". A W3C Thing Description, an A2A agent card, Open Agent Spec, an MCP server.json, LMOS capabilities, or an AOS agent; JSON or YAML."),
					e("p.bar", h("button.quiet", { type: "button", onclick: () => this.begin() }, "Start from an example"), h("label", { for: "example" }, "of"), this.example),
					editor,
					this.ownId, this.more),
				h("section", { "aria-label": "Report" }, this.report, this.outcome, e(".bar.write", this.button), this.differences, this.preview)));
		this.changed = ({ detail }) => detail.data.id === this.edited && this.compare();
		// While the page was hidden it wasn't told.
		this.resumed = () => this.compare();
		feed.addEventListener("change", this.changed);
		feed.addEventListener("open", this.resumed);
	}

	disconnectedCallback() {
		clearTimeout(this.later);
		feed.removeEventListener("change", this.changed);
		feed.removeEventListener("open", this.resumed);
	}

	async update(parameters) {
		const id = parameters.get("edit") ?? "";
		if (this.edited === id) return;
		Object.assign(this, { edited: id, parameters, options: {}, draft: undefined, base: undefined, tag: undefined, version: undefined, loaded: "", shownFormat: undefined });
		for (const field of [this.text, this.own, this.url]) field.value = "";
		refill(this.heading, id ? ["Edit ", e("span.t", id)] : "Add an agent");
		refill(this.button, id ? "Save" : "Register");
		for (const part of [this.notes, this.stale, this.more]) refill(part);
		this.fetching.hidden = this.ownId.hidden = Boolean(id);
		this.idle();
		this.details.follow();
		// What is typed before the agent is there would be lost.
		this.inert = Boolean(id);
		try {
			const [draft, about] = await Promise.all([draftOf(`add ${id}`), self()]);
			if (this.edited !== id) return;
			[this.formats, this.draft] = [about.formats, draft];
			refill(this.example, this.formats.filter(({ name }) => EXAMPLES[name]).map(({ name, noun }) => h("option", { value: name }, noun)));
			await this.learn(about.access);
			if (id) await this.open(id, draft.value);
			if (this.edited !== id) return;
			if (draft.value && !this.text.value) this.restore(draft.value);
			else this.typed(0);
		} catch (error) {
			if (this.edited === id) refill(this.notes, failure(error));
		} finally {
			if (this.edited === id) this.inert = false;
		}
	}

	/** Finds out whether it may be registered, and says if not: before anything is typed. */
	async learn(access) {
		const there = this.edited && (await get(thing(this.edited, "/access")).catch(() => undefined));
		const owner = there ? there.owner ?? "" : undefined;
		this.allowed = await may("register", owner);
		this.button.hidden = !this.allowed;
		if (this.allowed) return;
		const mayOthers = await may("register");
		const why = access.readOnly ? "This registry is read-only. What you paste here is only checked."
			: mayOthers ? [e("strong.t", this.edited), " belongs to ", owner ? e("strong.t", owner) : "the admins", ": only owners and admins can change an agent."]
				: [access.owner ? [e("strong.t", access.owner), " may read and check documents. "] : "", "Registering requires an API key with the role ", e("code", "register"), "."];
		refill(this.notes, h("div", { class: "note", role: "note" }, why, " ", access.readOnly ? "" : h("button.quiet", { type: "button", onclick: signIn }, access.owner ? "Sign in with another key" : "Sign in")));
	}

	/** Shows an agent to be edited. */
	async open(id, kept) {
		const { text, response } = await request("GET", thing(id)).catch((error) => {
			if (kept && isMissing(error)) return {};
			throw error;
		});
		if (this.edited !== id || !text) return;
		const td = edited(text);
		this.loaded = JSON.stringify(td, null, 2);
		this.from(td, response.headers.get("etag"), versionOf(response));
		refill(this.heading, "Edit ", e("span.t", td.title ?? id));
		if (!kept) this.set(this.loaded);
		origin(id).then((imported) => this.edited === id && this.allowed && this.notes.append(e("div", fate(imported, this.formats))));
	}

	/** The version that is edited. */
	from(td, tag, version) {
		Object.assign(this, { base: td && JSON.stringify(td), tag, version });
	}

	/** Shows what was typed before. */
	restore({ text, own, url, options, base, tag, version }) {
		[this.text.value, this.own.value, this.url.value, this.options] = [text, own, url, options];
		if (base) Object.assign(this, { base, tag, version });
		this.notes.append(h("p", { class: "note", role: "status" }, "This is what you typed here before; it isn't registered yet. ",
			h("button.quiet", { type: "button", onclick: () => this.discard() }, "Discard it")));
		this.typed(0);
		if (this.edited) this.compare();
	}

	discard() {
		this.draft.drop();
		this.edited = undefined;
		this.update(this.parameters);
	}

	/** Keeps what was typed. */
	keep() {
		const [text, own, url] = [this.text, this.own, this.url].map((field) => field.value);
		if (!this.draft) return;
		if (text === this.loaded && !own && !url) return this.draft.drop();
		const { options, base, tag, version } = this;
		if (!this.draft.keep({ text, own, url, options, base, tag, version })) announce("This is too large to be saved as a draft: it is lost when you leave this view.");
	}

	idle() {
		refill(this.report, e("p.dim", "Here you see what kind of document it is, what is wrong with it, and what registering it would do."));
		this.settle();
		refill(this.preview);
	}

	/** Nothing is known yet of what registering does. */
	settle() {
		this.source = undefined;
		this.button.disabled = true;
		refill(this.outcome);
		refill(this.differences);
	}

	set(text) {
		// The id that the document before was given.
		if (this.own.value === this.given) this.own.value = "";
		this.text.value = text;
		this.typed(0);
		this.text.setSelectionRange(0, 0);
		this.text.scrollTop = 0;
		this.text.focus({ preventScroll: true });
	}

	/** Puts an example of the chosen format into the editor. */
	begin() {
		this.set(JSON.stringify(EXAMPLES[this.example.value], null, 2));
	}

	async take(file) {
		if (file.size > 16 * 1024 * 1024) return refill(this.report, failure(new Error("The file is too large.")));
		this.set(await file.text());
	}

	typed(wait = 250) {
		this.round = undefined;
		this.settle();
		this.keep();
		this.details.follow();
		const total = this.text.value.split("\n").length;
		this.gutter.textContent = Array.from({ length: total }, (_, at) => at + 1).join("\n");
		clearTimeout(this.later);
		if (!this.text.value.trim()) return this.idle();
		this.later = setTimeout(() => this.check(), wait);
	}

	/** What is said beside the document, as far as a format has it. */
	said(format) {
		const all = Object.entries({ id: this.own.value.trim(), ...this.options }).filter(([, value]) => value);
		return Object.fromEntries(all.filter(([name]) => !format || format.parameters.some((one) => one.name === name)));
	}

	async check() {
		const text = this.text.value;
		const round = (this.round = {});
		try {
			const { value, text: answer } = await send("POST", `convert?${new URLSearchParams(this.said())}`, text, typeOf(text));
			if (this.round !== round) return;
			this.show(value, text);
			const { things } = exactly(answer);
			if (value.valid) await this.foresee(this.target(value, text, things[0]), { ...value, things }, round);
		} catch (error) {
			if (this.round !== round) return;
			const { line, column } = error.document ?? {};
			const places = line ? [{ pointer: "", line, message: `column ${column}: ${error.message.replace(` at line ${line}, column ${column}`, "")}` }] : [];
			refill(this.report, isOfDocument(error) ? e("p", e("span.badge.bad", "not recognized")) : "", places.length ? this.findings("Errors", places, "bad") : failure(error));
			this.mark(places);
			this.settle();
			refill(this.preview);
		}
	}

	/** What is written where: as it was written, but for Thing Descriptions that have no id, or are no JSON. */
	target({ register, format, things }, text, exact) {
		const path = relative(register, "");
		const type = typeOf(text);
		if (path !== "things") return { path, body: text, type, options: this.said(this.formats.find(({ name }) => name === format)) };
		const isWhole = type === "application/json" && JSON.parse(text).id !== undefined;
		return { path, id: things[0].id, body: isWhole ? text : JSON.stringify(exact), type: "application/json", mine: isWhole ? text : JSON.stringify(exact) };
	}

	show({ format, noun, valid, violations, warnings, things }, text) {
		const found = lines(text);
		const place = (finding) => ({ ...finding, line: found.size > 1 ? lineOf(found, finding.pointer) : undefined });
		const [wrong, odd] = [violations.map(place), warnings.map(place)];
		refill(this.report,
			e("p", e(`span.badge${valid ? ".good" : ".bad"}`, valid ? "valid" : "invalid"), " It is ", noun, valid ? `; it is registered as ${plural(things.length, "agent")}.` : "."),
			format !== "td" && valid && !things.some(({ actions }) => actions) ? e("p.hint", "The document contains no address. Register it, then choose Edit on its page and fill in the address.") : "",
			this.findings("Errors", wrong, "bad"), this.findings("Warnings", odd, "odd"));
		this.mark([...wrong, ...odd]);
		this.offer(format);
		this.showThings(things);
	}

	/** Fields for what may be said beside a document of a format. */
	offer(name) {
		if (this.shownFormat === name) return;
		this.shownFormat = name;
		const { noun, parameters } = this.formats.find((format) => format.name === name) ?? { parameters: [] };
		const field = ({ name, kind, help, choices = [] }) => {
			const change = ({ target }) => {
				this.options[name] = kind === "flag" ? String(target.checked) : target.value.trim();
				this.typed();
			};
			const [id, value] = [`option-${name}`, this.options[name]];
			const label = h("label", { for: id }, e("code", name), " ", message(help));
			if (kind === "flag") return e(".option", h("input", { id, type: "checkbox", checked: value === "true", onchange: change }), label);
			return e(".field", label, kind === "choice"
				? h("select", { id, onchange: change }, choices.map((word) => h("option", { value: word, selected: word === value }, word)))
				: h("input", { id, autocomplete: "off", value: value ?? "", oninput: change }));
		};
		const own = parameters.filter(({ kind }) => kind !== "id");
		refill(this.more, own.length ? h("fieldset.options", {}, e("legend", "Options of ", noun), own.map(field)) : "");
	}

	/** Shows what registering would do. */
	async foresee(target, { things, warnings }, round) {
		if (!this.allowed) return;
		try {
			const result = await write(target, { dry: true });
			const there = await present(result.effects);
			if (this.round !== round) return;
			const source = { target, things, there, effects: result.effects };
			const known = new Set(warnings.map(({ message }) => message));
			const more = result.warnings.filter(({ message }) => !known.has(message));
			const replaced = result.effects.find(({ id, effect }) => effect === "updated" && id !== this.edited);
			const lost = replaced && target.path === "things" ? fate(await origin(replaced.id), this.formats) : "";
			if (this.round !== round) return;
			refill(this.outcome, told(source, "before", this.edited), lost, this.findings("Warnings", more, "odd"));
			refill(this.differences, changes(source));
			this.source = source;
			this.button.disabled = false;
			if (this.edited) this.compare(there.get(this.edited)?.version);
		} catch (error) {
			if (this.round !== round) return;
			if (!wouldDrop(error)) return refill(this.outcome, failure(error));
			this.offerToReplace(error, () => this.foresee({ ...target, replace: true }, { things, warnings }, round));
		}
	}

	/** Says what registering would drop; what drops it is done once that was asked for. */
	offerToReplace({ document }, replace) {
		const round = this.round;
		const lost = () => losses(document, this.formats);
		const asked = async () => (await ask(e("div", lost()), "Replace it", "Keep the current version", "danger")) && this.round === round && replace();
		refill(this.outcome, h(".note", { role: "note" }, lost()), h("button.danger", { type: "button", onclick: asked }, "Replace it anyway…"));
	}

	/** Says so if the agent is no longer what it was when its editing began. */
	async compare(version) {
		const id = this.edited;
		if (!this.base) return;
		version ??= await request("HEAD", thing(id)).then(({ response }) => versionOf(response), (error) => isMissing(error) ? "none" : this.version);
		if (this.edited !== id || this.saving) return;
		const is = version === this.version || (version === "none" && !this.version) ? "" : version === "none" ? "It has been removed. " : "It has been changed since you opened it. ";
		if (this.staleBy === is) return;
		this.staleBy = is;
		refill(this.stale, is && h("p.note", {}, is, h("button.quiet", { type: "button", onclick: () => this.merge() }, "See what is new, and merge")));
	}

	/** What is registered, as its page will show it. */
	showThings(things) {
		refill(this.preview, things.slice(0, 5).map((td) => e("article.thing", header(td, td.id), abilities(td))), things.length > 5 ? e("p.dim", `and ${things.length - 5} more`) : "");
		for (const heading of this.preview.querySelectorAll("h1")) heading.replaceWith(e("h2.t", ...heading.childNodes));
	}

	findings(title, all, kind) {
		if (!all.length) return "";
		return [e("h2", title), e(`ul.findings.${kind}`, all.slice(0, 50).map(({ line, pointer, message: text }) => e("li",
			line ? h("button.quiet", { type: "button", onclick: () => this.point(line) }, `line ${line}`) : "",
			pointer ? e("code.t", pointer) : "", e("span.t", " ", message(text))))), all.length > 50 ? e("p.dim", `and ${all.length - 50} more`) : ""];
	}

	/** Marks lines beside the text. */
	mark(findings) {
		const wrong = new Set(findings.map(({ line }) => line));
		const total = this.text.value.split("\n").length;
		refill(this.gutter, Array.from({ length: Math.min(total, 20_000) }, (_, at) => [wrong.has(at + 1) ? e("b", `${at + 1}`) : String(at + 1), "\n"]));
	}

	/** Selects a line of the text. */
	point(line) {
		const all = this.text.value.split("\n");
		const start = all.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
		this.text.focus();
		this.text.setSelectionRange(start, start + all[line - 1].length);
		this.text.scrollTop = Math.max(0, (line - 5) * Number.parseFloat(getComputedStyle(this.text).lineHeight));
	}

	/** Tries a URL in each format that agents serve, the one that the registry recognizes first. */
	async fetched(replace = false) {
		const url = this.url.value.trim();
		if (!url) return;
		const round = (this.round = {});
		clearTimeout(this.later);
		this.settle();
		refill(this.report, e("p.dim", "The registry is fetching it…"));
		refill(this.preview);
		const tracked = this.formats.filter((format) => format.tracked);
		let format = tracked.find(({ name }) => name === "a2a") ?? tracked[0];
		for (let tries = 0; ; tries += 1) {
			const { id } = this.said(format);
			const target = { path: format.import, body: { url }, options: id ? { id } : {}, replace };
			try {
				const { things, warnings } = await write(target, { dry: true });
				if (this.round !== round) return;
				refill(this.report, e("p", e("span.badge.good", "valid"), " It is ", format.noun, `; it is registered as ${plural(things.length, "agent")}. Once it is registered, its URL is polled for changes.`),
					this.findings("Warnings", warnings, "odd"));
				this.showThings(things);
				return await this.foresee(target, { things, warnings }, round);
			} catch (error) {
				const other = tracked.find(({ name }) => name === error.document?.format && name !== format.name);
				if (other && tries < 2) {
					format = other;
					continue;
				}
				if (this.round !== round) return;
				if (!wouldDrop(error)) return refill(this.report, e("p", e("span.badge.bad", "refused")), failure(error));
				refill(this.report, e("p", e("span.badge.good", "valid"), " It is ", format.noun, "."));
				return this.offerToReplace(error, () => this.fetched(true));
			}
		}
	}

	/** Registers what was checked, if it is still what that was told of; what it replaces is asked about. */
	async register() {
		const { target, effects, things, there } = this.source;
		const lost = effects.filter(({ id, effect }) => (effect === "updated" || effect === "removed") && id !== this.edited);
		const titleOf = ({ id }) => e("strong.t", there.get(id)?.td.title ?? id);
		if (lost.length && !(await ask(e("p", "Replace ", lost.length > 1 ? plural(lost.length, "agent") : titleOf(lost[0]), "? The current content is removed from the registry."), lost.length > 1 ? "Replace them" : "Replace it", "Keep the current version", "danger"))) return;
		if (this.saving) return;
		this.saving = true;
		stopButton(this.button, true);
		const tag = target.id === this.edited ? this.tag : there.get(target.id)?.tag;
		try {
			const done = await write(target, { isNew: !there.size, conditions: tag ? { "if-match": tag } : { "if-none-match": "*" } });
			this.done(done, target, things, there);
			if (document.activeElement === this.button) focusOn(this.outcome);
			this.outcome.scrollIntoView({ block: "nearest" });
			this.button.disabled = true;
		} catch (error) {
			if (wouldDrop(error)) return await (target.body.url ? this.fetched() : this.check());
			if (error.status !== 412 && error.document?.code !== "already-exists") return refill(this.outcome, failure(error));
			if (target.id === this.edited) return await this.merge();
			await (target.body.url ? this.fetched() : this.check());
			this.outcome.prepend(e("p.note", "Nothing was written, because somebody else made changes first. Registering would now do this:"));
		} finally {
			this.saving = false;
			stopButton(this.button, false);
		}
	}

	/** Shows what others changed meanwhile, and both changes as one. */
	async merge() {
		const text = this.text.value;
		clearTimeout(this.later);
		this.round = undefined;
		refill(this.differences);
		refill(this.preview);
		this.button.disabled = true;
		await into(this.outcome, async () => {
			const { merge } = await import("./merge.js");
			const mine = exactly(this.source?.target.mine ?? text);
			return merge({ id: this.edited, base: exactly(this.base), mine, version: this.version, use: (td, theirs, tag, version) => {
				this.from(theirs, tag, version);
				this.staleBy = undefined;
				refill(this.stale);
				this.set(JSON.stringify(td, null, 2));
				announce("Merged, and not saved yet");
			} });
		});
		this.outcome.querySelector("input, button")?.focus();
	}

	done({ effects, tag, version }, target, things, there) {
		this.draft.drop();
		const [{ id }] = effects;
		if (id === this.edited) {
			this.from(exactly(target.mine), tag, version);
			this.loaded = this.text.value;
		} else if (target.path === "things" && target.id === undefined) {
			// From now on it has that id: the next time it is changed, not made again.
			this.given = this.own.value = id;
		}
		announce(effects.some(({ effect }) => effect !== "unchanged") ? "Registered" : "Nothing changed");
		refill(this.outcome, h("div", { class: "note good" }, told({ effects, things, there: target.path === "things" ? new Map() : there }, "after", this.edited)));
		refill(this.differences);
		refill(this.report);
		refill(this.preview);
	}
}
customElements.define("view-add", AddView);
