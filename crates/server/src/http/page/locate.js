// Where in a JSON text the value of a JSON Pointer is, so that a report can point at it.

/** The lines of values by their JSON Pointers, as far as a text is JSON. */
export function lines(text) {
	const found = new Map();
	let at = 0;
	let line = 1;

	const skip = () => {
		for (; at < text.length && " \t\r\n".includes(text[at]); at += 1) if (text[at] === "\n") line += 1;
	};
	const string = () => {
		const start = at;
		for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
			if (text[at] === "\\") at += 1;
			if (text[at] === "\n") throw new SyntaxError("a line ends in a text");
		}
		at += 1;
		return JSON.parse(text.slice(start, at));
	};
	const value = (pointer, depth) => {
		skip();
		found.set(pointer, line);
		if (depth > 64) throw new SyntaxError("too deep");
		const open = text[at];
		if (open === '"') return void string();
		if (open !== "{" && open !== "[") {
			const rest = /^[^\s,\]}]+/.exec(text.slice(at, at + 400));
			if (!rest) throw new SyntaxError("no value");
			at += rest[0].length;
			return;
		}
		const close = open === "{" ? "}" : "]";
		at += 1;
		skip();
		for (let index = 0; text[at] !== close; index += 1) {
			if (at >= text.length) throw new SyntaxError("it ends unexpectedly");
			let name = String(index);
			const own = line;
			if (open === "{") {
				name = string();
				skip();
				at += 1;
			}
			const step = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
			value(step, depth + 1);
			if (open === "{") found.set(step, own);
			skip();
			if (text[at] === ",") at += 1;
			skip();
		}
		at += 1;
	};
	try {
		value("", 0);
	} catch {
		// What was found before counts.
	}
	return found;
}

/** The line of a pointer, or of the nearest value around it. */
export function lineOf(found, pointer) {
	for (let place = pointer; ; place = place.slice(0, place.lastIndexOf("/"))) {
		if (found.has(place)) return found.get(place);
		if (!place.includes("/")) return 1;
	}
}
