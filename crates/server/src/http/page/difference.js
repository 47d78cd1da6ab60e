// Versions of a description: merge patches (RFC 7396), what differs between two, and three as one.

import { dim, e } from "./dom.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON?.(value);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const own = (value, name) => (Object.hasOwn(value, name) ? value[name] : undefined);
const step = (pointer, name) => `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
const put = (object, name, value) => Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
const MOST = 100;

/** A value with a merge patch applied. */
export function patched(value, patch) {
	if (!isObject(patch)) return patch;
	const result = isObject(value) ? { ...value } : {};
	for (const [name, change] of Object.entries(patch)) {
		if (change === null) delete result[name];
		else put(result, name, patched(result[name], change));
	}
	return result;
}

/** The places where two values differ, each with what it was and is. */
export function differences(before, after, pointer = "", found = []) {
	if (found.length >= MOST || same(before, after)) return found;
	const both = isObject(before) && isObject(after) ? [Object.keys(before), Object.keys(after)]
		: Array.isArray(before) && Array.isArray(after) ? [[...before.keys()], [...after.keys()]] : undefined;
	if (!both) {
		found.push({ pointer, before, after });
		return found;
	}
	for (const name of new Set(both.flat())) differences(own(before, name), own(after, name), step(pointer, name), found);
	return found;
}

// Lines of a value that are shown at once.
const MOST_LINES = 10;
const LONGEST = 50_000;

/** A value on one line. */
export const brief = (value) => value === undefined ? dim("nothing") : e("code.t", typeof value === "string" ? value : JSON.stringify(value));

/** A value: on one line if it is short, else indented, with what follows its first lines folded. */
function whole(value) {
	if (typeof value !== "object" || JSON.stringify(value).length <= 80) return brief(value);
	const lines = JSON.stringify(value, null, 2).slice(0, LONGEST).split("\n");
	const [first, rest] = [lines.slice(0, MOST_LINES), lines.slice(MOST_LINES)];
	return [e("pre", first.join("\n")), rest.length ? e("details", e("summary", `${rest.length} more lines`), e("pre", rest.join("\n"))) : ""];
}

/** Places that differ, as a list. */
export const diff = (places) => e("dl.diff", places.map(({ pointer, before, after }) => [e("dt.t", pointer || "/"),
	e("dd", before === undefined ? "" : e("del", whole(before)), after === undefined || after === null ? "" : e("ins", whole(after)))]));

/** The elements of lists can be told apart: there are as many in each, and those at one place have one name. */
function areAlike(lists) {
	const nameOf = (one) => isObject(one) ? one.id ?? one["lmos:id"] ?? one.name : undefined;
	return lists.every((list) => Array.isArray(list) && list.length === lists[0].length)
		&& lists[0].every((one, at) => nameOf(one) !== undefined && lists.every((list) => nameOf(list[at]) === nameOf(one)));
}

// Places that both changed are added to `conflicts`; they are as `chosen` says (by pointer: "theirs"), else as in mine.
/** Two versions that were made of one, as one again: a place that only one side changed is as that side has it. */
export function merged([base, mine, theirs], chosen, conflicts = [], pointer = "") {
	if (same(mine, theirs) || same(base, theirs)) return mine;
	if (same(base, mine)) return theirs;
	const all = [base, mine, theirs];
	const inner = (name) => merged(all.map((one) => own(one, name)), chosen, conflicts, step(pointer, name));
	if (areAlike(all)) return mine.map((_, at) => inner(at));
	if (all.every(isObject)) {
		const result = {};
		for (const name of new Set(all.slice(1).flatMap(Object.keys))) {
			const value = inner(name);
			if (value !== undefined) put(result, name, value);
		}
		return result;
	}
	conflicts.push({ pointer, base, mine, theirs });
	return chosen?.get(pointer) === "theirs" ? theirs : mine;
}

/** The changes of a Thing with what differs after each, the latest first. */
export function versions(changes) {
	let value;
	const found = changes.map((change) => {
		const before = value;
		if (change.td) value = change.td;
		else if (change.patch) value = value === undefined ? undefined : patched(value, change.patch);
		else value = undefined;
		// Where the log no longer has the beginning, the patch itself says what became of what.
		const places = change.patch
			? before === undefined ? differences({}, change.patch) : differences(before, value)
			: [];
		return { ...change, places };
	});
	return found.reverse();
}
