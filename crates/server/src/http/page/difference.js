// Versions of a description: merge patches (RFC 7396), and what differs between two values.

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const MOST = 100;

/** A value with a merge patch applied. */
export function patched(value, patch) {
	if (!isObject(patch)) return patch;
	const result = isObject(value) ? { ...value } : {};
	for (const [name, change] of Object.entries(patch)) {
		if (change === null) delete result[name];
		else Object.defineProperty(result, name, { value: patched(result[name], change), enumerable: true, configurable: true, writable: true });
	}
	return result;
}

/** The places where two values differ, each with what it was and is. */
export function differences(before, after, pointer = "", found = []) {
	if (found.length >= MOST || JSON.stringify(before) === JSON.stringify(after)) return found;
	const both = isObject(before) && isObject(after) ? [Object.keys(before), Object.keys(after)]
		: Array.isArray(before) && Array.isArray(after) ? [[...before.keys()], [...after.keys()]] : undefined;
	if (!both) {
		found.push({ pointer, before, after });
		return found;
	}
	for (const name of new Set(both.flat())) {
		const step = `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
		const own = (value) => (Object.hasOwn(value, name) ? value[name] : undefined);
		differences(own(before), own(after), step, found);
	}
	return found;
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
