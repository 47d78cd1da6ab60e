// Data schemas as tables that people read.

import { e, grid } from "./dom.js";

const MOST_ROWS = 80;
const DEEPEST = 5;

export const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON?.(value);

/** The type of a schema in a word or two. */
export function typeOf(schema) {
	if (!isObject(schema)) return "anything";
	const types = list(schema.type).filter((type) => typeof type === "string");
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (types.includes("array")) return `list of ${isObject(schema.items) ? typeOf(schema.items) : "anything"}`;
	if (types.length) return types.join(" or ");
	if (isObject(schema.properties)) return "object";
	const choices = list(schema.oneOf ?? schema.anyOf);
	if (choices.length) return [...new Set(choices.map(typeOf))].join(" or ");
	return schema.enum ? "one of" : "anything";
}

/** What a value must satisfy, in words. */
export function limits(schema) {
	const said = [];
	const add = (name, words) => schema[name] !== undefined && said.push(words(schema[name]));
	const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
	if (Array.isArray(schema.enum)) said.push(`one of ${schema.enum.slice(0, 12).map(text).join(", ")}${schema.enum.length > 12 ? ", …" : ""}`);
	if (schema.minimum !== undefined && schema.maximum !== undefined) said.push(`${schema.minimum} to ${schema.maximum}`);
	else {
		add("minimum", (value) => `at least ${text(value)}`);
		add("maximum", (value) => `at most ${text(value)}`);
	}
	add("exclusiveMinimum", (value) => `more than ${text(value)}`);
	add("exclusiveMaximum", (value) => `less than ${text(value)}`);
	add("multipleOf", (value) => `a multiple of ${text(value)}`);
	add("minLength", (value) => `at least ${text(value)} characters`);
	add("maxLength", (value) => `at most ${text(value)} characters`);
	add("minItems", (value) => `at least ${text(value)} items`);
	add("maxItems", (value) => `at most ${text(value)} items`);
	add("pattern", (value) => `matches ${text(value)}`);
	add("format", text);
	add("unit", (value) => `in ${text(value)}`);
	add("contentMediaType", text);
	add("default", (value) => `unless given: ${text(value)}`);
	return said.join("; ");
}

function rows(schema, depth, required, name, found) {
	if (found.length >= MOST_ROWS) return found;
	found.push({ name, depth, type: typeOf(schema), required, description: schema.description ?? schema.title, limits: limits(schema) });
	if (depth >= DEEPEST) return found;
	return members(schema, depth + 1, found);
}

function members(schema, depth, found) {
	const inner = isObject(schema.items) ? schema.items : schema;
	const needed = list(inner.required);
	if (isObject(inner.properties)) {
		for (const [name, member] of Object.entries(inner.properties)) if (isObject(member)) rows(member, depth, needed.includes(name), name, found);
	}
	return found;
}

/** A schema as a table; one of a plain value as a line. */
export function table(schema, caption) {
	if (!isObject(schema)) return e("p.dim", "Anything.");
	const all = members(schema, 0, []);
	const about = [typeOf(schema), limits(schema)].filter(Boolean).join("; ");
	const text = schema.description && schema.description !== schema.title ? schema.description : "";
	if (!all.length) return e("p.schema", e("span.type", about), text ? e("span.t", ` ${text}`) : "");
	const rows = all.map((row) => [[e(`span.t.deep${Math.min(row.depth, DEEPEST)}`, row.name.split(/(?<=[a-z0-9])(?=[A-Z_])/).map((part) => [part, e("wbr")])), row.required ? e("span.need", " required") : ""],
		e("span.type", row.type), [row.description ? e("span.t", row.description) : "", row.limits ? e("span.limits.t", row.limits) : ""]]);
	return [grid(caption, ["Name", "Type", "Meaning"], rows, false, ".members"), all.length >= MOST_ROWS ? e("p.dim", "There is more: see the raw JSON.") : ""];
}

// A text that a format allows.
const OF_FORMAT = {
	date: "2026-01-31", "date-time": "2026-01-31T12:00:00Z", time: "12:00:00Z", duration: "PT1H", email: "someone@example.org", hostname: "example.org",
	uri: "https://example.org/", "uri-reference": "https://example.org/", uuid: "00000000-0000-4000-8000-000000000000", ipv4: "192.0.2.1", ipv6: "2001:db8::1",
};

/** An example in a description: `A city, such as Tokyo.` */
const named = (text) => /(?:such as|for example,?|e\.g\.,?)\s+[“"']?([^\s“”"',;.()]+)/i.exec(text)?.[1];

function sampleText(schema, name) {
	const text = OF_FORMAT[schema.format] ?? (typeof schema.description === "string" ? named(schema.description) : undefined) ?? name;
	const [least, most] = [schema.minLength, schema.maxLength].map((length) => (Number.isInteger(length) && length >= 0 && length <= 1000 ? length : undefined));
	return text.padEnd(least ?? 0, "x").slice(0, most);
}

function sampleNumber({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }) {
	const bound = (value) => (typeof value === "number" ? value : undefined);
	const least = bound(minimum) ?? (bound(exclusiveMinimum) === undefined ? undefined : exclusiveMinimum + 1);
	const most = bound(maximum) ?? (bound(exclusiveMaximum) === undefined ? undefined : exclusiveMaximum - 1);
	const value = least !== undefined && least > 1 ? least : most !== undefined && most < 1 ? most : 1;
	const whole = type === "integer" ? Math.ceil(value) : value;
	return bound(multipleOf) > 0 ? Math.ceil(whole / multipleOf) * multipleOf : whole;
}

/** A value that a schema allows: what it proposes itself, else something of the right type. */
export function sample(schema, name = "value", depth = 0) {
	if (!isObject(schema)) return name;
	for (const known of ["const", "default"]) if (schema[known] !== undefined) return schema[known];
	if (Array.isArray(schema.examples) && schema.examples.length) return schema.examples[0];
	if (schema.example !== undefined) return schema.example;
	if (Array.isArray(schema.enum) && schema.enum.length) return schema.enum[0];
	const type = list(schema.type)[0] ?? (schema.properties ? "object" : undefined);
	if (type === "object") {
		if (depth >= 4 || !isObject(schema.properties)) return {};
		const needed = list(schema.required);
		const names = Object.keys(schema.properties).filter((member) => !needed.length || needed.includes(member));
		return Object.fromEntries(names.slice(0, 20).map((member) => [member, sample(schema.properties[member], member, depth + 1)]));
	}
	if (type === "array") return depth >= 4 ? [] : [sample(schema.items, name, depth + 1)];
	if (type === "integer" || type === "number") return sampleNumber({ ...schema, type });
	if (type === "boolean") return true;
	if (type === "null") return null;
	if (schema.$ref !== undefined) return {};
	return sampleText(schema, name);
}
