// The REST API, by URLs that are relative to the page.

/** A problem document (RFC 9457). */
export class Problem extends Error {
	constructor(status, document) {
		super(document.detail ?? document.title ?? `The registry answered ${status}.`);
		this.status = status;
		this.document = document;
	}
}

async function request(method, path, options = {}) {
	let response;
	try {
		response = await fetch(path, { method, ...options, headers: { accept: "application/json", ...options.headers } });
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new Error("The registry can't be reached. Is it running?");
	}
	const text = method === "HEAD" ? "" : await response.text();
	let value = text;
	if (/json/.test(response.headers.get("content-type") ?? "") && text) value = JSON.parse(text);
	if (!response.ok) throw new Problem(response.status, typeof value === "object" ? value : {});
	return { value, response };
}

/** The value of a resource. */
export const get = async (path, signal) => (await request("GET", path, { signal })).value;

/** Whether a resource is there. */
export const exists = async (path) => request("HEAD", path).then(() => true, () => false);

/** Sends JSON, or text of another type. */
export async function send(method, path, body, type = "application/json") {
	const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
	return request(method, path, { body: text, headers: text === undefined ? {} : { "content-type": type } });
}

export const enc = encodeURIComponent;

/** The path of a Thing, and of what it has. */
export const thing = (id, end = "") => `things/${encodeURIComponent(id)}${end}`;

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

/** Where a view of the page is. */
export function href(view, parameters) {
	const query = new URLSearchParams(parameters).toString();
	return `#/${view}${query ? `?${query}` : ""}`;
}
