// A conversation with an agent, through the registry, which stores nothing of it: the tab keeps it.

import { conversation as path, events } from "./api.js";
import { answerOf, explained, turn } from "./answer.js";
import { announce, e, failure, h, refill, stopButton } from "./dom.js";
import { draftOf } from "./drafts.js";
import { isObject, list } from "./schema.js";
import { isSecret } from "./secrets.js";

/** Names of members that texts go into, as the registry has them. */
const TEXT_MEMBERS = ["message", "question", "query", "text", "prompt", "input", "content", "utterance", "request", "ask"];
/** What the tab keeps of a conversation. */
const MOST_TURNS = 40;
const LONGEST = 512 * 1024;

/** True for a text that may be seen: one typed in a conversation is shown, and kept in the tab. */
const isFreeText = (schema, name, root) => isObject(schema) && ["type", "string"].includes(schema.type ?? "type") && ["enum", "const", "format", "properties"].every((member) => schema[member] === undefined) && !isSecret(name, schema, root);

/** The member of an input that takes a text: the one that is for messages by its name, or the only one. */
function textMember(properties, required, root) {
	const free = Object.keys(properties).filter((name) => isFreeText(properties[name], name, root));
	const needed = free.filter((name) => required.includes(name));
	const only = needed.length === 1 ? needed[0] : !needed.length && free.length === 1 && Object.keys(properties).length === 1 ? free[0] : undefined;
	return TEXT_MEMBERS.map((known) => free.find((name) => name.toLowerCase() === known)).find(Boolean) ?? only;
}

/** True for a required member that the registry fills in itself. */
const isKnown = (schema, depth = 0) => isObject(schema) && (schema.const !== undefined || schema.default !== undefined || list(schema.enum).includes("text")
	|| (depth < 4 && isObject(schema.properties) && list(schema.required).every((name) => isKnown(schema.properties[name], depth + 1))));

/** True for an action that needs the consent of its user. */
export const needsConfirmation = (action) => Object.entries(action).some(([name, value]) => /(^|:)requiresConfirmation$/.test(name) && value === true);

/** True for an action that takes messages of people, whatever its input says: one of A2A. */
export const takesMessages = ({ forms, input }) => list(forms).some((form) => form?.subprotocol === "a2a") && !isObject(input?.properties);

/** True if an action can be called with a text alone. */
function takesText(action) {
	const { input, uriVariables } = action;
	if (needsConfirmation(action)) return false;
	if (takesMessages(action)) return true;
	if (!isObject(input)) return !isObject(uriVariables) || !Object.keys(uriVariables).length || textMember(uriVariables, [], uriVariables) !== undefined;
	if (!isObject(input.properties)) return input.type !== "object" && (input.type === "array" ? !isSecret("", input.items ?? {}, input) : isFreeText(input, "", input));
	const required = list(input.required);
	const place = textMember(input.properties, required, input);
	return place !== undefined && required.every((name) => name === place || isKnown(input.properties[name]));
}

/** The actions that can be talked with: pairs of a name and a title. */
export function textActions(td) {
	const all = Object.entries(isObject(td.actions) ? td.actions : {}).filter(([, action]) => isObject(action) && takesText(action));
	return all.map(([name, action]) => [name, typeof action.title === "string" && action.title ? action.title : name]);
}

// `actions` are those to choose from, `several` is true if the agent has others as well; an `action` goes on with a `conversation`;
// `left` is aborted when the page of the agent is left.
/** What is said, and where one says more. */
export function chat(id, { actions = [], several = false, action, conversation, left } = {}) {
	const said = h("div", { role: "log", "aria-label": "Conversation" });
	const problem = h("div", { role: "alert" });
	const fresh = conversation === undefined;
	const [field, choice] = [`say-${action ?? ""}`, `talk-action-${action ?? ""}`].map((name) => name.replace(/-$/, ""));
	const draft = draftOf(`talk ${id}${fresh ? "" : ` ${action}`}`);
	const kept = draftOf(`conversation ${id}`);
	const input = h("textarea", { id: field, rows: 2, required: true, oninput: () => draft.then((draft) => draft.keep(input.value)), onkeydown: (event) => {
		if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		form.requestSubmit();
	} });
	draft.then(({ value }) => (input.value ||= value ?? ""));
	const button = h("button.primary", {}, "Send");
	const cancel = h("button", { type: "button", hidden: true, onclick: () => calling?.abort() }, "Cancel");
	const anew = h("button.quiet", { type: "button", hidden: true, onclick: () => begin() }, "Start again");
	const select = actions.length > 1 ? h("select", { id: choice, onchange: () => begin() }, actions.map(([name, title]) => h("option", { value: name }, title))) : undefined;
	let turns = [];
	let calling;
	const add = (who, ...content) => said.appendChild(e(".said", e("strong", `${who}: `), content));
	const show = ({ message, answer }) => [add("You", e("span.t", message)), add("Agent", answerOf(answer))];
	const begin = async () => {
		calling?.abort();
		[turns, conversation] = [[], undefined];
		refill(said);
		refill(problem);
		anew.hidden = true;
		(await kept).drop();
		input.focus();
	};
	const keep = async () => {
		if (!fresh) return;
		const value = { turns: turns.slice(-MOST_TURNS), conversation, action: select?.value };
		JSON.stringify(value).length <= LONGEST ? (await kept).keep(value) : (await kept).drop();
	};
	if (fresh) kept.then(({ value }) => {
		if (!value || turns.length) return;
		[turns, conversation] = [value.turns, value.conversation];
		if (select && value.action) select.value = value.action;
		turns.forEach(show);
		anew.hidden = false;
	});
	const named = () => action ?? select?.value ?? (several ? actions[0]?.[0] : undefined);
	const say = async (event) => {
		event.preventDefault();
		const message = input.value.trim();
		if (!message || calling) return;
		calling = new AbortController();
		const { signal } = calling;
		stopButton(button, true);
		cancel.hidden = false;
		refill(problem);
		announce("Waiting for the answer");
		const own = add("You", e("span.t", message));
		const state = said.appendChild(e("p.dim", "Waiting for the answer…"));
		try {
			const answer = await turn(events(path(id), { method: "POST", signal, body: { message, action: named(), conversation } }), ({ state: word }) => refill(state, `The agent is ${word}…`));
			if (signal.aborted) return;
			({ conversation } = answer);
			const { text, state: outcome } = answer;
			turns.push({ message, answer: { message: answer.message, text } });
			add("Agent", answerOf(answer));
			anew.hidden = !fresh;
			keep();
			if (["failed", "rejected", "cancelled"].includes(outcome)) {
				refill(problem, failure(new Error(`${outcome}: ${text || "the agent gives no reason"}`)));
			} else {
				input.value = "";
				(await draft).drop();
			}
		} catch (error) {
			// It is still in the field, to be sent again.
			own.remove();
			if (error.name !== "AbortError") refill(problem, failure(explained(error)));
		} finally {
			state.remove();
			if (calling?.signal === signal) calling = undefined;
			stopButton(button, Boolean(calling));
			cancel.hidden = !calling;
		}
		input.focus();
	};
	const form = h("form", { onsubmit: say }, select ? e("p.field", h("label", { for: choice }, "Action"), select) : "",
		e("p.field", h("label", { for: field }, fresh ? "Message" : "Your answer"), input), e(".bar", button, cancel, anew));
	left?.addEventListener("abort", () => calling?.abort());
	return [said, problem, form];
}
