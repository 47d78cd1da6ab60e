// The REST API, by URLs that are relative to the page.

/** A problem document (RFC 9457). */
export class Problem extends Error {
	constructor(status, document) {
		super(status === 401 && !key.value ? "You are signed out. Sign in to see this." : document.detail ?? document.title ?? `The registry answered ${status}.`);
		this.status = status;
		this.document = document;
	}
}

const KEY = "agentdex-key";
// Of this registry: another may be served by the same host, under another path.
const STAYING = `${KEY} ${location.pathname}`;

/** The API key that requests are sent with: of this tab until it is closed, or of this device until somebody signs out. */
export const key = {
	get value() {
		return sessionStorage.getItem(KEY) ?? localStorage.getItem(STAYING) ?? "";
	},
	/** Whether the key is kept on this device. */
	get stays() {
		return sessionStorage.getItem(KEY) === null && localStorage.getItem(STAYING) !== null;
	},
	/** Uses a key in this tab. Returns what undoes that. */
	use(text) {
		const before = sessionStorage.getItem(KEY);
		sessionStorage.setItem(KEY, text);
		return () => (before === null ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, before));
	},
	/** Keeps the key on this device, for all tabs. */
	stay() {
		localStorage.setItem(STAYING, this.value);
		sessionStorage.removeItem(KEY);
	},
	/** Keeps the key in this tab alone. */
	leave() {
		sessionStorage.setItem(KEY, this.value);
		localStorage.removeItem(STAYING);
	},
	/** Signs out, in all tabs. */
	forget() {
		sessionStorage.removeItem(KEY);
		localStorage.removeItem(STAYING);
	},
};

/** Says that something needs a key (`refused`), or that somebody wants to sign in (`wanted`). */
export const refusals = new EventTarget();

async function ask(method, path, options = {}) {
	const authorization = key.value ? { authorization: `Bearer ${key.value}` } : {};
	let response;
	try {
		response = await fetch(path, { method, ...options, headers: { accept: "application/json", ...authorization, ...options.headers } });
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new Error("The registry can't be reached. Is it running?");
	}
	if (response.status === 401) refusals.dispatchEvent(new Event("refused"));
	return response;
}

/** The events of a stream as they come. An EventSource can't send a key, nor a body. */
export async function* events(path, { last, signal, method = "GET", body } = {}) {
	const headers = { accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}), ...(body ? { "content-type": "application/json" } : {}) };
	const response = await ask(method, path, { signal, headers, body: body && JSON.stringify(body) });
	if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
	yield { kind: "open", id: response.headers.get("last-event-id") };
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	for (let rest = ""; ; ) {
		const { value, done } = await reader.read();
		if (done) return;
		// A long event comes in many pieces, and is looked through once.
		if (!value.includes("\n")) {
			rest += value;
			continue;
		}
		const parts = (rest + value).split("\n\n");
		rest = parts.pop();
		for (const part of parts) {
			const fields = Object.fromEntries(part.split("\n").map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? [line, ""]));
			if (fields.event) yield { kind: fields.event, id: fields.id, data: fields.data };
		}
	}
}

/** A file that isn't looked at. */
export async function download(path) {
	const response = await ask("GET", path, { headers: { accept: "*/*" } });
	if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
	return response.blob();
}

/** A response, and what is in it. */
export async function request(method, path, options) {
	const response = await ask(method, path, options);
	const text = method === "HEAD" ? "" : await response.text();
	let value = text;
	if (/json/.test(response.headers.get("content-type") ?? "") && text) value = JSON.parse(text);
	if (!response.ok) throw new Problem(response.status, typeof value === "object" ? value : {});
	return { value, text, response };
}

/** JSON whose numbers stay as they are written, such as 1.0, where the browser can do that. */
export const exactly = (text) => JSON.parse(text, (_, value, context) =>
	typeof value === "number" && JSON.rawJSON && context.source !== String(value) ? JSON.rawJSON(context.source) : value);

/** A description as people edit it: its registration is the time to live alone. */
export function edited(text) {
	const { registration: { ttl, expires } = {}, ...td } = exactly(text);
	return ttl || expires ? { ...td, registration: ttl ? { ttl } : { expires } } : td;
}

/** The version in the entity tag of a Thing. */
export const versionOf = (response) => /\d+/.exec(response.headers.get("etag"))?.[0];

/** The value of a resource. */
export const get = async (path, signal) => (await request("GET", path, { signal })).value;

/** Sends JSON, or text of another type. */
export async function send(method, path, body, type = "application/json", conditions = {}) {
	const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
	return request(method, path, { body: text, headers: { ...conditions, ...(text === undefined ? {} : { "content-type": type }) } });
}

export const enc = encodeURIComponent;

/** The path of a Thing, and of what it has. */
export const thing = (id, end = "") => `things/${encodeURIComponent(id)}${end}`;

/** Where an agent is talked with through the registry. */
export const conversation = (id) => thing(id, "/conversation");

/** What of a path of the API is relative to the page. */
export const relative = (path, root) => path.slice(root.length).replace(/^\//, "");

let about;

/** What the registry says of itself; asked for once. */
export function self() {
	about ??= get("./").then((value) => {
		const root = value.links.things.slice(0, -"/things".length);
		value.formats.forEach((format) => {
			format.import = relative(format.import, root);
			format.export = format.export && relative(format.export, root);
		});
		return value;
	});
	about.catch(() => (about = undefined));
	return about;
}

/** True if whoever looks at the page may change something, of this owner if one is named. */
export async function may(role, owner) {
	const { access } = await self();
	const isOwn = owner === undefined || owner === access.owner;
	if (role === "admin") return access.role === "admin";
	return !access.readOnly && (access.role === "admin" || (role === "register" && access.role === role && isOwn));
}

/** Forgets what the registry said of itself: to somebody else it may say more. */
export const forget = () => (about = undefined);

/** Where a view of the page is. */
export function href(view, parameters) {
	const query = new URLSearchParams(parameters).toString();
	return `#/${view}${query ? `?${query}` : ""}`;
}

/** Where the changes of a saved query are. */
export const live = ({ name, owner = "" }) => href("live", { query: name, owner });
