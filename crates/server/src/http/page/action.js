// Calling an action from its form: through the registry where that is offered, else by the command.

import { conversation, events, exactly } from "./api.js";
import { answerOf, explained, jsonOf, turn } from "./answer.js";
import { agentdexCall, command, needsCredential } from "./call.js";
import { chat, needsConfirmation, takesMessages } from "./chat.js";
import { announce, copyable, dim, e, failure, focusOn, fold, h, message, refill, stopButton } from "./dom.js";
import { draftOf } from "./drafts.js";
import { schemaForm } from "./form.js";
import { isObject, list, sample } from "./schema.js";
import { resolved, withoutSecrets, withPlaceholders } from "./secrets.js";

/** The input of an action as one schema: what goes into the URL is a member like the others. */
export function inputSchema(action, td) {
	const variables = { ...(isObject(td.uriVariables) ? td.uriVariables : {}), ...(isObject(action.uriVariables) ? action.uriVariables : {}) };
	const input = isObject(action.input) ? action.input : undefined;
	if (!Object.keys(variables).length) return input;
	const known = input ? resolved(input) : {};
	if (input && known.type !== "object" && !isObject(known.properties)) return input;
	const hrefs = list(action.forms).map((form) => String(form?.href ?? ""));
	const inPath = Object.keys(variables).filter((name) => hrefs.some((href) => href.includes(`{${name}}`)));
	return { ...known, ...(input?.$defs ? { $defs: input.$defs } : {}), type: "object", properties: { ...variables, ...known.properties }, required: [...list(known.required), ...inPath] };
}

// `left` is aborted when the page of the agent is left.
/** The form of an action; `obstacle` says why the registry can't call agents for whoever looks at it. */
export async function actionForm({ td, id, name, action, obstacle, left }) {
	const declared = takesMessages(action) ? undefined : inputSchema(action, td);
	// An agent that declares no input takes a message.
	const schema = declared ?? { title: "Message", description: "Text or JSON; can be left empty." };
	const title = typeof action.title === "string" && action.title ? action.title : name;
	const draft = await draftOf(`call ${id} ${name}`);
	const fields = e("div");
	const outcome = h("section.outcome", { "aria-label": `Answer of ${title}`, "aria-live": "polite" });
	let form;
	let json;
	let calling;

	const showForm = (value) => {
		json = undefined;
		form = schemaForm(schema, declared ? "input" : "Message", value, Boolean(declared));
		refill(fields, form.element);
		swap.textContent = "Write JSON instead";
	};
	const showJson = () => {
		const value = form.read(true)?.value ?? sample(schema, "input");
		json = h("textarea", { id: `json-${name}`, rows: 10, spellcheck: "false", autocomplete: "off", value: JSON.stringify(value, null, 2) });
		form = undefined;
		refill(fields, e("p.field", h("label", { for: json.id }, "Input, as JSON"), json));
		swap.textContent = "Use the form";
	};
	/** The input; undefined after saying why there is none. */
	const read = (quietly) => {
		if (form) return form.read(quietly);
		try {
			return { value: exactly(json.value) };
		} catch (error) {
			if (!quietly) refill(outcome, failure(new Error(`This is not JSON: ${error.message}`)));
			return undefined;
		}
	};
	const swap = h("button.quiet", { type: "button", onclick: () => {
		if (form) return showJson();
		const found = read(true);
		showForm(found?.value);
	} }, "");

	const commands = e("div");
	const showCommands = () => {
		const value = withPlaceholders(read(true)?.value, schema) ?? (declared && sample(declared, "input"));
		const lines = [agentdexCall(id, name, value, needsConfirmation(action)), ...list(action.forms).filter((one) => typeof one?.href === "string").slice(0, 10).map((one) => command(one, "action", action, td, value))];
		refill(commands, [...new Set(lines.filter(Boolean))].map((line) => copyable(line, `a command that calls ${title}`)));
	};

	const call = async () => {
		const found = read();
		if (!found) return;
		const { value } = found;
		const body = { action: name, ...(!declared && typeof value === "string" ? { message: value } : { input: value ?? {} }) };
		const started = performance.now();
		const took = () => `${Math.round(performance.now() - started).toLocaleString("en")} ms`;
		calling = new AbortController();
		const { signal } = calling;
		stopButton(button, true);
		cancel.hidden = false;
		const state = e("p.dim", "Waiting for the answer…");
		refill(outcome, state);
		announce("Waiting for the answer");
		try {
			const answer = await turn(events(conversation(id), { method: "POST", signal, body }), ({ state: word, progress }) => refill(state, `The agent is ${word}${progress === undefined ? "" : `, ${Math.round(100 * progress)} %`}…`));
			const bad = ["failed", "rejected", "cancelled"].includes(answer.state);
			refill(outcome, e("p", e(`span.badge${bad ? ".bad" : answer.state === "completed" ? ".good" : ".odd"}`, answer.state), dim(` after ${took()}`)), answerOf(answer),
				answer.state === "input-required" ? further(answer) : "", answer.message?.parts?.length === 1 && answer.message.parts[0].kind === "data" ? "" : fold("The whole answer, as JSON", () => jsonOf({ state: answer.state, message: answer.message })));
			announce(`Answered: ${answer.state}`);
		} catch (error) {
			if (error.name === "AbortError") refill(outcome, e("p", e("span.badge", "canceled"), dim(` after ${took()}`)));
			else {
				const places = error.document?.validationErrors;
				if (form && places?.length) form.refuse(places);
				refill(outcome, e("p", e("span.badge.bad", String(error.document?.code ?? "failed")), dim(` after ${took()}`)), failure(explained(error)));
			}
		}
		calling = undefined;
		stopButton(button, false);
		if (document.activeElement === cancel) focusOn(button);
		cancel.hidden = true;
	};
	/** The conversation that a question is answered in. */
	const further = ({ conversation }) => chat(id, { action: name, conversation, left });

	const button = h("button.primary", {}, "Call");
	const cancel = h("button", { type: "button", hidden: true, onclick: () => calling?.abort() }, "Cancel");
	left.addEventListener("abort", () => calling?.abort());
	const why = needsConfirmation(action) ? "This action asks its user for confirmation, so it is called from the command line."
		: needsCredential(action, td) ? "The agent asks for a credential, and the registry sends none. Fill in the form, and call it yourself with one of the commands." : obstacle;
	const mayCall = !why;
	const shown = fold("Commands", () => (showCommands(), commands), !mayCall);
	const element = h("form.action", { novalidate: true, "aria-label": `Call ${title}`, onsubmit: (event) => {
		event.preventDefault();
		if (mayCall && !calling) call();
	}, oninput: ({ target }) => {
		if (outcome.contains(target)) return;
		const value = read(true)?.value;
		if (value !== undefined) draft.keep(withoutSecrets(value, schema) ?? null);
		if (shown.open) showCommands();
	} }, fields, mayCall ? e(".bar", button, cancel, swap) : [e("p.dim", message(why)), e(".bar", swap)], shown);
	showForm(draft.value ?? undefined);
	// A conversation has a form of its own, which can't be in this one.
	return e("div", element, outcome);
}
