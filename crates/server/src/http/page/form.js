// A form for a value by its data schema: a field for each member, and JSON for what has no field. Schemas are those of others:
// the numbers of fields, choices, items, and levels are bounded, and so are chains of references.

import { cut, e, h, refill, shown } from "./dom.js";
import { isObject, limits, list } from "./schema.js";
import { isSecret, own, put, resolved } from "./secrets.js";

const DEEPEST = 3;
const MOST_FIELDS = 100;
const MOST_CHOICES = 200;
const MOST_ITEMS = 50;
const LONGEST_DEFAULT = 20_000;
/** From this length on a text has several lines. */
const LONG = 200;

const step = (pointer, name) => `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;

const MESSAGE_NAME = /^(message|question|text|prompt|content|body|instructions?|utterance|request)$/i;

/** Alternatives that a list offers: pairs of a text and a value. */
function choicesOf(schema) {
	const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
	if (Array.isArray(schema.enum)) return schema.enum.map((value) => [text(value), value]);
	const all = list(schema.oneOf ?? schema.anyOf);
	if (all.length && all.every((one) => isObject(one) && one.const !== undefined)) return all.map((one) => [typeof one.title === "string" ? one.title : text(one.const), one.const]);
	return [];
}

function kindOf(schema) {
	if (schema.const !== undefined) return "constant";
	const choices = choicesOf(schema).length;
	if (choices && choices <= MOST_CHOICES) return "choice";
	if (["boolean", "integer", "number", "string"].includes(schema.type)) return schema.type;
	if ((schema.type === "object" || schema.type === undefined) && isObject(schema.properties) && Object.keys(schema.properties).length) return "object";
	if (schema.type === "array" && !Array.isArray(schema.items)) return "array";
	return schema.type === undefined && !schema.allOf && !schema.anyOf && !schema.oneOf && !schema.not ? "anything" : "json";
}

/** What a field has before anybody types. */
function proposal(schema) {
	const known = [schema.const, schema.default, list(schema.examples)[0], schema.example].find((value) => value !== undefined);
	return JSON.stringify(known)?.length > LONGEST_DEFAULT ? undefined : known;
}

/** Says what is wrong with a field. */
class FieldError extends Error {
	constructor(message, input) {
		super(message);
		this.input = input;
	}
}

let ids = 0;

/** Reads a number as it was typed, with all its digits. */
const numberOf = (text) => JSON.rawJSON && String(Number(text)) !== text ? JSON.rawJSON(text) : Number(text);
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Reads JSON whose numbers stay as they are written. */
const parsed = (text) => JSON.parse(text, (_, value, context) => typeof value === "number" && context ? numberOf(context.source) : value);

function labelled(place, schema, input, check) {
	const { name, title, required } = place;
	const { enum: choices, default: known, ...limited } = schema;
	const text = [schema.description, limits(limited)].filter((one) => typeof one === "string" && one).join(" · ");
	const hint = text ? h("span.hint.t", { id: `${input.id}-hint` }, text) : "";
	if (hint) input.setAttribute("aria-describedby", hint.id);
	if (required) input.setAttribute("aria-required", "true");
	const label = h("label", { for: input.id }, e("span.t", title ?? name), title && title !== name ? e("code.t", ` ${name}`) : "", required ? e("span.need", " required") : "");
	return check ? e(".field", e("span.option", input, label), hint) : e(".field", label, input, hint);
}

const BUILDERS = {
	constant(schema, place) {
		const element = e("p.field", e("span.dim.t", place.title ?? place.name), e("code.t", JSON.stringify(schema.const)));
		return { element, read: () => (place.required ? schema.const : undefined) };
	},

	choice(schema, place, value) {
		const all = choicesOf(schema);
		const at = all.findIndex(([, one]) => JSON.stringify(one) === JSON.stringify(value));
		const select = h("select", { id: place.id }, at < 0 || !place.required ? h("option", { value: "" }, place.required ? "Choose…" : "(not given)") : "",
			all.map(([text], index) => h("option", { value: index, selected: index === at }, text.slice(0, LONG))));
		return { element: labelled(place, schema, select), input: select, read: () => (select.value === "" ? missing(place, select) : all[select.value][1]) };
	},

	boolean(schema, place, value) {
		if (!place.required && value === undefined) return BUILDERS.choice({ description: schema.description, enum: [true, false] }, place, value);
		const input = h("input", { id: place.id, type: "checkbox", checked: value === true });
		return { element: labelled(place, schema, input, true), input, read: () => input.checked };
	},

	number(schema, place, value) {
		const input = h("input", { id: place.id, inputmode: "decimal", autocomplete: "off", ...secretly(place), value: ["number", "object"].includes(typeof value) && value !== null ? JSON.stringify(value) : "" });
		const read = () => {
			const text = input.value.trim();
			if (!text) return missing(place, input);
			if (!NUMBER.test(text)) throw new FieldError(`${place.name}: ${text.slice(0, 40)} is not a number.`, input);
			return numberOf(text);
		};
		return { element: labelled(place, schema, input), input, read };
	},

	string(schema, place, value) {
		const isLong = !place.secret && (schema.maxLength > LONG || (schema.maxLength === undefined && MESSAGE_NAME.test(place.name)) || /\n/.test(value));
		const input = h(isLong ? "textarea" : "input", { id: place.id, autocomplete: "off", rows: isLong ? 3 : undefined, ...secretly(place), value: typeof value === "string" ? value : "" });
		return { element: labelled(place, schema, input), input, read: () => (input.value === "" ? missing(place, input) : input.value) };
	},

	anything(schema, place, value) {
		const input = h("input", { id: place.id, autocomplete: "off", placeholder: "Text or JSON", ...secretly(place), value: value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value) });
		const read = () => {
			if (input.value === "") return missing(place, input);
			try {
				return parsed(input.value);
			} catch {
				return input.value;
			}
		};
		return { element: labelled(place, schema, input), input, read };
	},

	json(schema, place, value) {
		const empty = place.required ? { object: "{}", array: "[]" }[schema.type] : undefined;
		const text = value === undefined ? empty ?? "" : JSON.stringify(value, null, 2);
		const placeholder = schema.type === "array" ? "[…]" : schema.type === "object" ? "{…}" : "JSON";
		const input = h(place.secret ? "input" : "textarea", { id: place.id, rows: place.secret ? undefined : 3, spellcheck: "false", autocomplete: "off", placeholder, ...secretly(place), value: text });
		const read = () => {
			if (!input.value.trim()) return missing(place, input);
			try {
				return parsed(input.value);
			} catch (error) {
				throw new FieldError(`${place.name}: this is not JSON: ${error.message}`, input);
			}
		};
		return { element: labelled(place, schema, input), input, read };
	},

	object(schema, place, value) {
		const { context, depth, pointer, secret } = place;
		const needed = new Set(list(schema.required));
		const names = Object.keys(schema.properties).sort((one, other) => needed.has(other) - needed.has(one));
		const fields = [];
		while (names.length && context.left > 0) {
			const name = names.shift();
			const inner = schema.properties[name];
			context.left -= 1;
			fields.push([name, build(inner, { name, title: titleOf(inner), pointer: step(pointer, name), required: needed.has(name), depth: depth + 1, context, secret, given: place.isGiven || isObject(value) ? { value: own(value, name) } : undefined })]);
		}
		const others = names.length ? Object.fromEntries(names.flatMap((name) => (own(value, name) === undefined ? [] : [[name, own(value, name)]]))) : {};
		const rest = names.length ? BUILDERS.json({ type: "object", description: `${names.length} more members have no field: ${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}.` },
			{ ...place, id: `field-${(ids += 1)}`, name: "Other members, as JSON", title: undefined, required: false, secret: false }, Object.keys(others).length ? others : undefined) : undefined;
		const body = e(".fields", fields.map(([, field]) => field.element), rest?.element);
		const members = () => {
			const found = {};
			for (const [name, field] of fields) {
				const one = field.read();
				if (one !== undefined) put(found, name, one);
			}
			const more = rest?.read();
			if (more !== undefined && !isObject(more)) throw new FieldError("Other members must be an object: {\"name\": …}", rest.input);
			for (const [name, one] of Object.entries(more ?? {})) put(found, name, one);
			return found;
		};
		if (depth === 0) return { element: body, read: members };
		const legend = [e("span.t", place.title ?? place.name), schema.description ? e("span.hint.t", schema.description) : ""];
		if (place.required) return { element: e("fieldset.group", e("legend", legend), body), read: members };
		const given = h("input", { id: place.id, type: "checkbox", checked: value !== undefined, onchange: () => (body.hidden = !given.checked) });
		body.hidden = !given.checked;
		return { element: e("fieldset.group", e("legend", h("label", { for: place.id }, given, " ", legend)), body), input: given, read: () => (given.checked ? members() : undefined) };
	},

	array(schema, place, value) {
		const { context, depth, pointer, secret } = place;
		const most = Math.min(typeof schema.maxItems === "number" ? schema.maxItems : MOST_ITEMS, MOST_ITEMS);
		const items = [];
		const inner = isObject(schema.items) ? schema.items : {};
		const rows = h("ol.items", {});
		const add = (given) => {
			if (items.length >= most || context.left <= 0) return undefined;
			context.left -= 1;
			const at = items.length;
			const field = build(inner, { name: `${place.name} ${at + 1}`, pointer: step(pointer, at), required: true, depth: depth + 1, context, secret: secret || isSecret(place.name, inner, context.root), given });
			const item = { field, row: e("li", field.element, h("button.quiet", { type: "button", "aria-label": `Remove ${place.name} ${at + 1}`, onclick: () => {
				items.splice(items.indexOf(item), 1);
				item.row.remove();
				more.disabled = false;
				more.focus();
				more.dispatchEvent(new Event("input", { bubbles: true }));
			} }, "Remove")) };
			items.push(item);
			rows.append(item.row);
			more.disabled = items.length >= most;
			return item;
		};
		const more = h("button.quiet", { type: "button", onclick: () => add()?.row.querySelector("input, select, textarea")?.focus() }, "Add ", e("span.t", place.title ?? place.name));
		const first = Array.isArray(value) ? value : Array.from({ length: Math.min(Math.max(typeof schema.minItems === "number" ? schema.minItems : 0, place.required ? 1 : 0), most) });
		first.slice(0, most).forEach((one) => add(one === undefined ? undefined : { value: one }));
		const kept = Array.isArray(value) ? value.slice(items.length) : [];
		const read = () => {
			const found = items.map(({ field }) => field.read()).filter((one) => one !== undefined).concat(kept);
			return found.length || place.required ? found : undefined;
		};
		const legend = e("legend", e("span.t", place.title ?? place.name), place.required ? e("span.need", " required") : "", schema.description ? e("span.hint.t", schema.description) : "");
		return { element: e("fieldset.group", legend, rows, kept.length ? e("p.dim", `${kept.length} more items are sent as they are.`) : "", more), read };
	},
};
BUILDERS.integer = BUILDERS.number;

const titleOf = (schema) => (typeof schema?.title === "string" && schema.title ? schema.title : undefined);
const secretly = ({ secret }) => (secret ? { type: "password", autocomplete: "new-password", spellcheck: "false" } : {});

/** A value that isn't given: refused where it is required. */
function missing({ required, name }, input) {
	if (required) throw new FieldError(`${name} is required.`, input);
	return undefined;
}

function build(given, place) {
	const schema = resolved(given, place.context.root);
	const secret = place.secret || isSecret(place.name, [given, schema], place.context.root);
	let kind = kindOf(schema);
	if ((kind === "object" && place.depth > DEEPEST) || (kind === "array" && place.depth > DEEPEST)) kind = "json";
	if (secret && kind === "choice") kind = schema.type === "string" || schema.type === undefined ? "string" : "json";
	const isGiven = place.given !== undefined;
	const value = isGiven ? place.given.value : secret ? undefined : proposal(schema);
	const whole = { ...place, isGiven, secret, title: place.title ?? (place.depth ? undefined : titleOf(schema)), id: `field-${(ids += 1)}` };
	const field = BUILDERS[kind](schema, whole, value);
	if (field.input) place.context.inputs.set(place.pointer, field.input);
	// A field shows characters as they are, also those that turn the others around.
	if (typeof value === "string" && shown(value) !== value) field.element.append(h("span.hint.t", {}, "With hidden characters: ", cut(value)));
	return field;
}

/** A form for a value, which `given` may have already. */
export function schemaForm(schema, name, given, required = true) {
	const context = { root: schema, left: MOST_FIELDS, inputs: new Map() };
	const field = build(schema, { name, pointer: "", required, depth: 0, context, given: given === undefined ? undefined : { value: given } });
	const said = e("ul.findings.bad");
	const clear = () => {
		refill(said);
		for (const input of field.element.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
	};
	/** Shows what is wrong, and leads to the first place of it. */
	const mark = (errors) => {
		clear();
		refill(said, errors.slice(0, 20).map(({ text }) => e("li.t", text)));
		for (const { input } of errors.toReversed()) {
			input?.setAttribute("aria-invalid", "true");
			input?.focus();
		}
	};
	const nearest = (pointer) => {
		for (let place = pointer; ; place = place.slice(0, place.lastIndexOf("/"))) {
			if (context.inputs.has(place)) return context.inputs.get(place);
			if (!place.includes("/")) return field.element.querySelector("input, select, textarea");
		}
	};
	return {
		element: e(".schema-form", field.element, h("div", { role: "alert" }, said)),
		/** The value; undefined after saying why there is none. */
		read(quietly) {
			try {
				const value = field.read();
				if (!quietly) clear();
				return { value };
			} catch (error) {
				if (!(error instanceof FieldError)) throw error;
				if (!quietly) mark([{ text: error.message, input: error.input }]);
				return undefined;
			}
		},
		/** Shows what the registry says of places of the value. */
		refuse: (errors) => mark(errors.map(({ pointer, description }) => ({ text: pointer ? `${pointer.slice(1)}: ${description}` : description, input: nearest(pointer) }))),
	};
}
