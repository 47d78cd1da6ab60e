// Who looks at the page: signing in with an API key, where the registry asks for one.

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
	draw();
}

async function draw() {
	const { access } = await self().catch(() => ({}));
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

function signIn() {
	const input = h("input", { id: "key", type: "password", autocomplete: "current-password", required: true, placeholder: "adx_…" });
	const said = h("p", { role: "alert" });
	dialog = h("dialog", { "aria-labelledby": "sign-in" }, h("form", { onsubmit: (event) => { event.preventDefault(); attempt(input, said); } },
		h("h2", { id: "sign-in" }, "Sign in"),
		e("p.field", h("label", { for: "key" }, "API key"), input),
		h("p.dim", {}, "It is kept in this tab until you sign out or close it. Whoever runs the registry makes one with ", e("code", "agentdex keys create"), "."), said,
		e(".bar", h("button.primary", {}, "Sign in"), h("button", { type: "button", onclick: () => dialog.close() }, "Not now"))));
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
		return refill(said, failure(new Error(access ? "This key is not valid: it is not one of this registry, has expired, or was revoked." : "The registry can't be reached.")));
	}
	dialog.close();
	announce(`Signed in as ${access.owner}`);
	await draw();
	changed();
}
