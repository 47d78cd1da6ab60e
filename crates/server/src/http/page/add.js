// Adding an agent: a document of any format, what it is, what is wrong with it, and what it becomes.

import { enc, relative, request, self, send, thing } from "./api.js";
import { abilities, header } from "./agent.js";
import { announce, e, failure, h, plural, refill, who } from "./dom.js";
import { lineOf, lines } from "./locate.js";

const EXAMPLE = {
	"@context": ["https://www.w3.org/2022/wot/td/v1.1", { lmos: "https://eclipse.dev/lmos/protocol/v1" }],
	"@type": "lmos:Agent",
	id: "urn:example:agents:greeter",
	title: "Greeter",
	description: "Says hello in the language of whoever asks.",
	"lmos:capabilities": [{ id: "greet", name: "Greet", description: "Greets somebody by name." }],
};

const typeOf = (text) => (/^\s*[[{]/.test(text) ? "application/json" : "application/yaml");

class AddView extends HTMLElement {
	connectedCallback() {
		this.text = h("textarea", { id: "document", rows: "22", spellcheck: "false", autocomplete: "off", wrap: "off", "aria-describedby": "document-help", oninput: () => this.typed(), onscroll: () => (this.gutter.scrollTop = this.text.scrollTop) });
		this.gutter = h("pre.gutter", { "aria-hidden": "true" }, "1");
		this.report = h(".report", { role: "status" });
		this.preview = e(".preview");
		this.url = h("input", { class: "long", id: "url", type: "url", placeholder: "https://agents.example", autocomplete: "off" });
		this.own = h("input", { class: "long", id: "own-id", autocomplete: "off", oninput: () => this.typed() });
		this.button = h("button.primary", { type: "button", disabled: true, onclick: () => this.register(false) }, "Register");
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
		this.heading = e("h1", "Add an agent");
		refill(this, this.heading,
			h("form.bar", { onsubmit: (event) => { event.preventDefault(); this.fetched(true); } },
				h("label", { for: "url" }, "From a URL"), this.url, e("button", "Check it")),
			e(".columns.halves",
				h("section", { "aria-label": "Document" },
					h("label", { for: "document" }, "Or its document"),
					h("p.dim", { id: "document-help" }, "Paste it, drop a file, or ", h("label.filepick", { for: "file" }, "choose one"), file, ". A W3C Thing Description, an A2A agent card, Open Agent Spec, an MCP server.json, LMOS capabilities or an AOS agent; JSON or YAML. ",
						h("button.quiet", { type: "button", onclick: () => this.set(JSON.stringify(EXAMPLE, null, 2)) }, "Start from an example")),
					editor,
					e(".bar", h("label", { for: "own-id" }, "Its id, if the document has none"), this.own)),
				h("section", { "aria-label": "Report" }, this.report, e(".bar", this.button), this.preview)));
		this.idle();
	}

	disconnectedCallback() {
		clearTimeout(this.later);
	}

	async update(parameters) {
		const id = parameters.get("edit");
		if (!id || this.edited === id) return;
		this.edited = id;
		try {
			const { value, response } = await request("GET", thing(id));
			const { registration, ...td } = value;
			this.tag = response.headers.get("etag");
			refill(this.heading, "Edit ", e("span.t", td.title ?? id));
			this.set(JSON.stringify(td, null, 2));
		} catch (error) {
			refill(this.report, failure(error));
		}
	}

	idle() {
		refill(this.report, e("p.dim", "What it is and what is wrong with it appears here."));
		refill(this.preview);
		this.button.disabled = true;
	}

	set(text) {
		this.text.value = text;
		this.typed(0);
		this.text.setSelectionRange(0, 0);
		this.text.scrollTop = 0;
		this.text.focus({ preventScroll: true });
	}

	async take(file) {
		if (file.size > 16 * 1024 * 1024) return refill(this.report, failure(new Error("The file is too large.")));
		this.set(await file.text());
	}

	typed(wait = 250) {
		this.source = undefined;
		const total = this.text.value.split("\n").length;
		this.gutter.textContent = Array.from({ length: total }, (_, at) => at + 1).join("\n");
		clearTimeout(this.later);
		if (!this.text.value.trim()) return this.idle();
		this.later = setTimeout(() => this.check(), wait);
	}

	async check() {
		const text = this.text.value;
		const id = this.own.value.trim();
		try {
			const { value } = await send("POST", `convert${id ? `?id=${enc(id)}` : ""}`, text, typeOf(text));
			if (text === this.text.value) this.show(value, text);
		} catch (error) {
			if (text !== this.text.value) return;
			const { line, column } = error.document ?? {};
			const places = line ? [{ pointer: "", line, message: `column ${column}: ${error.message}` }] : [];
			refill(this.report, e("p", e("span.badge.bad", "not recognized")), places.length ? this.findings("Wrong", places, "bad") : failure(error));
			this.mark(places);
			refill(this.preview);
			this.button.disabled = true;
		}
	}

	show({ noun, register, valid, violations, warnings, things }, text) {
		const found = lines(text);
		const place = (finding) => ({ ...finding, line: found.size > 1 ? lineOf(found, finding.pointer) : undefined });
		const [wrong, odd] = [violations.map(place), warnings.map(place)];
		refill(this.report,
			e("p", e(`span.badge${valid ? ".good" : ".bad"}`, valid ? "valid" : "invalid"), " It is ", noun, valid ? `; it becomes ${plural(things.length, "Thing")}.` : "."),
			this.findings("Wrong", wrong, "bad"), this.findings("Odd, or fixed when it is registered", odd, "odd"));
		this.mark([...wrong, ...odd]);
		this.source = { register, things };
		this.button.disabled = !valid;
		this.showThings(things);
	}

	/** What is registered, as its page will show it. */
	showThings(things) {
		refill(this.preview, things.slice(0, 5).map((td) => e("article.thing", header(td, td.id), abilities(td))), things.length > 5 ? e("p.dim", `and ${things.length - 5} more`) : "");
		for (const heading of this.preview.querySelectorAll("h1")) heading.replaceWith(e("h2.t", ...heading.childNodes));
	}

	findings(title, all, kind) {
		if (!all.length) return "";
		return [e("h2", title), e(`ul.findings.${kind}`, all.slice(0, 50).map(({ line, pointer, message }) => e("li",
			line ? h("button.quiet", { type: "button", onclick: () => this.point(line) }, `line ${line}`) : "",
			pointer ? e("code.t", pointer) : "", e("span.t", ` ${message}`)))), all.length > 50 ? e("p.dim", `and ${all.length - 50} more`) : ""];
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
	async fetched(dry) {
		const url = this.url.value.trim();
		if (!url) return;
		refill(this.report, e("p.dim", "The registry fetches it…"));
		refill(this.preview);
		const { formats } = await self();
		const tracked = formats.filter((format) => format.tracked);
		let format = dry ? tracked.find(({ name }) => name === "a2a") ?? tracked[0] : this.source.format;
		for (let tries = 0; ; tries += 1) {
			try {
				const { value } = await send("POST", `${format.import}${dry ? "?dry_run=true" : ""}`, { url });
				if (!dry) return this.done(value.ids);
				refill(this.report, e("p", e("span.badge.good", "valid"), " It is ", format.noun, `; it becomes ${plural(value.ids.length, "Thing")}. Once it is registered, its URL is polled for changes.`),
					this.findings("Odd, or fixed when it is registered", value.warnings, "odd"));
				this.showThings(value.things);
				this.source = { url, format };
				this.button.disabled = false;
				return;
			} catch (error) {
				const other = tracked.find(({ name }) => name === error.document?.format && name !== format.name);
				if (other && tries < 2) {
					format = other;
					continue;
				}
				refill(this.report, e("p", e("span.badge.bad", "refused")), failure(error));
				this.button.disabled = true;
				return;
			}
		}
	}

	/** Registers what was checked; what has its id is replaced only if that is asked for, or if it is what was edited. */
	async register(replaces) {
		this.button.disabled = true;
		const text = this.text.value;
		const own = this.own.value.trim();
		try {
			if (this.source.url) return await this.fetched(false);
			const { register, things } = this.source;
			const path = relative(register, "");
			if (path === "things") {
				// As it was written, but for an id that was given beside it.
				const td = typeOf(text) === "application/json" && JSON.parse(text).id !== undefined ? text : things[0];
				const id = things[0].id;
				const conditions = replaces ? {} : id === this.edited ? { "if-match": this.tag } : { "if-none-match": "*" };
				const { value, response } = id === undefined ? await send("POST", path, td) : await send("PUT", thing(id), td, undefined, conditions);
				if (id === this.edited) this.tag = response.headers.get("etag");
				this.done([id ?? value.id]);
			} else {
				const json = typeOf(text) === "application/json" || path === "import/agent-spec";
				const options = own ? `?id=${enc(own)}` : "";
				if (!json) throw new Error("Documents of this format are registered as JSON.");
				const { value } = await send("POST", `${path}${path === "import/agent-spec" ? "" : options}`, text, typeOf(text));
				this.done(value.ids);
			}
		} catch (error) {
			refill(this.report, error.status === 412 ? this.taken() : failure(error));
		}
	}

	/** That there is another agent, or another version of it, and the choice to replace it. */
	taken() {
		const { id } = this.source.things[0];
		return h("p", { class: "note" }, id === this.edited ? "It was changed since you opened it: " : "There is an agent with this id: ", who(id), ". ",
			h("button.quiet", { type: "button", onclick: () => this.register(true) }, "Replace it"));
	}

	done(ids) {
		announce("Registered");
		refill(this.report, h("p", { class: "note good" }, `Registered ${plural(ids.length, "Thing")}:`),
			e("ul.plain", ids.slice(0, 50).map((id) => e("li", who(id)))));
		refill(this.preview);
		this.button.disabled = true;
	}
}
customElements.define("view-add", AddView);
