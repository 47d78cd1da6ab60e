// The five things that describe an agent, as a form beside its document: each writes its own members, and leaves the others.

import { exactly } from "./api.js";
import { e, h, refill } from "./dom.js";
import { isObject, list } from "./schema.js";

const CREDENTIALS = {
	none: ["None: anyone can call it", { scheme: "nosec" }],
	bearer: ["A bearer token", { scheme: "bearer", in: "header" }],
	key: ["An API key, in the header X-API-Key", { scheme: "apikey", in: "header", name: "X-API-Key" }],
	password: ["A user name and a password", { scheme: "basic", in: "header" }],
};

const text = (value) => (typeof value === "string" ? value : "");
const word = (name) => name.toLowerCase().normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "") || "capability";

const CAPABILITIES = (td) => (td.capabilities !== undefined && td["lmos:capabilities"] === undefined ? "capabilities" : "lmos:capabilities");
const lmos = (one, name) => one[`lmos:${name}`] ?? one[name];
const firstForm = (td) => list(Object.values(isObject(td.actions) ? td.actions : {}).find(isObject)?.forms).find(isObject);

/** What the form says of a description. */
function read(td) {
	const security = list(td.security);
	const scheme = security.length === 1 ? td.securityDefinitions?.[security[0]] : undefined;
	const known = Object.entries(CREDENTIALS).find(([, [, { scheme: name }]]) => name === scheme?.scheme);
	return {
		title: text(td.title),
		description: text(td.description),
		capabilities: list(td[CAPABILITIES(td)]).filter(isObject).map((one) => [lmos(one, "name") ?? lmos(one, "id") ?? "", lmos(one, "description")].filter(text).join(": ")).join("\n"),
		address: text(td.base) || text(firstForm(td)?.href),
		credentials: known ? known[0] : security.length ? "other" : "",
	};
}

const WRITE = {
	title: (td, value) => ({ ...td, title: value || undefined }),
	description: (td, value) => ({ ...td, description: value || undefined }),
	capabilities(td, value) {
		const before = list(td[CAPABILITIES(td)]).filter(isObject);
		const all = value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
			const [name, description] = [/^[^:]*/.exec(line)[0].trim() || line, /:\s*(.*)$/.exec(line)?.[1]];
			const same = before.find((one) => (lmos(one, "name") ?? lmos(one, "id")) === name);
			const prefix = same && Object.keys(same).some((member) => member.startsWith("lmos:")) ? "lmos:" : "";
			const next = { ...(same ?? { id: word(name), name }), [`${prefix}description`]: description };
			if (!description) delete next[`${prefix}description`];
			return next;
		});
		return { ...td, [CAPABILITIES(td)]: all.length ? all : undefined };
	},
	address(td, value) {
		if (td.base !== undefined) return { ...td, base: value || undefined };
		const form = firstForm(td);
		if (!form && value) return { ...td, actions: { ...td.actions, ask: { title: "Ask", description: "Answers a message.", input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] }, forms: [{ op: "invokeaction", href: value, contentType: "application/json" }] } } };
		if (!form) return td;
		if (value) {
			form.href = value;
			return td;
		}
		const { ask, ...others } = td.actions;
		return { ...td, actions: Object.keys(others).length ? others : undefined };
	},
	credentials: (td, value) => (CREDENTIALS[value] ? { ...td, securityDefinitions: { [value]: CREDENTIALS[value][1] }, security: value } : td),
};

/** The description that a form begins. */
const begun = () => ({
	"@context": ["https://www.w3.org/2022/wot/td/v1.1", { lmos: "https://eclipse.dev/lmos/protocol/v1" }],
	"@type": "lmos:Agent",
	title: "",
	description: undefined,
	"lmos:capabilities": undefined,
	securityDefinitions: { none: CREDENTIALS.none[1] },
	security: "none",
});

/** A description, if a text is one. */
function described(document) {
	if (!document.trim()) return begun();
	try {
		const td = exactly(document);
		return isObject(td) && td["@context"] !== undefined ? td : undefined;
	} catch {
		return undefined;
	}
}

/** The form; `document` is what the editor has, `write` puts another text there. */
export function detailsForm(document, write) {
	const said = h("p.dim", { role: "status" });
	const field = (name, label, hint, input) => {
		input.addEventListener("input", () => {
			const td = described(document());
			if (td) write(JSON.stringify(WRITE[name](td, input.value), null, 2));
		});
		const help = hint ? h("span.hint", { id: `${input.id}-help` }, hint) : "";
		if (hint) input.setAttribute("aria-describedby", `${input.id}-help`);
		return [input, e(".field", h("label", { for: input.id }, label), input, help)];
	};
	const options = h("option", { value: "other" }, "As in the document");
	const fields = {
		title: field("title", "Name", "", h("input", { id: "agent-name", autocomplete: "off" })),
		description: field("description", "Description", "What it does, in a sentence or two; this is what searches match.", h("textarea", { id: "agent-description", rows: 2 })),
		capabilities: field("capabilities", "Capabilities", "One per line, for example “Forecast: tells what the weather will be”.", h("textarea", { id: "agent-capabilities", rows: 3 })),
		address: field("address", "Address", "The URL at which it is called.", h("input", { id: "agent-address", type: "url", autocomplete: "off", placeholder: "https://agents.example/weather" })),
		credentials: field("credentials", "Credentials", "What a caller needs. The registry never stores the credential itself.", h("select", { id: "agent-credentials" }, Object.entries(CREDENTIALS).map(([value, [label]]) => h("option", { value }, label)), options)),
	};
	const element = h("fieldset.details", {}, e("legend.sr", "The agent in five fields"), Object.values(fields).map(([, one]) => one), said);
	return {
		element,
		/** Shows what the document says. */
		follow() {
			const td = described(document());
			element.disabled = !td;
			refill(said, td ? "" : "These fields are for W3C Thing Descriptions in JSON; change this document in the editor.");
			const now = td ? read(td) : {};
			for (const [name, [input]] of Object.entries(fields)) {
				if (input === input.ownerDocument.activeElement) continue;
				input.value = now[name] || (name === "credentials" ? (td ? "none" : "other") : "");
			}
			options.hidden = now.credentials !== "other";
		},
	};
}
