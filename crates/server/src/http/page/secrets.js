// What nobody but the caller should read of an input: by its schema, which is somebody else's, or by its name. Bounded, whatever the
// schema is: where a place allows too much to be looked through, it is taken for secret.

import { isObject, list } from "./schema.js";

const MOST_REFERENCES = 8;
const MOST_SCHEMAS = 200;

const SECRET_NAME = /passw|passphrase|passcode|pwd|secret|token(?!i[sz])|credential|bearer|jwt|connection[-_ ]?string|(api|auth|access|private|signing|encryption|account|subscription|license)[-_ ]?key|^(auth|authorization)$/i;
/** Names of secrets that may also be numbers, by their last words. */
const SECRET_CODE = /(^|-)((pass(word|phrase|code|wd)?|pwd|secret|pins?|cv[vc]2?|csc|t?otps?|token)(-?(code|number|no|value))?|(access|security|verification|auth|authentication|authorization|confirmation|one-?time|sms|2fa|mfa)-?code)$/;

export const own = (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);
export const put = (object, name, value) => Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });

/** The schema at a JSON Pointer in a fragment, such as `#/$defs/Place`. */
function referred(root, reference) {
	if (!/^#(\/|$)/.test(reference)) return undefined;
	let found = root;
	for (const part of reference.slice(2).split("/").filter(Boolean)) {
		let name = part;
		try {
			name = decodeURIComponent(part);
		} catch {
			// It stays as it is.
		}
		name = name.replaceAll("~1", "/").replaceAll("~0", "~");
		found = Array.isArray(found) ? found[Number(name)] : own(found, name);
	}
	return found;
}

/** A schema without references, and without the alternative `null`; one that allows anything if it never ends. */
export function resolved(schema, root = schema) {
	let found = schema;
	for (let hops = 0; isObject(found) && hops < MOST_REFERENCES; hops += 1) {
		const { $ref, allOf, anyOf, oneOf, ...rest } = found;
		const choices = list(anyOf ?? oneOf);
		const others = choices.filter((one) => one?.type !== "null");
		let inner;
		if (typeof $ref === "string") inner = referred(root, $ref);
		else if (list(allOf).length === 1) inner = allOf[0];
		else if (others.length === 1 && choices.length <= 2) inner = others[0];
		else {
			const types = list(found.type).filter((type) => type !== "null");
			return types.length === 1 ? { ...found, type: types[0] } : found;
		}
		if (!isObject(inner)) return {};
		found = { ...inner, ...rest };
	}
	return {};
}

/** All schemas that may say something of one place: these, what they refer to, and their alternatives; undefined if these are too many. */
function everySchema(schemas, root) {
	const found = new Set();
	const waiting = [schemas].flat();
	while (waiting.length) {
		const one = waiting.pop();
		if (!isObject(one) || found.has(one)) continue;
		found.add(one);
		if (found.size > MOST_SCHEMAS) return undefined;
		const { $ref, allOf, anyOf, oneOf, dependentSchemas, dependencies } = one;
		if (typeof $ref === "string") waiting.push(referred(root, $ref));
		for (const part of [allOf, anyOf, oneOf, dependentSchemas, dependencies]) {
			if (typeof part === "object" && part) waiting.push(...Object.values(part).slice(0, MOST_SCHEMAS + 1));
		}
		waiting.push(one.if, one.then, one.else);
	}
	return [...found];
}

const wordsOf = (name) => name.replace(/([\p{Ll}\d])(\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, (_, end, start, last) => (end ? `${end}-${start}` : `${last}-`)).replace(/[-_.\s]+/g, "-").toLowerCase();

/** True for a name that says that its value is secret. One that is a number has another meaning in `maxTokens`. */
function isSecretName(name, schemas) {
	if (typeof name !== "string" || !name) return false;
	const types = schemas.flatMap(({ type }) => list(type));
	const isAlways = (...kinds) => types.length > 0 && types.every((type) => kinds.includes(type));
	if (isAlways("boolean", "null")) return false;
	return SECRET_CODE.test(wordsOf(name.slice(0, 500))) || (!isAlways("integer", "number", "boolean", "null") && SECRET_NAME.test(name));
}

/** True for a value that nobody else should read. */
export function isSecret(name, schema, root = schema) {
	const schemas = everySchema(schema, root);
	return !schemas || schemas.some(({ writeOnly, format }) => writeOnly === true || format === "password")
		|| [name, ...schemas.map(({ title, properties }) => (properties ? "" : title))].some((one) => isSecretName(one, schemas));
}

/** The schemas that may say something of a member or an element. */
function inner(schemas, step) {
	const isElement = typeof step === "number";
	return schemas.flatMap((schema) => isElement
		? [Array.isArray(schema.items) ? schema.items[step] : schema.items, list(schema.prefixItems)[step], schema.additionalItems, schema.unevaluatedItems, schema.contains]
		// Patterns are those of others: they aren't run.
		: [own(schema.properties, step), ...Object.values(isObject(schema.patternProperties) ? schema.patternProperties : {}).slice(0, MOST_SCHEMAS + 1), schema.additionalProperties, schema.unevaluatedProperties]);
}

/** A value with what is secret replaced by what `mask` makes of its name; what it makes nothing of is left out. */
function masked(value, schema, mask, root = schema, name = "") {
	const schemas = everySchema(schema, root);
	if (!schemas || isSecret(name, schemas, root)) return mask(name);
	if (Array.isArray(value)) {
		const isTuple = schemas.some(({ items, prefixItems }) => Array.isArray(items) || Array.isArray(prefixItems));
		// The others keep their places in a tuple.
		return value.map((one, at) => masked(one, inner(schemas, at), mask, root, name) ?? (isTuple ? null : undefined)).filter((one) => one !== undefined);
	}
	if (!isObject(value)) return value;
	const kept = {};
	for (const [member, one] of Object.entries(value)) {
		const safe = masked(one, inner(schemas, member), mask, root, member);
		if (safe !== undefined) put(kept, member, safe);
	}
	return kept;
}

/** A value without what nobody else should read, so that it can be stored. */
export const withoutSecrets = (value, schema) => masked(value, schema, () => undefined);

/** A value with the names of its secrets in their places, to be shown in commands. */
export const withPlaceholders = (value, schema) => masked(value, schema, (name) => `<${name || "secret"}>`);
