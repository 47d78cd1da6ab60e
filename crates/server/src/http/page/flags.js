// What the registry noticed in descriptions.

import { cut, h } from "./dom.js";

const MOST = 20;

/** What was noticed in a description: each kind once, with how often. */
export function flagsOf(flags) {
	const kinds = Map.groupBy(flags ?? [], ({ kind }) => kind);
	return [...kinds].slice(0, MOST).map(([kind, all]) => h("span.badge.bad.t", { title: all.slice(0, 10).map(({ pointer, found }) => (pointer ? `${pointer}: ${cut(found ?? "")}` : "")).filter(Boolean).join("\n") || undefined }, kind, all.length > 1 ? ` × ${all.length}` : ""));
}
