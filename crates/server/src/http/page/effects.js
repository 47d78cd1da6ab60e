// What registering a document does: told before it is done, by a dry run, and afterwards.

import { edited, enc, get, request, send, thing, versionOf } from "./api.js";
import { diff, differences } from "./difference.js";
import { dim, e, fold, link, who } from "./dom.js";

const MOST = 20;
const BEFORE = { created: "Creates", updated: "Replaces", "original-updated": "Replaces only the document that it was imported from:", "versions-updated": "Stores a lower version, which is not served, of", unchanged: "Changes nothing:", removed: "Removes, because this import no longer contains it:" };
const AFTER = { created: "Created", updated: "Updated", "original-updated": "Updated the document of", "versions-updated": "Stored a lower version, which is not served, of", unchanged: "Nothing changed:", removed: "Removed" };
const EDITED = { before: "Changes", after: "Saved" };

// A Thing Description is put to its id, anything else is posted to the import of its format.
/** Writes what was checked, or asks what that would do. Returns each agent with the effect on it. */
export async function write({ path, id, body, type, options = {}, replace }, { dry, conditions, isNew }) {
	const query = new URLSearchParams(dry ? { ...options, dry_run: true } : options);
	if (path === "things") {
		if (id === undefined) {
			const { value } = dry ? { value: { warnings: [] } } : await send("POST", path, body, type);
			return { effects: [{ id: value.id, effect: "created" }], warnings: value.warnings };
		}
		const { value, response } = await send("PUT", `${thing(id)}?${query}`, body, type, { prefer: "return=effect", ...conditions });
		return { effects: [{ id, effect: response.headers.get("agentdex-effect") }], warnings: value.warnings, tag: response.headers.get("etag"), version: versionOf(response) };
	}
	// What is replaced was shown before.
	query.set("if_exists", isNew ? "refuse" : "replace");
	if (replace) query.set("replace", "true");
	const { value } = await send("POST", `${path}?${query}`, body, type);
	const { ids, created, updated, originalUpdated, versionsUpdated, removed, things = [], warnings } = value;
	const effectOn = (id) => created.includes(id) ? "created" : updated.includes(id) ? "updated" : originalUpdated.includes(id) ? "original-updated" : versionsUpdated.includes(id) ? "versions-updated" : "unchanged";
	const effects = [...ids.map((id) => ({ id, effect: effectOn(id) })), ...removed.map((id) => ({ id, effect: "removed" }))];
	return { effects, warnings, things };
}

/** The agents that a write would change as they are now, with the tags of their versions. */
export async function present(effects) {
	const found = new Map();
	const there = effects.filter(({ effect }) => effect !== "created").slice(0, MOST);
	await Promise.all(there.map(async ({ id }) => {
		const { text, response } = await request("GET", thing(id));
		found.set(id, { td: edited(text), tag: response.headers.get("etag"), version: versionOf(response) });
	}));
	return found;
}

/** The document that an agent was imported from, and the URL where it is polled, as far as there is one. */
export async function origin(id) {
	const query = new URLSearchParams({ q: `id:"${id}"`, facets: "format", limit: 1, consistent: true });
	const [[source] = [], found] = await Promise.all([get(`imports?id=${enc(id)}`), get(`search?${query}`)].map((one) => one.catch(() => undefined)));
	const format = found?.total === 1 && found.hits[0].id === id ? found.facets.format?.[0]?.value : undefined;
	return { source: source?.source, format: source?.format ?? (format === "td" ? undefined : format) };
}

/** What becomes of an imported agent whose description is written by hand: the one place that says it. */
export function fate({ source, format }, formats) {
	if (!source && !format) return "";
	const noun = formats.find(({ name }) => name === format)?.noun ?? "a document";
	return e("p.note", "This agent was imported from ", noun, source ? [" at ", link(source), ", which is polled for changes"] : "",
		". Your changes here are kept on top of that document: they still apply when the document ", source ? "changes" : "is imported again", ", and are included in exports.");
}

const KINDS = { actions: "actions", properties: "properties", events: "events", forms: "forms", securityDefinitions: "security definitions" };

/** True of the refusal to drop what an agent has. */
export const wouldDrop = (error) => error.document?.code === "lossy-import";

/** What an agent would lose by an import, in words. */
export function losses({ id, originalFormat, dropped }, formats) {
	const noun = formats.find(({ name }) => name === originalFormat)?.noun ?? originalFormat;
	const original = originalFormat ? [e("li", `the document that it was imported from, ${noun}`)] : [];
	const kinds = Object.entries(dropped).map(([kind, names]) => e("li.t", `${KINDS[kind] ?? kind}: ${names.join(", ")}`));
	return [e("p", "The registered version of ", e("code.t", id), " has content that this document lacks. Replacing it drops"), e("ul", original, kinds)];
}

/** What a write does to each agent, in words: before it is done with what differs, afterwards with links. */
export function told({ effects, things = [], there = new Map() }, when, editing) {
	const item = ({ id, effect }) => {
		const td = things.find((one) => one.id === id) ?? things.find((one) => one.id === undefined);
		const before = there.get(id)?.td;
		const words = id !== undefined && id === editing && effect === "updated" ? EDITED[when] : (when === "before" ? BEFORE : AFTER)[effect];
		const title = before?.title || td?.title || (id ?? "an agent without a name");
		return e("li", `${words} `, effect === "removed" ? e("strong.t", title) : when === "before" && effect === "created" ? e("strong.t", title) : e("strong", who(id, title)),
			id === undefined ? dim(" under a new id") : id === title ? "" : dim(` ${id}`));
	};
	return e("ul.plain", effects.slice(0, MOST).map(item), effects.length > MOST ? e("li.dim", `and ${effects.length - MOST} more`) : "");
}

/** What differs between the agents as they are and as they would be. */
export function changes({ effects, things = [], there }) {
	const ends = "https://www.w3.org/2022/wot/discovery";
	// What the registry adds to every description is no difference.
	const plain = ({ registration, ...td }) => ({ ...td, "@context": [td["@context"]].flat().filter((one) => one !== ends) });
	const changed = effects.filter(({ id, effect }) => effect === "updated" && there.has(id));
	return changed.map(({ id }) => {
		const places = differences(plain(there.get(id).td), plain(things.find((one) => one.id === id) ?? {}));
		return places.length ? fold(changed.length > 1 ? `Changes to ${there.get(id).td.title ?? id}` : "Changes", () => diff(places), true) : "";
	});
}
