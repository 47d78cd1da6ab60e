// Which view is shown, by the fragment of the URL.

import { href } from "./api.js";
import { announce, e, failure, h } from "./dom.js";
import { feed } from "./live.js";
import { start as startAccess } from "./access.js";

// Each view is a module, loaded when it is first shown: what it is called, and its title.
const VIEWS = {
	"": ["find", "Find agents"],
	agent: ["agent", "Agent"],
	live: ["live", "Changes"],
	add: ["add", "Add"],
	chains: ["chains", "Combine agents"],
	queries: ["queries", "Saved searches"],
	guardian: ["guardian", "Guardrails"],
	status: ["status", "Status"],
	metrics: ["metrics", "Metrics"],
	admin: ["admin", "Administration"],
};

const main = document.querySelector("main");
let first = true;

/** The view that a fragment names: `#/agent/<id>?open=history`. */
function route() {
	const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
	const [name, ...rest] = path.split("/");
	const known = Object.hasOwn(VIEWS, name);
	const [module, title] = VIEWS[known ? name : ""];
	let id = rest.join("/");
	try {
		id = decodeURIComponent(id);
	} catch {
		// It stays as it is.
	}
	return { name, known, module, title, id, parameters: new URLSearchParams(query) };
}

let styled;
/** Loads the style of the views that aren't shown first. */
const style = () => (styled ??= new Promise((done) => {
	const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("views.css", import.meta.url), onload: done, onerror: done });
	document.head.append(link);
}));

async function show() {
	const { name, known, module, title, id, parameters } = route();
	if (!known) return missing(name);
	const tag = `view-${module}`;
	const here = location.hash;
	try {
		await Promise.all([import(`./${module}.js`), module === "find" || style()]);
	} catch {
		return main.replaceChildren(failure(new Error("This part can't be loaded. Is the registry running?")));
	}
	// Another view was asked for meanwhile.
	if (location.hash !== here) return;
	let view = main.firstElementChild;
	const same = view?.localName === tag && view.key === id;
	if (!same) {
		view = document.createElement(tag);
		view.key = id;
		view.parameters = parameters;
		main.replaceChildren(view);
		scrollTo(0, 0);
	}
	document.title = `${title} · agentdex`;
	view.update(parameters);
	mark({ agent: "", metrics: "status" }[name] ?? name);
	if (!first && !same) {
		announce(title);
		if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
	}
	first = false;
}

/** Marks a view in the navigation. */
function mark(name) {
	for (const link of document.querySelectorAll("nav a")) {
		link.hash.replace(/^#\//, "") === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
	}
}

/** Says that a link leads nowhere. */
function missing(name) {
	document.title = "No such view · agentdex";
	main.replaceChildren(e("h1", "No such view"), e("p", "This page has no view ", e("code.t", name), ". ", h("a", { href: "#/" }, "Find agents")));
	mark();
}

// Links that people make by hand: `/?q=weather` is a search. The answer of an issuer has a `state`.
const asked = new URLSearchParams(location.search);
if (asked.size && !asked.has("state") && !location.hash) history.replaceState(null, "", location.pathname + href("", asked));

addEventListener("hashchange", show);
addEventListener("keydown", async (event) => {
	const typing = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
	if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
	event.preventDefault();
	if (route().name !== "") {
		history.pushState(null, "", "#/");
		await show();
	}
	document.querySelector("#q")?.focus();
});
document.querySelector("[data-skip]").addEventListener("click", (event) => {
	event.preventDefault();
	main.focus();
});

const pulse = document.querySelector("[data-pulse]");
feed.addEventListener("state", () => {
	pulse.hidden = false;
	pulse.textContent = feed.state;
	pulse.dataset.state = feed.state;
});

startAccess(() => {
	main.replaceChildren();
	feed.restart();
	show();
});
show();
feed.start();
