// An agent that was changed while somebody edits it: who changed what, and both changes as one.

import { edited, get, request, thing, versionOf } from "./api.js";
import { brief, diff, differences, merged } from "./difference.js";
import { e, h, moment } from "./dom.js";

// `use` takes the merged description, the one that is stored, its tag and its version.
/** Shows what others changed since a version, and asks about those places alone that both changed. */
export async function merge({ id, base, mine, version, use }) {
	let found;
	try {
		found = await request("GET", thing(id));
	} catch (error) {
		if (error.status !== 404) throw error;
		return [e("p.note", "It was removed in the meantime."), h("button", { type: "button", onclick: () => use(mine) }, "Continue to register it again")];
	}
	const [theirs, tag] = [edited(found.text), found.response.headers.get("etag")];
	const { changes } = await get(thing(id, "/history?limit=1000"));
	const later = changes.filter(({ seq }) => seq > version);
	const conflicts = [];
	const both = merged([base, mine, theirs], undefined, conflicts);
	const finish = (td) => use(td, theirs, tag, versionOf(found.response));
	const said = [
		e("h2", "It was changed while you edited it"),
		e("p", later.map(({ actor, at }, index) => [index ? ", " : "", e("strong.t", actor ?? "Somebody"), " ", moment(at)]), ":"),
		diff(differences(base, theirs)),
	];
	if (!conflicts.length) return [...said, e("p", "Your changes are in different places, so both can be kept."), h("button.primary", { type: "button", onclick: () => finish(both) }, "Merge them")];
	const side = (index, name, words, value) => h("label", {}, h("input", { type: "radio", name: `merge-${index}`, value: name, required: true }), ` ${words}: `, brief(value));
	const form = h("form.merge", { onsubmit: (event) => {
		event.preventDefault();
		const chosen = new Map(conflicts.map(({ pointer }, index) => [pointer, form.elements[`merge-${index}`].value]));
		finish(merged([base, mine, theirs], chosen));
	} }, conflicts.map(({ pointer, mine, theirs }, index) => e("fieldset", e("legend.t", pointer || "the whole description"), side(index, "mine", "Yours", mine), side(index, "theirs", "Theirs", theirs))),
	e("button.primary", "Merge them"));
	return [...said, e("p", "Both of you changed this; which version should be kept?"), form];
}
