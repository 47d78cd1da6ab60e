// How an agent is called: a form of its description as a command line, with placeholders for what only the caller has.

import { sample } from "./schema.js";

const METHODS = { invokeaction: "POST", readproperty: "GET", writeproperty: "PUT", observeproperty: "GET", subscribeevent: "GET", readallproperties: "GET", readmultipleproperties: "GET" };

const list = (value) => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** A text as one word of a shell. */
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The URL of a form, by the base of its description; its `{variables}` stay as they are. */
export function target(form, base) {
	const href = String(form.href ?? "");
	try {
		return decodeBraces(new URL(href, base).href);
	} catch {
		return href;
	}
}

const decodeBraces = (url) => url.replaceAll("%7B", "{").replaceAll("%7D", "}");

/** The names of the security definitions of a form, or of the Thing. */
const securityOf = (form, td) => list(form.security ?? td.security).filter((name) => typeof name === "string");

/** The command that sends the request of a form; none for protocols that have none. */
export function command(form, kind, affordance, td) {
	const url = target(form, td.base);
	const op = list(form.op).find((op) => METHODS[op]) ?? { action: "invokeaction", property: "readproperty", event: "subscribeevent" }[kind];
	if (/^mqtts?:/i.test(url)) return mqtt(form, url, op, affordance);
	if (!/^https?:/i.test(url)) return undefined;
	const method = form["htv:methodName"] ?? METHODS[op];
	if (!/^[A-Za-z]+$/.test(method)) return undefined;
	const words = ["curl"];
	let query = "";
	if (op === "subscribeevent" || op === "observeproperty") words.push("-N");
	if (method !== "GET") words.push("-X", method);
	for (const name of securityOf(form, td)) {
		const { args, parameter } = credentials(td.securityDefinitions?.[name], td, 0);
		words.push(...args);
		query = parameter ?? query;
	}
	for (const header of list(form["htv:headers"])) {
		if (typeof header?.["htv:fieldName"] === "string") words.push("-H", `${header["htv:fieldName"]}: ${header["htv:fieldValue"] ?? ""}`);
	}
	const body = bodyOf(form, op, affordance);
	if (body !== undefined && method !== "GET") words.push("-H", `Content-Type: ${form.contentType ?? "application/json"}`, "-d", body);
	words.push(query ? `${url}${url.includes("?") ? "&" : "?"}${query}` : url);
	return lines(words);
}

/** Breaks a long command before its options. */
function lines(words) {
	const parts = [];
	for (let at = 0; at < words.length; at += 1) {
		const takesValue = ["-X", "-H", "-d", "-u", "-h", "-t", "-m", "-p"].includes(words[at]);
		parts.push(takesValue ? `${words[at]} ${quoted(words[at + 1])}` : quoted(words[at]));
		if (takesValue) at += 1;
	}
	const line = parts.join(" ");
	return line.length <= 88 ? line : parts.join(" \\\n  ").replace(/^curl \\\n {2}/, "curl ");
}

function bodyOf(form, op, affordance) {
	const write = (value) => JSON.stringify(value);
	if (form["mcp:tool"] !== undefined) {
		return write({ jsonrpc: "2.0", id: 1, method: form["mcp:method"] ?? "tools/call", params: { name: form["mcp:tool"], arguments: sample(affordance.input ?? { type: "object" }, "input") } });
	}
	if (form.subprotocol === "a2a") {
		const message = { role: "user", messageId: "<id>", parts: [{ text: "<text>" }] };
		return write(form["a2a:method"] ? { jsonrpc: "2.0", id: 1, method: form["a2a:method"], params: { message } } : { message });
	}
	if (op === "writeproperty") return write(sample(affordance, "value"));
	return op === "invokeaction" && affordance.input ? write(sample(affordance.input, "input")) : undefined;
}

function mqtt(form, url, op, affordance) {
	const { hostname, port, pathname, protocol } = new URL(url);
	const topic = form["mqv:topic"] ?? form["mqv:filter"] ?? decodeURIComponent(pathname.slice(1));
	const common = ["-h", hostname, "-p", port || (protocol === "mqtts:" ? "8883" : "1883"), "-t", String(topic)];
	const sends = op === "invokeaction" || op === "writeproperty";
	return lines(sends ? ["mosquitto_pub", ...common, "-m", bodyOf(form, op, affordance) ?? ""] : ["mosquitto_sub", ...common]);
}

/** What a command needs for a security scheme. */
function credentials(scheme, td, depth) {
	const at = typeof scheme?.name === "string" ? scheme.name : "";
	switch (scheme?.scheme) {
		case "basic":
			return { args: ["-u", "<user>:<password>"] };
		case "digest":
			return { args: ["--digest", "-u", "<user>:<password>"] };
		case "bearer":
		case "oauth2":
			return { args: ["-H", `${scheme.in === "header" && at ? at : "Authorization"}: Bearer <token>`] };
		case "apikey":
			if (scheme.in === "query" || scheme.in === undefined) return { args: [], parameter: `${encodeURIComponent(at || "key")}=<key>` };
			if (scheme.in === "cookie") return { args: ["-H", `Cookie: ${at || "key"}=<key>`] };
			return { args: ["-H", `${at || "X-API-Key"}: <key>`] };
		case "combo": {
			const parts = list(scheme.allOf ?? list(scheme.oneOf).slice(0, 1)).filter(() => depth < 3);
			const found = parts.map((name) => credentials(td.securityDefinitions?.[name], td, depth + 1));
			return { args: found.flatMap(({ args }) => args), parameter: found.map(({ parameter }) => parameter).filter(Boolean).join("&") || undefined };
		}
		default:
			return { args: [] };
	}
}

/** A security scheme in words. */
export function inWords(name, scheme) {
	if (typeof scheme !== "object" || scheme === null) return `It names “${name}”, which isn't defined.`;
	const place = scheme.in ? ` in the ${scheme.in === "query" ? "query" : scheme.in}` : "";
	const called = scheme.name ? ` “${scheme.name}”` : "";
	const from = scheme.authorization ?? scheme.token;
	switch (scheme.scheme) {
		case "nosec":
			return "Everyone may call it; nothing is needed.";
		case "auto":
			return "Its description doesn't say what is needed; see what it answers.";
		case "basic":
			return "A user name and a password (HTTP Basic).";
		case "digest":
			return "A user name and a password (HTTP Digest).";
		case "bearer":
			return `A bearer token${scheme.format ? ` (${String(scheme.format).toUpperCase()})` : ""}${place}${called}${from ? `, from ${from}` : ""}.`;
		case "apikey":
			return `An API key${place}${called}.`;
		case "oauth2":
			return `An OAuth 2 token${scheme.flow ? ` (flow ${scheme.flow})` : ""}${from ? ` from ${from}` : ""}${list(scheme.scopes).length ? `, with the scopes ${list(scheme.scopes).join(", ")}` : ""}.`;
		case "psk":
			return "A key that was agreed on before (TLS-PSK).";
		case "combo":
			return scheme.allOf ? `All of ${list(scheme.allOf).join(", ")}.` : `One of ${list(scheme.oneOf).join(", ")}.`;
		default:
			return `The scheme ${scheme.scheme}${place}${called}.`;
	}
}
