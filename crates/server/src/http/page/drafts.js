// What was typed and isn't sent yet: it stays in the tab, so that no other view, way back or sign-in loses it. What somebody typed
// before signing in becomes theirs; what somebody typed is never seen by somebody else who signs in.

import { enc, key, self } from "./api.js";

const of = (owner) => `agentdex-draft ${enc(owner)} `;

/** Gives an owner what was typed before signing in. */
export function adopt(owner) {
	const before = of("");
	for (const name of Object.keys(sessionStorage)) {
		if (!owner || !name.startsWith(before)) continue;
		sessionStorage.setItem(of(owner) + name.slice(before.length), sessionStorage.getItem(name));
		sessionStorage.removeItem(name);
	}
}

/** The draft of a view. Where it isn't known whose it is, there is none. */
export async function draftOf(view) {
	const owner = await self().then(({ access }) => access.owner ?? "", () => (key.value ? undefined : ""));
	if (owner === undefined) return { keep: () => true, drop: () => {} };
	adopt(owner);
	const name = of(owner) + view;
	const found = sessionStorage.getItem(name);
	return {
		value: found && JSON.parse(found),
		/** Keeps it; false if the browser has no room for it. */
		keep(value) {
			try {
				sessionStorage.setItem(name, JSON.stringify(value));
				return true;
			} catch {
				return false;
			}
		},
		drop: () => sessionStorage.removeItem(name),
	};
}
