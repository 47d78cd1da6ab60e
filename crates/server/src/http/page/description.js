// What a description says, as its page shows it, and as whoever registers it sees it before.

import { enc } from "./api.js";
import { copier, copyable, cut, dim, e, fold, h, icon, link, moment, pair, who } from "./dom.js";
import { flagsOf } from "./flags.js";
import { isObject, list, table, typeOf } from "./schema.js";

export const texts = (value) => list(value).filter((one) => typeof one === "string");
/** A member with the prefix `lmos:` or without. */
const lmos = (object, name) => object?.[`lmos:${name}`] ?? object?.[name];

export const titleOf = (td) => (typeof td.title === "string" && td.title ? td.title : td.id ?? "");

const MOST_BADGES = 20;
const LONGEST = 4000;

/** What an agent is, in short. */
export function header(td, id) {
	const metadata = lmos(td, "metadata");
	const vendor = lmos(metadata, "vendor") ?? lmos(td, "vendor");
	const registration = td.registration ?? {};
	const signature = td["agentdex:signature"];
	const tags = texts(td["schema:keywords"] ?? td.tags);
	const badge = (text, kind = "") => e(`span.badge${kind}`, cut(text, 60));
	const vendorName = isObject(vendor) ? lmos(vendor, "name") ?? vendor["schema:name"] : vendor;
	return [
		e(".title", icon(titleOf(td), id ?? td.id), e("h1.t", cut(titleOf(td)))),
		e("p.badges", texts(td["@type"]).slice(0, MOST_BADGES).map((type) => badge(type.replace(/^lmos:/, ""))),
			signature ? badge(`signature ${signature.status}`, signature.status === "valid" ? ".good" : signature.status === "unsigned" ? "" : ".bad") : "",
			td["agentdex:status"] ? badge(String(td["agentdex:status"]), ".bad") : "",
			flagsOf(registration["agentdex:flags"])),
		id ? e("p.id", e("span.t", cut(id, 500)), " ", copier(() => id, "the id")) : "",
		typeof td.description === "string" ? e("p.lead.t", cut(td.description, LONGEST)) : "",
		e("dl.facts",
			typeof vendorName === "string" ? pair("Vendor", e("span.t", cut(vendorName))) : "",
			texts(td.version?.instance).map((version) => pair("Version", e("span.t", cut(version)))),
			tags.length ? pair("Tags", tags.slice(0, 50).map((tag, at) => [at ? ", " : "", h("a.t", { href: `#/?tag=${enc(tag)}` }, cut(tag))]), tags.length > 50 ? `, and ${tags.length - 50} more` : "") : "",
			registration.created ? pair("Registered", moment(registration.created)) : "",
			registration.modified && registration.modified !== registration.created ? pair("Changed", moment(registration.modified)) : "",
			registration.expires ? pair("Expires", moment(registration.expires)) : "",
			(registration["agentdex:partOf"] ?? []).map((id) => pair("Part of", who(String(id))))),
	];
}

/** What it can do; of a registered agent, with forms to call its actions. */
export function abilities(td, registered) {
	const capabilities = list(td["lmos:capabilities"] ?? td.capabilities).filter(isObject);
	const of = (kind, member) => Object.entries(isObject(td[member]) ? td[member] : {}).filter(([, one]) => isObject(one)).map(([name, one]) => affordance(kind, name, one, td, registered));
	const [actions, properties, events] = [of("action", "actions"), of("property", "properties"), of("event", "events")];
	return [
		capabilities.length ? e("section", e("h2", "What it can do"), e("ul.abilities", capabilities.map((capability) => e("li",
			e("strong.t", cut(lmos(capability, "name") ?? lmos(capability, "id") ?? "")), " ",
			lmos(capability, "version") ? e("span.dim.t", `v${cut(lmos(capability, "version"))}`) : "",
			e("p.t", cut(lmos(capability, "description") ?? "", LONGEST)),
			texts(lmos(capability, "examples")).slice(0, 5).map((example) => e("q.t", cut(example))),
			["input", "output"].map((side) => isObject(capability[side]) ? table(capability[side], side === "input" ? "Input" : "Output") : ""))))) : "",
		actions.length ? e("section", e("h2", "Actions"), actions) : "",
		properties.length ? e("section", e("h2", "Properties"), properties) : "",
		events.length ? e("section", e("h2", "Events"), events) : "",
	];
}

function affordance(kind, name, one, td, registered) {
	const shapes = kind === "action" ? [["Input", one.input], ["Output", one.output]] : kind === "event" ? [["Data", one.data]] : [["Value", one]];
	const forms = list(one.forms).filter((form) => isObject(form) && typeof form.href === "string");
	return e("article.affordance",
		e("h3", e("span.t", cut(one.title ?? name)), one.title ? e("code.dim.t", cut(name)) : ""),
		one.description ? e("p.t", cut(one.description, LONGEST)) : "",
		isObject(one.uriVariables) ? table({ type: "object", properties: one.uriVariables }, "In the URL") : "",
		shapes.map(([caption, schema]) => schema === undefined ? "" : e("div", caption === "Value" ? e("p.schema", e("span.type", typeOf(schema))) : [typeof schema === "object" && !schema?.properties && !schema?.items?.properties ? e("h4", caption) : "", table(schema, caption)])),
		registered && kind === "action" ? attributed(fold("Call it", async () => (await import("./action.js")).actionForm({ td, id: registered.id, name, action: one, obstacle: await registered.obstacle, left: registered.left })), "call") : "",
		forms.length && !(registered && kind === "action") ? fold(forms.length === 1 ? VERBS[kind] : `${VERBS[kind]}, in ${forms.length} ways`, () => commands(forms, kind, one, td, name)) : "");
}

/** How each form is called from a program. */
async function commands(forms, kind, one, td, name) {
	const { command, target } = await import("./call.js");
	return forms.slice(0, 10).map((form) => {
		const line = command(form, kind, one, td);
		const protocol = [form.subprotocol, form.contentType].filter((text) => typeof text === "string").join(", ");
		return e(".form", protocol ? e("p.dim.t", protocol) : "", copyable(line ?? target(form, td.base), line ? `a command that calls ${one.title ?? name}` : "the address"));
	});
}

const VERBS = { action: "Call it from a program", property: "Read it from a program", event: "Subscribe to it from a program" };

/** An element that links below the title lead to. */
export function attributed(element, part) {
	element.dataset.part = part;
	return element;
}

/** A tracked source. */
export function sourceOf(tracked) {
	const bad = tracked.failures > 0;
	return e("p", "Tracked at ", link(tracked.source), dim(`, as ${tracked.format}; last polled `), moment(tracked.lastFetch), dim(", next "), moment(tracked.nextTry), ". ",
		tracked.status === "stale" ? e("span.badge.bad", "stale") : "", bad ? e("span.note.bad.t", `${tracked.failures} failed in a row: ${tracked.lastError ?? ""}`) : "");
}

