// Builds the document. Texts become text nodes, so that nothing an agent says of itself is ever markup.

import { refusals } from "./api.js";

// Characters that change the order of others, or are invisible, but for those that languages and emoji need: they are shown by
// their code.
const HIDDEN =
	/[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ufff9-\ufffb]|(?![\xad\u061c\u180b-\u180f\u200b-\u200f\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/gu;

/** A text as it may be shown. */
export const shown = (text) =>
	String(text).replace(HIDDEN, (c) => `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

/** An element: attributes by name, listeners as `onclick`, children as elements or texts. */
export function h(tag, attributes, ...children) {
	const [name, ...classes] = tag.split(".");
	const element = document.createElement(name || "div");
	if (classes.length) element.className = classes.join(" ");
	return fill(set(element, attributes), ...children);
}

/** An element without attributes. */
export const e = (tag, ...children) => h(tag, {}, ...children);

/** A text of less weight. */
export const dim = (...children) => e("span.dim", children);

/** The same in SVG. */
export const svg = (tag, attributes, ...children) =>
	fill(set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes), ...children);

function set(element, attributes) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === undefined || value === null || value === false) continue;
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
		else if (name === "value" || name === "checked") element[name] = value;
		else element.setAttribute(name, value === true ? "" : shown(value));
	}
	return element;
}

/** Adds children. */
export function fill(element, ...children) {
	for (const child of children.flat(Infinity)) {
		if (child === undefined || child === null || child === false) continue;
		// What is said already as a part of something isn't said again.
		if (child.role === "alert" && element.closest("[role=alert], [role=status], [aria-live]")) child.removeAttribute("role");
		element.append(child instanceof Node ? child : shown(child));
	}
	return element;
}

/** Replaces all children. What had the focus and is made anew has it again; what is gone leaves it to the element. */
export function refill(element, ...children) {
	const { activeElement: had } = document;
	const inside = had && had !== element && element.contains(had);
	element.replaceChildren();
	fill(element, ...children);
	if (inside && !element.contains(had)) focusOn([...element.querySelectorAll("a, button, summary")].find((one) => one.textContent === had.textContent && one.ariaLabel === had.ariaLabel && one.checkVisibility()) ?? element);
	return element;
}

/** Gives an element the focus, also one that the keyboard passes over. */
export function focusOn(element) {
	if (element.tabIndex < 0) element.tabIndex = -1;
	element.focus({ preventScroll: true });
}

/** Stops a button, or lets it go on. Unlike one that is disabled it keeps the focus. */
export const stopButton = (button, stops) => button.setAttribute("aria-disabled", String(stops));
export const isStopped = (button) => button.getAttribute("aria-disabled") === "true";

/** A text that is shown as far as it isn't too long for its place. */
export const cut = (text, most = 200) => (String(text).length > most ? `${String(text).slice(0, most).replace(/[\ud800-\udbff]$/, "")}…` : text);

/** A text with the words between `<b>` and `</b>` marked: the one form of HTML that the API sends. */
export function marked(html) {
	const plain = (text) =>
		text.replace(/&(lt|gt|quot|amp|#39|#x27);/g, (_, name) =>
			({ lt: "<", gt: ">", quot: '"', amp: "&", "#39": "'", "#x27": "'" })[name]);
	return html.split(/(<b>.*?<\/b>)/s).map((part) =>
		part.startsWith("<b>") ? e("mark", plain(part.slice(3, -4))) : plain(part));
}

/** A link, if the URL is one of the web or of mail; else its text. */
export function link(href, text, base) {
	let url;
	try {
		url = new URL(href, base || undefined);
	} catch {
		return e("code.t", text ?? href);
	}
	if (!["http:", "https:", "mailto:"].includes(url.protocol)) return e("code.t", text ?? href);
	return h("a.t", { href: url.href, rel: "noopener noreferrer nofollow" }, text ?? href);
}

/** A button that copies what a function returns. */
export function copier(text, name) {
	const button = h("button.quiet", { type: "button", "aria-label": `Copy ${name}` }, "Copy");
	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText(text());
			button.textContent = "Copied";
		} catch {
			button.textContent = "Copy it by hand";
		}
		announce(button.textContent);
		setTimeout(() => (button.textContent = "Copy"), 1500);
	});
	return button;
}

/** Text in a box, with a button that copies it. */
export const copyable = (text, name) =>
	e(".code", h("pre", { tabindex: "0", role: "group", "aria-label": name }, /^[{[]/.test(text) ? colored(text) : text), copier(() => shown(text), name));

/** JSON with names, texts, and other values in their colors; one that is long stays as it is. */
export const colored = (text) => (text.length > 60_000 ? text : text.split(/("(?:\\.|[^"\\])*"(?:\s*:)?|-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b)/).map((part, at) =>
	(at % 2 ? e(part[0] !== '"' ? "span.value" : part.endsWith(":") ? "span.name" : "span.text", part) : part)));

/** Lets screen readers say something. */
export function announce(text) {
	document.querySelector("[data-announce]").textContent = shown(text);
}

/** Asks in a dialog; true if the answer is yes. Who goes elsewhere in the page has said no. */
export function ask(question, yes, no, kind = "primary") {
	const dialog = h("dialog", { "aria-labelledby": "question" }, h("form", { method: "dialog" },
		h("div", { id: "question" }, question),
		e(".bar", h("button", { value: "no" }, no), h(`button.${kind}`, { value: "yes" }, yes))));
	document.body.append(dialog);
	dialog.showModal();
	const leave = () => dialog.close("no");
	addEventListener("hashchange", leave);
	return new Promise((resolve) => dialog.addEventListener("close", () => {
		removeEventListener("hashchange", leave);
		dialog.remove();
		resolve(dialog.returnValue === "yes");
	}));
}

/** Something that is loaded when it is opened. */
export function fold(summary, load, open) {
	const body = e("div");
	const details = h("details.fold", { open }, e("summary", summary), body);
	let asked = false;
	const opened = async () => {
		if (!details.open || asked) return;
		asked = true;
		await into(body, load);
	};
	details.addEventListener("toggle", opened);
	if (open) opened();
	return details;
}

/** The last load of each element: an earlier answer may come later. */
const rounds = new WeakMap();

/** Shows what a function loads, or why it can't. */
export async function into(element, load) {
	const round = {};
	const isLast = () => rounds.get(element) === round;
	rounds.set(element, round);
	element.setAttribute("aria-busy", "true");
	try {
		const content = await load();
		if (isLast()) refill(element, content);
	} catch (error) {
		if (isLast() && error.name !== "AbortError") refill(element, failure(error));
	}
	if (isLast()) element.removeAttribute("aria-busy");
}

/** A message of the API, in which what is quoted by backticks is code: the parts, to be added to an element. */
export const message = (text) => String(text).split(/`([^`]+)`/).map((part, at) => (at % 2 ? e("code.t", part) : part));

/** What went wrong. */
export const failure = (error) => h("p.note.bad", { role: "alert" }, message(error.message),
	error.status === 401 ? [" ", h("button.quiet", { type: "button", onclick: () => refusals.dispatchEvent(new Event("wanted")) }, "Sign in")] : "");

/** A table that scrolls where it is wide; the first cell of a row names it. One of the kind `.stacked` has no head in a narrow window: each cell then has the name of its column. */
export const grid = (caption, columns, rows, quiet, kind = "") =>
	h(`.scroll${kind}`, { tabindex: "0", role: "group", "aria-label": caption }, e("table", quiet ? "" : e("caption", caption),
		e("thead", e("tr", columns.map((title) => h("th", { scope: "col" }, title)))),
		e("tbody", rows.map(([first, ...cells]) => e("tr", h("th", { scope: "row" }, first), cells.map((cell, at) => h("td", typeof columns[at + 1] === "string" ? { "data-name": columns[at + 1] } : {}, cell)))))));

/** A name and its value, in a list of such. */
export const pair = (name, ...value) => e(".pair", e("dt", name), e("dd", value));

/** A link to the page of an agent. */
export const who = (id, title) => h("a.t", { href: `#/agent/${encodeURIComponent(id)}` }, cut(typeof title === "string" && title ? title : id));

/** The sign of an agent: the first letter of its title, in a color of its own. Pictures of other servers aren't loaded. */
export function icon(title, id = "") {
	let hash = 0;
	for (const letter of String(id).slice(0, 200)) hash = (hash * 31 + letter.codePointAt(0)) % 360;
	const [first = "?"] = String(title).match(/[\p{L}\p{N}]/u) ?? [];
	return svg("svg", { class: "icon", viewBox: "0 0 32 32", width: 32, height: 32, "aria-hidden": "true" },
		svg("rect", { width: 32, height: 32, rx: 8, fill: `hsl(${hash} 45% 34%)` }),
		svg("text", { x: 16, y: 22, "text-anchor": "middle", fill: "#fff" }, first.toUpperCase()));
}

/** How long ago a date is, or when it will be. */
function relative(date) {
	const seconds = (date - Date.now()) / 1000;
	const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
	const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
	return Math.abs(seconds) > 30 * 86400
		? date.toLocaleDateString(undefined, { dateStyle: "medium" })
		: new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.round(seconds / size), unit);
}

/** A moment, relative to now; the exact one is its title. */
export function moment(iso) {
	if (!iso) return "";
	const date = new Date(iso);
	if (Number.isNaN(date.getTime())) return e("span.t", iso);
	return h("time", { datetime: date.toISOString(), title: date.toISOString() }, relative(date));
}

// Times move on while they are looked at.
setInterval(() => {
	for (const time of document.hidden ? [] : document.querySelectorAll("time")) {
		const words = relative(new Date(time.dateTime));
		if (time.textContent !== words) time.textContent = words;
	}
}, 10_000);

/** A whole number with its digits grouped. */
export const count = (number) => new Intl.NumberFormat("en").format(number);

/** `1 agent`, `2 agents`. */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
