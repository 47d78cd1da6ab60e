// Administration: API keys, namespaces, the audit trail, and backups; for the role admin.

import { download, enc, get, key, may, self, send } from "./api.js";
import { announce, ask, copyable, count, cut, dim, e, failure, grid, h, into, isStopped, moment, plural, refill, stopButton, who } from "./dom.js";

const MOST_ROWS = 200;
const ENTRIES = 50;
const DAY = 86_400;
/** The head of a column of buttons. */
const action = () => e("span.sr", "Action");
const WORDS = { thing_created: "Created", thing_updated: "Updated", thing_deleted: "Removed", denied: "Denied" };
const REQUESTS = { "POST keys": "Created a key", "DELETE keys": "Revoked a key", "PUT namespaces": "Claimed a namespace", "DELETE namespaces": "Gave up a namespace", "GET backup": "Downloaded a backup" };

/** The id in an API key. */
const idOf = (text) => text.split("_")[1];

class AdminView extends HTMLElement {
	async update() {
		if (this.isBegun) return;
		this.isBegun = true;
		refill(this, e("h1", "Administration"));
		try {
			// Others see no forms that they can't use.
			if (!(await may("admin"))) return this.append(await notice());
		} catch (error) {
			return this.append(failure(error));
		}
		const part = (title, ...content) => {
			const body = e("div");
			this.append(e("section", e("h2", title), content, body));
			return body;
		};
		this.keys = part("API keys", this.keyForm());
		this.namespaces = part("Namespaces", e("p.dim", "The agents in a namespace can be kept to its members."), this.namespaceForm());
		this.audit = part("Audit trail", e("p.dim", "Who changed what, and what was denied."));
		this.backups = part("Backup", e("p.dim", "The complete content of the registry in one file, from which ", e("code", "agentdex restore"), " creates a data directory. The file includes hidden agents and the hashes of keys: keep it safe."));
		const { access } = await self();
		if (access.authentication) this.listKeys();
		else refill(this.keys.parentElement, e("h2", "API keys"), e("p.dim", "This registry doesn't use API keys. To require them, start it with ", e("code", "--auth"), "."));
		this.listNamespaces();
		this.showAudit();
		this.offerBackup();
	}

	/** A table of rows, of which so many are shown. */
	table(caption, columns, rows) {
		return [grid(caption, columns, rows.slice(0, MOST_ROWS), true, ".stacked"), rows.length > MOST_ROWS ? e("p.dim", `${count(rows.length - MOST_ROWS)} more: the command line lists all of them.`) : ""];
	}

	listKeys() {
		return into(this.keys, async () => {
			const keys = await get("keys");
			if (!keys.length) return e("p.dim", "There are none.");
			return this.table("API keys", ["Owner", "Role", "Id", "Created", "Last used", "Expires", action()], keys.toReversed().map((one) => [
				e("span.t", one.owner), one.role, e("code.t", one.id), moment(one.created), one.lastUsed ? moment(one.lastUsed) : "never", one.expires ? moment(one.expires) : "never",
				one.revoking ? e("span.badge.bad", "being revoked") : h("button.quiet", { type: "button", "aria-label": `Revoke the key ${one.id} of ${one.owner}`, onclick: () => this.revoke(one) }, "Revoke…")]));
		});
	}

	async revoke({ id, owner }) {
		const own = idOf(key.value) === id ? e("p.note", "You are signed in with this key.") : "";
		if (!(await ask([e("p", "Revoke the key ", e("code.t", id), " of ", e("strong.t", owner), "? Requests with it are refused from now on."), own], "Revoke it", "Keep it", "danger"))) return;
		await this.attempt(() => send("DELETE", `keys/${enc(id)}`), this.said, () => this.listKeys());
		announce("Revoked");
	}

	keyForm() {
		const owner = h("input", { id: "key-owner", required: true, maxlength: 128, autocomplete: "off", placeholder: "weather-team" });
		const role = h("select", { id: "key-role" }, ["read", "register", "admin"].map((name) => h("option", { value: name }, name)));
		const days = h("input", { id: "key-days", type: "number", min: 1, step: 1, placeholder: "no limit", autocomplete: "off" });
		this.said = h("div", { role: "status" });
		const create = async (event) => {
			event.preventDefault();
			await this.attempt(async () => {
				const { value } = await send("POST", "keys", { owner: owner.value.trim(), role: role.value, ...(days.value ? { ttl: Math.round(days.value * DAY) } : {}) });
				refill(this.said, h("div", { class: "note good" }, "The key of ", e("strong.t", value.owner), ". It is shown only now: ", copyable(value.key, "the key")));
				owner.value = days.value = "";
			}, this.said, () => this.listKeys());
		};
		return h("form", { onsubmit: create }, e(".bar", e(".field", h("label", { for: "key-owner" }, "Owner"), owner), e(".field", h("label", { for: "key-role" }, "Role"), role),
			e(".field", h("label", { for: "key-days" }, "Valid for days"), days), h("button.primary", {}, "Create a key")), this.said);
	}

	listNamespaces() {
		return into(this.namespaces, async () => {
			const all = await get("namespaces");
			if (!all.length) return e("p.dim", "There are none.");
			return this.table("Namespaces", ["Name", "Owner", "Members", "Claimed", action()], all.map(({ name, owner, members, created }) => [
				e("span.t", name), e("span.t", owner), members.length ? e("span.t", members.slice(0, 20).join(", "), members.length > 20 ? `, and ${members.length - 20} more` : "") : "", moment(created),
				h("button.quiet", { type: "button", "aria-label": `Give up the namespace ${name}`, onclick: () => this.giveUp(name) }, "Give up…")]));
		});
	}

	async giveUp(name) {
		if (!(await ask(e("p", "Give up the namespace ", e("strong.t", name), "? Agents that only its members can see will then be visible only to their owners and admins."), "Give it up", "Keep it", "danger"))) return;
		await this.attempt(() => send("DELETE", `namespaces/${enc(name)}`), this.claimed, () => this.listNamespaces());
	}

	namespaceForm() {
		const name = h("input", { id: "namespace-name", required: true, maxlength: 128, autocomplete: "off", placeholder: "weather" });
		const members = h("input", { id: "namespace-members", autocomplete: "off", placeholder: "weather-team, ops" });
		this.claimed = h("div", { role: "status" });
		const claim = async (event) => {
			event.preventDefault();
			await this.attempt(async () => {
				await send("PUT", `namespaces/${enc(name.value.trim())}`, { members: members.value.split(/[\s,]+/).filter(Boolean) });
				name.value = members.value = "";
			}, this.claimed, () => this.listNamespaces());
		};
		return h("form", { onsubmit: claim }, e(".bar", e(".field", h("label", { for: "namespace-name" }, "Name"), name), e(".field", h("label", { for: "namespace-members" }, "Other members, separated by commas"), members),
			h("button", {}, "Claim it, or set its members")), this.claimed);
	}

	/** Does something, says why it can't be done, and shows what there is then. */
	async attempt(work, said, then) {
		try {
			refill(said);
			await work();
			await then();
		} catch (error) {
			refill(said, failure(error));
		}
	}

	/** A page of the trail that ends with an entry; without one, the latest. */
	showAudit(last) {
		return into(this.audit, async () => {
			const { last: latest } = await get("audit?since=0&limit=1");
			const end = Math.min(last ?? latest, latest);
			const { entries } = await get(`audit?since=${Math.max(0, end - ENTRIES)}&limit=${ENTRIES}`);
			const shown = entries.filter(({ number }) => number <= end).reverse();
			if (!latest || !shown.length && end >= latest) return e("p.dim", "There are no entries. Nothing is recorded unless clients are authenticated.");
			const to = (name, number, off) => h("button", { type: "button", disabled: off, onclick: () => this.showAudit(number) }, name);
			return [this.table("Audit trail", ["When", "Who", "What", "Of what", "From"], joined(shown).map((one) => [
				moment(one.at), one.owner ? e("span.t", one.owner) : "anonymous", [wordsOf(one), one.times > 1 ? ` ${count(one.times)} times` : "", one.status ? dim(` ${one.status}`) : "", details(one)],
				one.times > 1 ? "" : /^thing_/.test(one.action) ? who(one.target) : e("span.t", cut(one.target)), [one.address ? e("span.t", one.address) : "", one.key ? dim(` key ${one.key}`) : ""]])),
				h("nav.pager", { "aria-label": "Pages of the audit trail" }, to("Newer", end + ENTRIES, end >= latest), to("Older", end - ENTRIES, end <= ENTRIES),
					dim(shown.length ? `entries ${count(shown.at(-1).number)} to ${count(shown[0].number)} of ${count(latest)}` : "these entries are no longer retained"))];
		});
	}

	offerBackup() {
		const said = h("span", { role: "status" });
		const button = h("button", { type: "button", onclick: () => isStopped(button) || into(said, async () => {
			stopButton(button, true);
			try {
				const blob = await download("backup");
				const url = URL.createObjectURL(blob);
				const name = `agentdex-${new Date().toISOString().slice(0, 10)}.backup`;
				h("a", { href: url, download: name }).click();
				setTimeout(() => URL.revokeObjectURL(url), 60_000);
				return dim(`${name}, ${plural(blob.size, "byte")}`);
			} finally {
				stopButton(button, false);
			}
		}) }, "Download a backup");
		refill(this.backups, e("p.bar", button, said));
	}
}
customElements.define("view-admin", AdminView);

/** What was done, in words: entries of requests have their method and path. */
function wordsOf({ action, target }) {
	const [, part] = /^\/(?:[^/?]+\/)*?(keys|namespaces|backup)\b/.exec(target ?? "") ?? [];
	return WORDS[action] ?? REQUESTS[`${action} ${part}`] ?? action;
}

/** Entries with those joined that follow each other and were denied to the same caller: one visit asks for many things. */
function joined(entries) {
	const found = [];
	for (const one of entries) {
		const last = found.at(-1);
		const isSame = last && one.action === "denied" && ["action", "owner", "address", "key", "status"].every((member) => last[member] === one[member]);
		isSame ? (last.times += 1) : found.push({ ...one, times: 1 });
	}
	return found;
}

/** Why somebody sees no administration. */
async function notice() {
	const { access } = await self();
	return access.authentication && !access.owner ? failure(Object.assign(new Error("You are signed out. Sign in with a key of the role admin."), { status: 401 })) : e("p.note", "These settings require the role admin.");
}

/** What an entry says of a state before and after it. */
function details({ from, to, joined, left }) {
	const words = (state) => Object.entries(state ?? {}).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
	const said = [from || to ? `${words(from) || "nothing"} → ${words(to) || "nothing"}` : "", joined?.length ? `joined: ${joined.join(", ")}` : "", left?.length ? `left: ${left.join(", ")}` : ""].filter(Boolean).join("; ");
	return said ? e("span.limits.t", said) : "";
}
