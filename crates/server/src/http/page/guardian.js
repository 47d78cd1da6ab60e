// What the guardian decided: live sessions of agents, their steps, and decisions as they are made.

import { enc, get } from "./api.js";
import { count, dim, e, failure, fold, h, into, moment, refill, who } from "./dom.js";
import { Stream } from "./live.js";

const MOST = 100;

class GuardianView extends HTMLElement {
	async update(parameters) {
		const session = parameters.get("session");
		this.disconnectedCallback();
		this.steps = [];
		this.session = session;
		this.list = h("ol.steps", { "aria-label": session ? "Steps" : "Decisions" });
		this.sessions = e("div");
		refill(this, session ? [e("p", h("a", { href: "#/guardian" }, "All sessions")), e("h1", "Session ", e("span.t", session))] : [e("h1", "Guardrails"),
			e("p.dim", "Agents report each step before they take it, and the policies of the registry allow, change, or deny it."),
			e("h2", "Live sessions"), this.sessions, e("h2", "Decisions of the last hour")], this.list);
		this.stream = new Stream("aos/events", ["decision", "missed"], false);
		this.stream.addEventListener("change", ({ detail: { kind, data } }) => {
			if (kind === "missed") return this.read();
			if (!session || data.session === session) this.take([data]);
		});
		// The stream has no memory: what was missed is read again whenever it is opened.
		this.stream.addEventListener("open", () => this.read());
		await this.read();
		if (this.isConnected && this.session === session) this.stream.start();
	}

	async read() {
		// The trail is read from its beginning on: of all agents, what happened in the last hour.
		let since = this.steps[0]?.seq ?? (this.session ? 0 : new Date(Date.now() - 3_600_000).toISOString());
		const path = this.session ? `aos/sessions/${enc(this.session)}` : "aos/decisions";
		try {
			for (let page = 0, steps; page < 20; page += 1) {
				steps = await get(`${path}?limit=1000&since=${enc(since)}`);
				this.take([...steps].reverse());
				if (steps.length < 1000) break;
				since = steps.at(-1).seq;
			}
		} catch (error) {
			refill(this.list, e("li", failure(error.status === 404 && !this.session ? new Error("This registry was built without the guardian.") : error)));
		}
	}

	/** Takes steps, the latest first. */
	take(steps) {
		const known = new Set(this.steps.map(({ seq }) => seq));
		this.steps = [...steps.filter(({ seq }) => !known.has(seq)), ...this.steps].slice(0, MOST);
		clearTimeout(this.later);
		this.later = setTimeout(() => this.draw(), 50);
	}

	disconnectedCallback() {
		this.stream?.stop();
		clearTimeout(this.later);
	}

	draw() {
		refill(this.list, this.steps.length ? this.steps.map((step) => stepOf(step, !this.session)) : e("li.dim", ["No steps have been reported yet. Agents report them to this registry: see ", h("a", { href: "docs/" }, "the REST API"), "."]));
		if (!this.session) into(this.sessions, () => this.live());
	}

	async live() {
		const sessions = await get("aos/sessions?limit=50");
		if (!sessions.length) return e("p.dim", "None.");
		const counted = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
		return h("ol.steps", { "aria-label": "Live sessions" }, sessions.map((one) => e("li.step", e("p.bar",
			h("a.t", { href: `#/guardian?session=${enc(one.id)}` }, one.id), who(one.agent), moment(one.last),
			dim(counted(one.steps, "step", "steps")), dim(counted(one.toolCalls, "tool call", "tool calls")),
			one.denied ? e("span.badge.bad", `${count(one.denied)} denied`) : ""))));
	}
}
customElements.define("view-guardian", GuardianView);

/** A step, and what was decided of it. */
function stepOf(step, named) {
	const kind = { allow: "good", deny: "bad", modify: "odd" }[step.decision] ?? "odd";
	return e("li.step",
		e("p.bar", e(`span.badge.${kind}`, step.decision), step.wouldBe ? e("span.badge", `would be ${step.wouldBe}`) : "",
			e("strong.t", step.method.replace(/^steps\//, "")), step.tool ? e("code.t", step.tool) : "",
			named && step.session ? h("a.t", { href: `#/guardian?session=${enc(step.session)}` }, step.session) : "",
			named && step.agent ? who(step.agent) : "", moment(step.at), dim(`${count(step.microseconds)} µs`)),
		(step.findings ?? []).map((finding) => e("p.finding.t", e("code", finding.rule), ` ${finding.message}`, dim(` (${finding.mode})`))),
		step.content ? fold("Content of the step", () => e("pre.t", JSON.stringify(step.content, null, 2))) : "");
}
