// Which view is shown, by the fragment of the URL.

import { announce } from "./dom.js";
import "./find.js";
import "./agent.js";
import { feed } from "./live.js";
import "./add.js";
import "./chains.js";
import "./queries.js";
import "./guardian.js";
import "./status.js";

const VIEWS = {
	"": ["view-find", "Find agents"],
	agent: ["view-agent", "Agent"],
	live: ["view-live", "Live"],
	add: ["view-add", "Add"],
	chains: ["view-chains", "Chains"],
	queries: ["view-queries", "Saved queries"],
	guardian: ["view-guardian", "Guardian"],
	status: ["view-status", "Registry"],
};

const main = document.querySelector("main");
let first = true;

/** The view that a fragment names: `#/agent/<id>?open=history`. */
function route() {
	const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
	const [name, ...rest] = path.split("/");
	const [tag, title] = VIEWS[name] ?? VIEWS[""];
	let id = rest.join("/");
	try {
		id = decodeURIComponent(id);
	} catch {
		// It stays as it is.
	}
	return { name: VIEWS[name] ? name : "", tag, title, id, parameters: new URLSearchParams(query) };
}

function show() {
	const { name, tag, title, id, parameters } = route();
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
	for (const link of document.querySelectorAll("nav a")) {
		const here = link.hash.replace(/^#\//, "") === (name === "agent" ? "" : name);
		here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
	}
	if (!first && !same) {
		announce(title);
		if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
	}
	first = false;
}

addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
	const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
	if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
	event.preventDefault();
	if (route().name !== "") {
		location.hash = "#/";
		show();
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

show();
feed.start();
