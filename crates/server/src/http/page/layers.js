// A directed graph in layers: where its boxes are, and how its edges run between them without crossing one. Its callers bound
// the numbers of nodes and edges.

const GAP = 56;
const BESIDE = 24;
/** What an edge takes of a layer that it passes. */
const LANE = 6;
const PORT = 54;
const SWEEPS = 4;
const ALONE_IN_ROW = 4;

const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
const widthOf = (label) => (label ? 14 + 7 * [...label].length : 0);

/** The nodes in an order in which all edges lead on, but for those that lead back (found by depth-first search). */
function sorted(count, edges, start) {
	const out = Array.from({ length: count }, () => []);
	for (const edge of edges) out[edge.from].push(edge);
	const [OPEN, DONE] = [1, 2];
	const [state, order, back] = [[], [], new Set()];
	for (const root of [start, ...out.keys()]) {
		if (state[root]) continue;
		state[root] = OPEN;
		for (const path = [{ node: root, next: 0 }]; path.length; ) {
			const top = path.at(-1);
			const edge = out[top.node][top.next];
			top.next += 1;
			if (!edge) {
				state[top.node] = DONE;
				order.push(top.node);
				path.pop();
			} else if (state[edge.to] === OPEN) back.add(edge);
			else if (!state[edge.to]) {
				state[edge.to] = OPEN;
				path.push({ node: edge.to, next: 0 });
			}
		}
	}
	return { out, order: order.reverse(), back };
}

/** The layer of each node: the longest way that leads there. What no edge leads to or from comes last. */
function layersOf({ out, order, back }, edges, start) {
	const layers = order.map(() => 0);
	for (const node of order) for (const edge of out[node]) if (!back.has(edge)) layers[edge.to] = Math.max(layers[edge.to], layers[node] + 1);
	const linked = new Set([start, ...edges.flatMap(({ from, to }) => [from, to])]);
	const last = Math.max(...layers);
	order.filter((node) => !linked.has(node)).sort((a, b) => a - b).forEach((node, at) => (layers[node] = last + 1 + Math.floor(at / ALONE_IN_ROW)));
	return layers;
}

/** Places the items of a row where they want to be, as far as they have room. Boxes count, not the edges that pass. */
function settle(row, wanted) {
	let left = -Infinity;
	row.forEach((item, at) => {
		item.x = Math.max(wanted[at], left + item.half);
		left = item.x + item.half + BESIDE;
	});
	const all = [...row.keys()];
	const boxes = all.filter((at) => row[at].isBox);
	const shift = mean((boxes.length ? boxes : all).map((at) => wanted[at] - row[at].x));
	for (const item of row) item.x += shift;
}

/** Orders each row by its neighbors in the row before or behind it, then moves the items towards them. */
function arrange(rows) {
	const number = (row) => row.forEach((item, at) => (item.place = at));
	const sweep = (visit) => {
		for (let round = 0; round <= SWEEPS; round += 1) {
			const down = round % 2 === 0;
			for (const row of down ? rows : rows.toReversed()) visit(row, (item) => (down ? item.up : item.down));
		}
	};
	rows.forEach(number);
	sweep((row, near) => {
		const weights = new Map(row.map((item) => [item, near(item).length ? mean(near(item).map(({ place }) => place)) : item.place]));
		row.sort((a, b) => weights.get(a) - weights.get(b));
		number(row);
	});
	for (const row of rows) settle(row, row.map(() => 0));
	// A box follows boxes: a way around others doesn't pull it aside.
	sweep((row, near) => settle(row, row.map((item) => {
		const all = near(item);
		const boxes = item.isBox ? all.filter(({ isBox }) => isBox) : [];
		return all.length ? mean((boxes.length ? boxes : all).map(({ x }) => x)) : item.x;
	})));
}

// Edges have `from`, `to` and `label`; `box` is the size of a box.
/** The centers of the top sides of boxes, a path for each edge with the place of its label, and the size of the drawing. */
export function layered(count, edges, start, box) {
	const graph = sorted(count, edges, start);
	const layers = layersOf(graph, edges, start);
	const rows = Array.from({ length: Math.max(...layers) + 1 }, () => []);
	const place = (layer, half, isBox) => {
		const item = { layer, half, isBox, up: [], down: [] };
		rows[layer].push(item);
		return item;
	};
	const boxes = layers.map((layer) => place(layer, box.width / 2, true));
	const lanes = new Map();
	/** The items that an edge runs through; edges to one box share a lane, unless they are labeled. */
	const stops = edges.map((edge, index) => {
		if (graph.back.has(edge)) return [];
		const through = [boxes[edge.from]];
		for (let layer = layers[edge.from] + 1; layer < layers[edge.to]; layer += 1) {
			const key = `${layer} ${edge.label ? `by ${index}` : edge.to}`;
			const isFirst = through.length === 1;
			if (!lanes.has(key)) lanes.set(key, place(layer, Math.max(LANE, isFirst ? widthOf(edge.label) : 0), false));
			through.push(lanes.get(key));
		}
		through.push(boxes[edge.to]);
		through.slice(1).forEach((item, at) => {
			through[at].down.push(item);
			item.up.push(through[at]);
		});
		return through;
	});
	arrange(rows);
	const all = rows.flat();
	const leftmost = Math.min(...all.map(({ x, half }) => x - half));
	for (const item of all) item.x = Math.round(item.x - leftmost + 4);
	const top = graph.back.size ? 40 : 4;
	const y = ({ layer }) => top + layer * (box.height + GAP);
	let right = Math.max(...all.map(({ x, half }) => x + half)) + 4;

	const forward = ([first, ...rest]) => {
		let [x, from] = [first.x, y(first) + box.height];
		let path = `M${x} ${from}`;
		for (const item of rest) {
			const to = y(item) - (item.isBox ? 2 : 0);
			path += item.x === x ? `V${to}` : `C${x} ${from + GAP / 2} ${item.x} ${to - GAP / 2} ${item.x} ${to}`;
			[x, from] = [item.x, y(item) + box.height];
			if (!item.isBox) path += `V${from}`;
		}
		return { path, label: { x: rest[0].x + 7, y: y(rest[0]) - 13 } };
	};
	const drawn = new Map();
	edges.forEach((edge, index) => graph.back.has(edge) || drawn.set(edge, forward(stops[index])));
	// What leads back runs between the layers to the side, and up there: the shortest way next to the boxes.
	const back = [...graph.back].sort((one, other) => layers[one.from] - layers[one.to] - layers[other.from] + layers[other.to]);
	back.forEach((edge, at) => {
		const [from, to] = [boxes[edge.from], boxes[edge.to]];
		const [low, high] = [y(from) + box.height + 12 + 4 * (at % 5), y(to) - 24 - 3 * (at % 5)];
		right += 16;
		drawn.set(edge, { path: `M${from.x + PORT} ${y(from) + box.height}V${low}H${right}V${high}H${to.x + PORT}V${y(to) - 2}`, label: { x: right + 6, y: (low + high) / 2 + 4 } });
		right += widthOf(edge.label);
	});
	const height = y({ layer: rows.length - 1 }) + box.height + (back.length ? 34 : 4);
	return { boxes: boxes.map((item) => ({ x: item.x, y: y(item) })), edges: edges.map((edge) => drawn.get(edge)), width: right + 4, height };
}
