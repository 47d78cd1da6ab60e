// Who looks at the page: signing in with an API key or at the issuer of tokens, where the registry asks for that.

import { forget, key, refusals, self } from "./api.js";
import { announce, dim, e, failure, h, refill } from "./dom.js";

const place = document.querySelector("[data-who]");
let changed;
let dialog;

/** Shows who looks at the page, and calls a function whenever that is somebody else. */
export function start(whenChanged) {
	changed = whenChanged;
	// It is asked for once: whoever doesn't sign in then finds the button.
	refusals.addEventListener("refused", () => key.value || dialog || signIn());
	const returned = new URLSearchParams(location.search);
	dialog = returned.has("state");
	dialog ? comeBack(returned) : draw();
}

async function draw() {
	const { access, demo } = await self().catch(() => ({}));
	if (demo) return refill(place, dim("Demo: nothing is kept"));
	if (!access?.authentication) return refill(place);
	const button = (text, onclick) => h("button.quiet", { type: "button", onclick }, text);
	refill(place, access.owner ? [e("span.t", access.owner), dim(` ${access.role} `), button("Sign out", () => become(""))] : button("Sign in", signIn));
}

/** Goes on with another key. */
async function become(text) {
	key.value = text;
	forget();
	await draw();
	changed();
}

export async function signIn() {
	dialog = h("dialog", { "aria-labelledby": "sign-in" });
	const { access } = await self().catch(() => ({}));
	const input = h("input", { id: "key", type: "password", autocomplete: "current-password", required: true, placeholder: "adx_…" });
	const said = h("p", { role: "alert" });
	dialog.append(h("form", { onsubmit: (event) => { event.preventDefault(); attempt(input, said); } },
		h("h2", { id: "sign-in" }, "Sign in"),
		e("p.field", h("label", { for: "key" }, "API key"), input),
		h("p.dim", {}, "It is kept in this tab until you sign out or close it. Whoever runs the registry makes one with ", e("code", "agentdex keys create"), "."), said,
		e(".bar", h("button.primary", {}, "Sign in"), access?.signIn ? h("button", { type: "button", onclick: () => leave(access.signIn) }, `Sign in at ${new URL(access.signIn.issuer).host}`) : "", h("button", { type: "button", onclick: () => dialog.close() }, "Not now"))));
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
}

async function attempt(input, said) {
	const before = key.value;
	key.value = input.value.trim();
	forget();
	const { access } = await self().catch(() => ({}));
	if (!access?.owner) {
		key.value = before;
		forget();
		return refill(said, failure(new Error(access ? "This key is not valid: unknown, expired, or revoked." : "The registry can't be reached.")));
	}
	dialog.close();
	announce(`Signed in as ${access.owner}`);
	await draw();
	changed();
}

// OAuth 2.0 for browsers: the code flow with PKCE (RFC 7636).

const PENDING = "agentdex-sign-in";
const page = () => location.origin + location.pathname;
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (c) => ({ "+": "-", "/": "_" })[c] ?? "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Goes to the issuer, which sends people back with a code. */
async function leave({ clientId, scope, authorizationEndpoint }) {
	const [state, verifier] = [random(), random()];
	sessionStorage.setItem(PENDING, JSON.stringify({ state, verifier, hash: location.hash }));
	const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
	const asked = { response_type: "code", client_id: clientId, redirect_uri: page(), scope, state, code_challenge: base64url(new Uint8Array(hash)), code_challenge_method: "S256" };
	const url = new URL(authorizationEndpoint);
	for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
	location.assign(url);
}

/** Gets a token for the code that the issuer has sent people back with. */
async function comeBack(returned) {
	const { state, verifier, hash = "" } = JSON.parse(sessionStorage.getItem(PENDING) ?? "{}");
	sessionStorage.removeItem(PENDING);
	history.replaceState(null, "", page() + hash);
	try {
		if (!state || state !== returned.get("state")) throw new Error("This is not the answer to a sign-in of this tab.");
		if (!returned.get("code")) throw new Error(`The issuer refused it: ${returned.get("error_description") ?? returned.get("error")}`);
		const { signIn: { clientId, tokenEndpoint } } = (await self()).access;
		const body = new URLSearchParams({ grant_type: "authorization_code", code: returned.get("code"), redirect_uri: page(), client_id: clientId, code_verifier: verifier });
		const token = await (await fetch(tokenEndpoint, { method: "POST", body })).json();
		if (!token.access_token) throw new Error(`The issuer gave no token: ${token.error_description ?? token.error}`);
		await become(token.access_token);
		announce("Signed in");
	} catch (error) {
		await draw();
		place.append(failure(error));
	}
}
