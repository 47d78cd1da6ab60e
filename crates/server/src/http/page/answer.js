// What an agent answers, as a table and as JSON. An answer has up to 4 MiB: what is drawn of it is bounded.

import { colored, copier, count, cut, dim, e, fold, grid, h, link } from "./dom.js";
import { isObject } from "./schema.js";

const MOST_ROWS = 100;
const MOST_COLUMNS = 12;
const LONGEST_CELL = 300;
const LONGEST_TEXT = 20_000;

const plain = (value) => typeof value === "string" ? value : JSON.stringify(value) ?? "";
const cell = (value) => (value === undefined ? "" : e(typeof value === "string" ? "span.t" : "code.t", cut(plain(value), LONGEST_CELL)));
const more = (shown, all, what) => (all > shown ? e("p.dim", `${count(all - shown)} more ${what}: see the JSON.`) : "");

/** A value as a table, as far as it is one. */
export function tableOf(value) {
	if (Array.isArray(value) && value.length && value.every(isObject)) {
		const rows = value.slice(0, MOST_ROWS);
		const all = [...new Set(rows.flatMap((row) => Object.keys(row).slice(0, 2 * MOST_COLUMNS)))];
		const columns = all.slice(0, MOST_COLUMNS);
		return [grid("Data", columns.map((name) => e("span.t", cut(name, 60))), rows.map((row) => columns.map((name) => cell(Object.hasOwn(row, name) ? row[name] : undefined))), true),
			more(rows.length, value.length, "rows"), more(columns.length, all.length, "columns")];
	}
	if (Array.isArray(value)) {
		return [e("ul.values", value.slice(0, MOST_ROWS).map((one) => e("li", cell(one)))), value.length ? more(MOST_ROWS, value.length, "items") : e("p.dim", "An empty list.")];
	}
	if (!isObject(value)) return e("p.t", cut(plain(value), LONGEST_TEXT));
	const names = Object.keys(value);
	if (!names.length) return e("p.dim", "An empty object.");
	return [grid("Data", ["Name", "Value"], names.slice(0, MOST_ROWS).map((name) => [e("span.t", cut(name, LONGEST_CELL)), cell(value[name])]), true), more(MOST_ROWS, names.length, "members")];
}

/** A value as JSON: its beginning where it is long, and all of it to be copied or stored. */
export function jsonOf(value) {
	const text = JSON.stringify(value, null, 2);
	const url = text.length > LONGEST_TEXT ? URL.createObjectURL(new Blob([text], { type: "application/json" })) : undefined;
	return e(".code", h("pre", { tabindex: "0", role: "group", "aria-label": "The answer as JSON" }, colored(cut(text, LONGEST_TEXT))),
		e(".bar", copier(() => text, "the answer"), url ? [dim(`${count(text.length)} characters`), h("a", { href: url, download: "answer.json" }, "Save it as a file")] : ""));
}

function partOf(part) {
	switch (part.kind) {
		case "text":
			return e("p.t", cut(part.text ?? "", LONGEST_TEXT));
		case "data":
			return [tableOf(part.data), fold("JSON", () => jsonOf(part.data))];
		case "artifact":
			return e("div", part.name ? e("h4.t", part.name) : "", (part.parts ?? []).slice(0, MOST_ROWS).map(partOf));
		case "thinking":
			return "";
		case "image": case "audio": case "document": case "video": case "binary":
			return e("p", dim(`${part.kind} `), part.url ? link(part.url, part.name) : e("span.t", `${part.name ?? part.mediaType ?? ""}, ${count(Math.floor((part.bytes?.length ?? 0) * 3 / 4))} bytes`));
		default:
			return e("code.t", cut(plain(part), LONGEST_CELL));
	}
}

/** The parts of an answer. */
export function answerOf({ message, text }) {
	const parts = Array.isArray(message?.parts) ? message.parts : [{ kind: "text", text }];
	const drawn = parts.slice(0, MOST_ROWS).map(partOf);
	return parts.length ? [drawn, more(MOST_ROWS, parts.length, "parts")] : e("p.dim", "The answer is empty.");
}

/** Why the registry couldn't call an agent, to somebody who can't set its variables. */
export function explained(error) {
	if (error.document?.code === "agent-not-callable" && /\bAGENTDEX_CREDENTIAL_/.test(error.message)) {
		return new Error("The agent requires a credential, which the registry doesn't send. Call it yourself with one of the commands.");
	}
	return error;
}

/** Says something to an agent through the registry. Returns the answer; tells `progress` of the states before it. */
export async function turn(stream, progress) {
	for await (const { kind, data } of stream) {
		if (kind === "status") progress(JSON.parse(data));
		if (kind === "done" || kind === "question") return JSON.parse(data);
		if (kind === "error") {
			const document = JSON.parse(data);
			throw Object.assign(new Error(document.detail ?? document.title), { document, status: document.status });
		}
	}
	throw new Error("The answer was cut off. Is the registry running?");
}
