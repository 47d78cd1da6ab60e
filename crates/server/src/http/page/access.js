// Who looks at the page: signing in with an API key or at the issuer of tokens, where the registry asks for that.

import { forget, key, refusals, self } from "./api.js";
import { announce, dim, e, failure, h, refill } from "./dom.js";
import { adopt } from "./drafts.js";

const place = document.querySelector("[data-who]");
let changed;
let dialog;
let remember = () => {};
/** Whether somebody was signed out by a key that is no longer valid. */
let lapsed = false;

/** Shows who looks at the page, and calls a function whenever that is somebody else. */
export function start(whenChanged) {
	changed = whenChanged;
	// It is asked for once: whoever doesn't sign in then finds the button.
	refusals.addEventListener("refused", () => (key.value ? lapse() : dialog || signIn()));
	refusals.addEventListener("wanted", signIn);
	// Somebody signed in or out in another tab.
	let known = key.value;
	addEventListener("storage", async () => {
		if (key.value === known) return;
		known = key.value;
		forget();
		dialog?.close?.();
		await draw();
		changed();
	});
	remember = () => (known = key.value);
	const returned = new URLSearchParams(location.search);
	dialog = returned.has("state");
	dialog ? comeBack(returned) : draw();
}

async function draw() {
	const { access, demo } = await self().catch(() => ({}));
	document.querySelector("[data-admin]").hidden = demo || access?.role !== "admin";
	if (demo) return refill(place, dim("Demo: nothing is kept"));
	if (!access?.authentication) return refill(place);
	adopt(access.owner);
	// A key that is no longer valid isn't kept.
	if (access.owner) lapsed = false;
	else if (key.value) {
		lapsed = true;
		key.forget();
	}
	if (key.stays && !mayStay(access)) key.leave();
	remember();
	const button = (text, onclick) => h("button.quiet", { type: "button", onclick }, text);
	refill(place, access.owner ? [e("span.t", access.owner), dim(` ${access.role} `), button("Sign out", signOut)] : [lapsed ? h("span", { role: "status" }, "You were signed out: your key has expired or was revoked. ") : "", button("Sign in", signIn)]);
}

/** Looks whether the key is still valid, once for all requests that are refused together. */
let lapsing;
function lapse() {
	forget();
	lapsing ??= draw().finally(() => (lapsing = undefined));
}

/** Whether somebody may stay signed in on a device. */
const mayStay = ({ role, adminStaysSignedIn }) => role !== "admin" || adminStaysSignedIn === true;

async function signOut() {
	lapsed = false;
	key.forget();
	forget();
	await draw();
	changed();
}

/** Goes on with a key, on this device if that is wished and allowed. Returns what its holder may do; nothing if it isn't valid. */
async function become(text, stays) {
	const undo = key.use(text);
	forget();
	const { access } = await self().catch(() => ({}));
	if (!access?.owner) {
		undo();
		forget();
		return { reached: Boolean(access) };
	}
	if (stays && mayStay(access)) key.stay();
	await draw();
	changed();
	return access;
}

/** A choice to stay signed in, off unless somebody chooses it. */
function stayChoice({ adminStaysSignedIn } = {}) {
	const input = h("input", { id: "stay", type: "checkbox", "aria-describedby": "stay-help" });
	return [input, e("p.field", e("span.option", input, h("label", { for: "stay" }, "Keep me signed in on this device")),
		h("span.hint", { id: "stay-help" }, "Unless you choose this, you are signed out when you close this tab. Don't choose it where others use the browser.", adminStaysSignedIn ? "" : " With the role admin, you are signed out in any case."))];
}

export async function signIn() {
	dialog = h("dialog", { "aria-labelledby": "sign-in" });
	const { access } = await self().catch(() => ({}));
	const input = h("input", { id: "key", type: "password", autocomplete: "current-password", required: true, placeholder: "adx_…" });
	const said = e("div");
	const [stay, choice] = stayChoice(access);
	dialog.append(h("form", { onsubmit: (event) => { event.preventDefault(); attempt(input, stay, said); } },
		h("h2", { id: "sign-in" }, "Sign in"),
		e("p.field", h("label", { for: "key" }, "API key"), input), choice,
		h("p.dim", {}, "The operator of the registry creates keys with ", e("code", "agentdex keys create"), "."), said,
		e(".bar", h("button.primary", {}, "Sign in"), access?.signIn ? h("button", { type: "button", onclick: () => leave(access.signIn, stay.checked) }, `Sign in at ${new URL(access.signIn.issuer).host}`) : "", h("button", { type: "button", onclick: () => dialog.close() }, "Not now"))));
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
}

async function attempt(input, stay, said) {
	const access = await become(input.value.trim(), stay.checked);
	if (!access.owner) return refill(said, failure(new Error(access.reached ? "This key is not valid: unknown, expired, or revoked." : "The registry can't be reached.")));
	dialog.close();
	announce(stay.checked && !key.stays ? `Signed in as ${access.owner}, in this tab only` : `Signed in as ${access.owner}`);
}

// OAuth 2.0 for browsers: the code flow with PKCE (RFC 7636).

const PENDING = "agentdex-sign-in";
const page = () => location.origin + location.pathname;
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (c) => ({ "+": "-", "/": "_" })[c] ?? "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Goes to the issuer, which sends people back with a code. */
async function leave({ clientId, scope, authorizationEndpoint }, stays) {
	const [state, verifier] = [random(), random()];
	sessionStorage.setItem(PENDING, JSON.stringify({ state, verifier, stays, hash: location.hash }));
	const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
	const asked = { response_type: "code", client_id: clientId, redirect_uri: page(), scope, state, code_challenge: base64url(new Uint8Array(hash)), code_challenge_method: "S256" };
	const url = new URL(authorizationEndpoint);
	for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
	location.assign(url);
}

/** Gets a token for the code that the issuer has sent people back with. */
async function comeBack(returned) {
	const { state, verifier, stays, hash = "" } = JSON.parse(sessionStorage.getItem(PENDING) ?? "{}");
	sessionStorage.removeItem(PENDING);
	history.replaceState(null, "", page() + hash);
	try {
		if (!state || state !== returned.get("state")) throw new Error("This is not the answer to a sign-in of this tab.");
		if (!returned.get("code")) throw new Error(`The issuer refused to sign you in: ${returned.get("error_description") ?? returned.get("error")}`);
		const { signIn: { clientId, tokenEndpoint } } = (await self()).access;
		const body = new URLSearchParams({ grant_type: "authorization_code", code: returned.get("code"), redirect_uri: page(), client_id: clientId, code_verifier: verifier });
		const token = await (await fetch(tokenEndpoint, { method: "POST", body })).json();
		if (!token.access_token) throw new Error(`The issuer returned no token: ${token.error_description ?? token.error}`);
		const access = await become(token.access_token, stays);
		if (!access.owner) throw new Error("The registry doesn't accept the token of the issuer.");
		announce(`Signed in as ${access.owner}`);
	} catch (error) {
		await draw();
		place.append(failure(error));
	}
}
