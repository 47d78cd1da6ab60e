// How MCP clients connect to a server: what to add to the configuration of each.

import { get } from "./api.js";
import { copyable, e, h, message, refill } from "./dom.js";

/** The configurations at a path of the API, one at a time. */
export async function connect(path) {
	const { clients } = await get(path);
	const place = e("div");
	const show = () => {
		const { title, file, configuration, command, variables, notes, reason } = clients[select.selectedIndex];
		if (reason) return refill(place, e("p.note", `${title} can't connect: `, message(reason)));
		const asks = title === "VS Code";
		refill(place, e("p", "Add this to ", e("code", file), ":"), copyable(configuration, `the configuration of ${title}`),
			command ? [e("p", `${title} will run this command of a third party:`), copyable(command, "the command")] : "",
			variables.length ? e("p", asks ? "VS Code asks for: " : "Set these environment variables: ", variables.map(({ name, description }, at) => [at ? ", " : "", e("code.t", name), description ? e("span.dim.t", ` (${description})`) : ""])) : "",
			notes.map((note) => e("p.note", message(note))));
	};
	const select = h("select", { id: "client", onchange: show }, clients.map(({ title }) => h("option", {}, title)));
	show();
	return [e("p.bar", h("label", { for: "client" }, "Client"), select), place];
}
