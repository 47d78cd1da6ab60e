// What was typed and isn't sent yet: it stays in the tab, so that no other view, way back or sign-in loses it.

import { self } from "./api.js";

/** The draft of a view. Whoever is signed out doesn't see what was typed before that. */
export async function draftOf(view) {
	const { access } = await self().catch(() => ({}));
	const names = (access?.owner ? ["agentdex-own-draft", "agentdex-draft"] : ["agentdex-draft"]).map((name) => `${name} ${view}`);
	const drop = (some) => some.forEach((name) => sessionStorage.removeItem(name));
	const found = names.map((name) => sessionStorage.getItem(name)).find(Boolean);
	return {
		value: found && JSON.parse(found),
		/** Keeps it; false if the browser has no room for it. */
		keep(value) {
			try {
				sessionStorage.setItem(names[0], JSON.stringify(value));
				drop(names.slice(1));
				return true;
			} catch {
				return false;
			}
		},
		drop: () => drop(names),
	};
}
