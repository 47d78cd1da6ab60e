// Shows the OpenAPI document; requests are sent with the key of the tab or the device, if somebody has signed in on the page.
addEventListener("load", async () => {
	const spec = await (await fetch("../openapi.json")).json();
	spec.servers = [{ url: new URL("..", location).href.replace(/\/$/, "") }];
	// A token of an issuer is pasted where a key is. Swagger UI would ask the issuer, which the policy of this page forbids.
	delete spec.components.securitySchemes.oidc;
	for (const operation of Object.values(spec.paths).flatMap(Object.values)) {
		operation.security = operation.security?.filter((scheme) => !scheme.oidc);
	}
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
