// A Flow as a drawing: its steps in layers, the ways from step to step, and links to the agents that it calls.

import { get, request, enc, thing } from "./api.js";
import { agentdexRun } from "./call.js";
import { copyable, cut, dim, e, h, plural, shown, svg, who } from "./dom.js";
import { layered } from "./layers.js";
import { isObject, list, sample } from "./schema.js";

const MOST_STEPS = 60;
const MOST_EDGES = 240;
const MOST_AGENTS = 20;
const [WIDTH, HEIGHT] = [180, 46];

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
	const ways = list(flow.control_flow_connections).slice(0, MOST_EDGES).map(part).filter(isObject)
		.map(({ from_node, to_node, from_branch }) => ({ from: at.get(keyOf(from_node)), to: at.get(keyOf(to_node)), label: text(from_branch) }))
		.filter(({ from, to }) => from !== undefined && to !== undefined);
	// Branches that lead to the same step are one way.
	const edges = Object.values(Object.groupBy(ways, ({ from, to }) => `${from} ${to}`)).map((same) => ({ ...same[0], label: same.map(({ label }) => label).filter(Boolean).join(", ") }));
	return { steps, edges, more: all.length - steps.length, start: at.get(keyOf(flow.start_node)) ?? 0 };
}

/** Steps in boxes, each with a `name`, what is `below` it, and `href`, and the ways between them: as large as they are, and scrolled where they have no room. */
export function drawn(steps, edges, start, name) {
	const ways = edges.map(({ label, ...way }) => ({ ...way, label: cut(shown(label), 19) }));
	const { boxes, edges: paths, width, height } = layered(steps.length, ways, start, { width: WIDTH, height: HEIGHT });
	const lines = ways.map(({ label }, at) => [svg("path", { class: "edge", d: paths[at].path, "marker-end": "url(#tip)" }),
		label ? svg("text", { class: "label way", ...paths[at].label }, label) : ""]);
	const nodes = steps.map(({ name, below, isEnd, href }, at) => {
		const { x, y } = boxes[at];
		const box = svg("g", { class: isEnd ? "node end" : "node" },
			svg("rect", { x: x - WIDTH / 2, y, width: WIDTH, height: HEIGHT, rx: isEnd ? 23 : 8 }),
			svg("text", { x, y: y + (below ? 20 : 28), "text-anchor": "middle" }, cut(shown(name), 21)),
			svg("text", { class: "label", x, y: y + 37, "text-anchor": "middle" }, cut(shown(below), 25)));
		return href ? svg("a", { href }, box) : box;
	});
	const drawing = h(".scroll", { tabindex: "0", role: "group", "aria-label": "The steps as a drawing" },
		svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": name },
			svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" }, svg("path", { class: "tip", d: "M0 0 8 4 0 8z" }))), lines, nodes));
	// A wide one begins where its first step is.
	requestAnimationFrame(() => (drawing.scrollLeft = boxes[start].x - drawing.clientWidth / 2));
	return drawing;
}

/** The steps of a Flow as boxes; those that call an agent that is registered here lead to it. */
const boxesOf = (steps, titles) => steps.map(({ name, kind, calls }) => ({
	name, isEnd: /^(Start|End)Node$/.test(kind), below: calls ? titles.get(calls.agent) ?? calls.agent : kind.replace(/Node$/, ""),
	href: calls && titles.has(calls.agent) ? `#/agent/${enc(calls.agent)}` : "",
}));

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
		e(".columns.graphed", drawn(boxesOf(read.steps, titles), read.edges, read.start, `A Flow of ${plural(read.steps.length, "step")}`), e("ol", read.steps.filter(({ kind }) => !/^(Start|End)Node$/.test(kind)).map(({ name, calls, what, kind }) => e("li",
			e("strong.t", name), calls ? [" calls ", calls.action ? [e("code.t", calls.action), " of "] : "", titles.has(calls.agent) ? who(calls.agent, titles.get(calls.agent)) : e("code.t", calls.agent)]
				: dim(` ${kind.replace(/Node$/, "")}${what ? `: ${what}` : ""}`))))),
		read.more > 0 ? e("p.dim", `${plural(read.more, "step")} more: see its document.`) : "",
		e("h3", "Run it"), copyable(agentdexRun(id, input), "a command that runs the Flow")];
}
