// A Flow as a drawing: its steps in rows, the ways from step to step, and links to the agents that it calls.

import { get, request, enc, thing } from "./api.js";
import { agentdexRun } from "./call.js";
import { copyable, dim, e, h, plural, shown, svg, who } from "./dom.js";
import { isObject, list, sample } from "./schema.js";

const MOST_STEPS = 60;
const MOST_EDGES = 240;
const MOST_AGENTS = 20;
const [WIDTH, HEIGHT, GAP, BESIDE] = [180, 46, 44, 24];

const text = (value) => (typeof value === "string" ? value : "");

/** The steps of a Flow of Open Agent Spec, and the ways between them. */
function stepsOf(flow) {
	const parts = isObject(flow.$referenced_components) ? flow.$referenced_components : {};
	const part = (value) => {
		const name = value?.$component_ref;
		return typeof name === "string" ? (Object.hasOwn(parts, name) ? parts[name] : undefined) : value;
	};
	const keyOf = (value) => text(value?.$component_ref ?? value?.id);
	const all = list(flow.nodes);
	const steps = all.slice(0, MOST_STEPS).map((node) => ({ key: keyOf(node), node: part(node) })).filter(({ key, node }) => key && isObject(node)).map(({ key, node }) => {
		const called = part(node.tool) ?? part(node.agent);
		const [agent, action] = text(called?.id).split("#");
		return { key, name: text(node.name) || key, kind: text(node.component_type), calls: /^[a-z][a-z0-9+.-]*:/i.test(agent) ? { agent, action } : undefined, what: text(called?.name) };
	});
	const at = new Map(steps.map(({ key }, index) => [key, index]));
	const edges = list(flow.control_flow_connections).slice(0, MOST_EDGES).map(part).filter(isObject)
		.map(({ from_node, to_node, from_branch }) => ({ from: at.get(keyOf(from_node)), to: at.get(keyOf(to_node)), label: text(from_branch) }))
		.filter(({ from, to }) => from !== undefined && to !== undefined);
	return { steps, edges, more: all.length - steps.length, start: at.get(keyOf(flow.start_node)) ?? 0 };
}

/** The row of each step: how many steps lead there, at least. */
function rowsOf({ steps, edges, start }) {
	const rows = steps.map(() => undefined);
	rows[start] = 0;
	for (let reached = [start]; reached.length; ) {
		const next = [];
		for (const { from, to } of edges) {
			if (!reached.includes(from) || rows[to] !== undefined) continue;
			rows[to] = rows[from] + 1;
			next.push(to);
		}
		reached = next;
	}
	const last = Math.max(...rows.filter((row) => row !== undefined));
	return rows.map((row) => row ?? last + 1);
}

function drawn(flow, titles) {
	const { steps, edges } = flow;
	const cut = (words, most) => ([...shown(words)].length > most ? `${[...shown(words)].slice(0, most - 1).join("")}…` : shown(words));
	const rows = rowsOf(flow);
	const inRow = [];
	const places = steps.map((_, at) => {
		inRow[rows[at]] = (inRow[rows[at]] ?? 0) + 1;
		return inRow[rows[at]] - 1;
	});
	const columns = Math.max(...inRow.filter(Boolean));
	const width = columns * (WIDTH + BESIDE) + 60;
	const center = (width - 60) / 2;
	const x = (at) => center + (places[at] - (inRow[rows[at]] - 1) / 2) * (WIDTH + BESIDE);
	const y = (at) => 4 + rows[at] * (HEIGHT + GAP);
	const lines = edges.map(({ from, to, label }) => {
		const [x1, y1, x2, y2] = [x(from), y(from) + HEIGHT, x(to), y(to) - 2];
		// What leads back goes around the right side.
		const right = width - 48;
		const path = rows[to] > rows[from] ? `M${x1} ${y1}C${x1} ${y1 + GAP / 2} ${x2} ${y2 - GAP / 2} ${x2} ${y2}`
			: `M${x1 + WIDTH / 2} ${y1 - HEIGHT / 2}H${right}q8 0 8 -8V${y(to) + HEIGHT / 2 + 8}q0 -8 -8 -8H${x2 + WIDTH / 2 + 2}`;
		return [svg("path", { class: "edge", d: path, "marker-end": "url(#tip)" }), label ? svg("text", { class: "label", x: (x1 + x2) / 2 + 6, y: (y1 + y2) / 2 + 4 }, cut(label, 20)) : ""];
	});
	const boxes = steps.map(({ name, kind, calls }, at) => {
		const end = /^(Start|End)Node$/.test(kind);
		const below = calls ? titles.get(calls.agent) ?? calls.agent : kind.replace(/Node$/, "");
		const box = svg("g", { class: end ? "node end" : "node" },
			svg("rect", { x: x(at) - WIDTH / 2, y: y(at), width: WIDTH, height: HEIGHT, rx: end ? 23 : 8 }),
			svg("text", { x: x(at), y: y(at) + 20, "text-anchor": "middle" }, cut(name, 22)),
			svg("text", { class: "label", x: x(at), y: y(at) + 37, "text-anchor": "middle" }, cut(below, 26)));
		return calls && titles.has(calls.agent) ? svg("a", { href: `#/agent/${enc(calls.agent)}` }, box) : box;
	});
	const height = 8 + (Math.max(...rows) + 1) * (HEIGHT + GAP) - GAP;
	return h(".scroll", { tabindex: "0", role: "group", "aria-label": "The steps as a drawing" },
		svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `A Flow of ${plural(steps.length, "step")}` },
			svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" }, svg("path", { class: "tip", d: "M0 0 8 4 0 8z" }))), lines, boxes));
}

/** The titles of the agents that are called, as far as they are registered here. */
async function titlesOf(steps) {
	const ids = [...new Set(steps.flatMap(({ calls }) => (calls ? [calls.agent] : [])))].slice(0, MOST_AGENTS);
	const found = await Promise.all(ids.map((id) => get(`search?${new URLSearchParams({ q: `id:"${id}"`, limit: 1 })}`).catch(() => ({ hits: [] }))));
	return new Map(found.flatMap(({ hits: [hit] }, at) => (hit?.id === ids[at] ? [[hit.id, text(hit.title) || hit.id]] : [])));
}

/** The drawing of a Flow, its steps in words, and the command that runs it. */
export async function flowOf(id) {
	const { value } = await request("GET", thing(id, "/agent-spec"), { headers: { accept: "application/json" } });
	const flow = isObject(value) ? value : {};
	const read = stepsOf(flow);
	if (!read.steps.length) return "";
	const titles = await titlesOf(read.steps);
	const input = Object.fromEntries(list(flow.inputs).filter((one) => text(one?.title)).slice(0, 50).map((one) => [one.title, sample(one, one.title)]));
	return [e("h2", "Steps"),
		e(".columns.graphed", drawn(read, titles), e("ol", read.steps.filter(({ kind }) => !/^(Start|End)Node$/.test(kind)).map(({ name, calls, what, kind }) => e("li",
			e("strong.t", name), calls ? [" calls ", calls.action ? [e("code.t", calls.action), " of "] : "", titles.has(calls.agent) ? who(calls.agent, titles.get(calls.agent)) : e("code.t", calls.agent)]
				: dim(` ${kind.replace(/Node$/, "")}${what ? `: ${what}` : ""}`))))),
		read.more > 0 ? e("p.dim", `${plural(read.more, "step")} more: see its document.`) : "",
		e("h3", "Run it"), copyable(agentdexRun(id, input), "a command that runs the Flow")];
}
