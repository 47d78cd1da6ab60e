// How an agent is called: a form of its description as a command line, with examples for its input, and placeholders for what only
// the caller has.

import { list, sample } from "./schema.js";

const METHODS = { invokeaction: "POST", readproperty: "GET", writeproperty: "PUT", observeproperty: "GET", subscribeevent: "GET", readallproperties: "GET", readmultipleproperties: "GET" };


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

/** True for an action that no form calls without a credential. */
export function needsCredential({ forms }, td) {
	const isOpen = (name, depth = 0) => {
		const { scheme, oneOf, allOf } = td.securityDefinitions?.[name] ?? {};
		if (scheme === "combo" && depth < 3) return oneOf ? list(oneOf).some((one) => isOpen(one, depth + 1)) : list(allOf).every((one) => isOpen(one, depth + 1));
		return ["nosec", "auto", undefined].includes(scheme);
	};
	const all = list(forms).filter((form) => typeof form?.href === "string");
	return all.length > 0 && !all.some((form) => securityOf(form, td).every((name) => isOpen(name)));
}

/** A URL with the values of its variables (RFC 6570), as far as they are known. */
function expanded(url, values) {
	return url.replace(/\{([?&]?)([\w.,*%-]+)\}/g, (whole, kind, names) => {
		const known = names.split(",").map((name) => name.replace("*", "")).filter((name) => values?.[name] !== undefined);
		if (!known.length) return kind ? "" : whole;
		const text = (name) => encodeURIComponent(typeof values[name] === "string" ? values[name] : JSON.stringify(values[name]));
		return kind ? kind + known.map((name) => `${name}=${text(name)}`).join("&") : known.map(text).join(",");
	});
}

/** The option that names this registry, where the command line wouldn't ask it anyway. */
function thisRegistry() {
	const url = location.origin + location.pathname.replace(/\/+$/, "");
	return url === "http://127.0.0.1:8080" ? [] : ["--url", url];
}

/** The command that calls an action. */
export const agentdexCall = (id, name, input, confirmed) =>
	lines(["agentdex", "call", id, name, ...(input === undefined ? [] : ["--input", JSON.stringify(input)]), ...(confirmed ? ["--yes"] : []), ...thisRegistry()]);

/** The command that runs a Flow, by its id or its file. */
export const agentdexRun = (flow, input) =>
	lines(["agentdex", "run", flow, ...(Object.keys(input).length ? ["--input", JSON.stringify(input)] : []), ...thisRegistry()]);

/** The command that sends the request of a form, with this input or an example; none for protocols that have none. */
export function command(form, kind, affordance, td, input) {
	const variables = { ...td.uriVariables, ...affordance.uriVariables };
	const members = typeof input === "object" && input !== null ? input : {};
	const values = Object.fromEntries(Object.keys(variables).slice(0, 100).map((name) => [name, members[name] ?? sample(variables[name], name)]));
	const url = expanded(target(form, td.base), values);
	const body = input === undefined ? undefined : withoutVariables(input, variables, affordance);
	const op = list(form.op).find((op) => METHODS[op]) ?? { action: "invokeaction", property: "readproperty", event: "subscribeevent" }[kind];
	if (/^mqtts?:/i.test(url)) return mqtt(form, url, op, affordance, body);
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
	const sent = bodyOf(form, op, affordance, body);
	if (sent !== undefined && method !== "GET") words.push("-H", `Content-Type: ${form.contentType ?? "application/json"}`, "-d", sent);
	words.push(query ? `${url}${url.includes("?") ? "&" : "?"}${query}` : url);
	return lines(words);
}

/** Breaks a long command before its options. */
function lines(words) {
	const first = words.findIndex((word) => word.startsWith("-"));
	const head = (first < 0 ? words : words.slice(0, first)).map(quoted).join(" ");
	const parts = [];
	for (let at = first < 0 ? words.length : first; at < words.length; at += 1) {
		const takesValue = ["-X", "-H", "-d", "-u", "-h", "-t", "-m", "-p", "--input", "--url"].includes(words[at]);
		parts.push(takesValue ? `${words[at]} ${quoted(words[at + 1])}` : quoted(words[at]));
		if (takesValue) at += 1;
	}
	const line = [head, ...parts].join(" ");
	return line.length <= 88 ? line : `${head} ${parts.join(" \\\n  ")}`;
}

/** What of an input isn't in the URL. */
function withoutVariables(input, variables, { input: schema }) {
	if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
	const kept = Object.entries(input).filter(([name]) => !Object.hasOwn(variables, name) || schema?.properties?.[name] !== undefined);
	return kept.length || schema ? Object.fromEntries(kept) : undefined;
}

function bodyOf(form, op, affordance, input) {
	const given = () => input ?? sample(affordance.input ?? { type: "object" }, "input");
	const write = (value) => JSON.stringify(value);
	if (form["mcp:tool"] !== undefined) {
		return write({ jsonrpc: "2.0", id: 1, method: form["mcp:method"] ?? "tools/call", params: { name: form["mcp:tool"], arguments: given() } });
	}
	if (form.subprotocol === "a2a") {
		const message = { role: "user", messageId: "1", parts: [typeof input === "object" && input !== null ? { data: input } : { text: input ?? "Hello" }] };
		return write(form["a2a:method"] ? { jsonrpc: "2.0", id: 1, method: form["a2a:method"], params: { message } } : { message });
	}
	if (op === "writeproperty") return write(sample(affordance, "value"));
	return op === "invokeaction" && (affordance.input || input !== undefined) ? write(given()) : undefined;
}

function mqtt(form, url, op, affordance, input) {
	const { hostname, port, pathname, protocol } = new URL(url);
	const topic = form["mqv:topic"] ?? form["mqv:filter"] ?? decodeURIComponent(pathname.slice(1));
	const common = ["-h", hostname, "-p", port || (protocol === "mqtts:" ? "8883" : "1883"), "-t", String(topic)];
	const sends = op === "invokeaction" || op === "writeproperty";
	return lines(sends ? ["mosquitto_pub", ...common, "-m", bodyOf(form, op, affordance, input) ?? ""] : ["mosquitto_sub", ...common]);
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
			return "None: anyone can call it.";
		case "auto":
			return "The description names none. If the agent needs credentials, its answer says so.";
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
			return "A pre-shared key (TLS-PSK).";
		case "combo":
			return scheme.allOf ? `All of ${list(scheme.allOf).join(", ")}.` : `One of ${list(scheme.oneOf).join(", ")}.`;
		default:
			return `The scheme ${scheme.scheme}${place}${called}.`;
	}
}
