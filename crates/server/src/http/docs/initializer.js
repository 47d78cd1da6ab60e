/** Names, levels, and keyboard access that Swagger UI leaves out: what to select, and the attributes to set. */
const MENDED = [
	["[data-param-name] :is(select, input, textarea)", (field) => ({ "aria-label": field.closest("[data-param-name]").dataset.paramName })],
	[".opblock-section-request-body textarea", () => ({ "aria-label": "Request body" })],
	[".copy-to-clipboard button", () => ({ "aria-label": "Copy to clipboard" })],
	[".close-modal", () => ({ "aria-label": "Close" })],
	["pre.microlight", () => ({ tabindex: "0" })],
	[".responses-table[role=region]", ({ id }) => ({ "aria-label": id.replaceAll("_", " ") })],
	// Its name is its text.
	["button[aria-label='Apply credentials']", () => ({ "aria-label": "Authorize" })],
	// There is no second level.
	["h3, h4, h5", ({ localName }) => ({ "aria-level": Number(localName[1]) - 1 })],
	// The button around it does the same.
	[".opblock-summary-control a", () => ({ href: undefined })],
];

/** Sets the attributes of what is there now, and of what Swagger UI adds. */
function mend(root) {
	const all = () => {
		for (const [selector, attributes] of MENDED) {
			for (const element of root.querySelectorAll(selector)) {
				for (const [name, value] of Object.entries(attributes(element))) {
					if (value === undefined) element.removeAttribute(name);
					else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
				}
			}
		}
	};
	let waiting = false;
	const later = () => {
		if (waiting) return;
		waiting = true;
		requestAnimationFrame(() => {
			waiting = false;
			all();
		});
	};
	new MutationObserver(later).observe(root, { childList: true, subtree: true });
}

// Shows the OpenAPI document; requests are sent with the key of the tab or the device, if somebody has signed in on the page.
addEventListener("load", async () => {
	const spec = await (await fetch("../openapi.json")).json();
	spec.servers = [{ url: new URL("..", location).href.replace(/\/$/, "") }];
	// A token of an issuer is pasted where a key is. Swagger UI would ask the issuer, which the policy of this page forbids.
	delete spec.components.securitySchemes.oidc;
	for (const operation of Object.values(spec.paths).flatMap(Object.values)) {
		operation.security = operation.security?.filter((scheme) => !scheme.oidc);
	}
	mend(document.querySelector("#swagger-ui"));
	const ui = SwaggerUIBundle({
		dom_id: "#swagger-ui",
		spec,
		deepLinking: true,
		presets: [SwaggerUIBundle.presets.apis],
		onComplete: () => {
			const key = sessionStorage.getItem("agentdex-key") ?? localStorage.getItem(`agentdex-key ${new URL("..", location).pathname}`);
			if (key) ui.preauthorizeApiKey("apiKey", key);
		},
	});
});
