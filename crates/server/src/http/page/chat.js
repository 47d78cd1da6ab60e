// A conversation with an agent, through the registry. The page keeps it until it is left.

import { send, thing } from "./api.js";
import { announce, e, failure, h, refill } from "./dom.js";
import { draftOf } from "./drafts.js";

/** What is said, and where one says more. */
export function chat(id) {
	const said = h("div", { role: "log", "aria-label": "Conversation" });
	const problem = h("div", { role: "alert" });
	const draft = draftOf(`talk ${id}`);
	draft.then(({ value }) => (input.value ||= value ?? ""));
	const input = h("textarea", { id: "say", rows: 2, required: true, oninput: () => draft.then((draft) => draft.keep(input.value)), onkeydown: (event) => {
		if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		form.requestSubmit();
	} });
	const button = h("button.primary", {}, "Send");
	let conversation;
	const add = (who, text) => said.appendChild(e("p", e("strong", `${who}: `), e("span.t", text)));
	const say = async (event) => {
		event.preventDefault();
		const message = input.value.trim();
		if (!message || button.disabled) return;
		button.disabled = true;
		refill(problem);
		announce("Waiting for the answer");
		const own = add("You", message);
		try {
			const { value } = await send("POST", thing(id, "/conversation"), { message, conversation });
			conversation = value.conversation;
			const data = value.message.parts.filter(({ kind }) => kind !== "text");
			const answer = value.text || (data.length ? JSON.stringify(data, null, 2) : "(nothing)");
			add("Agent", answer);
			if (["failed", "rejected", "cancelled"].includes(value.state)) {
				refill(problem, failure(new Error(`${value.state}: ${answer}`)));
			} else {
				input.value = "";
				(await draft).drop();
			}
		} catch (error) {
			// It is still in the field, to be sent again.
			own.remove();
			refill(problem, failure(error));
		}
		button.disabled = false;
		input.focus();
	};
	const form = h("form", { onsubmit: say }, e("p.field", h("label", { for: "say" }, "Message"), input), e(".bar", button));
	return [said, problem, form];
}
