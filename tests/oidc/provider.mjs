// An authorization server of somebody else's (oidc-provider) with access tokens in JWT (RFC 9068). It prints its issuer,
// and takes lines: `rotate` gives it new keys, `ttl N` changes how long tokens are valid; each is answered by `done`.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/package.json`);
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);
const { exportJWK, generateKeyPair } = await import(pathToFileURL(require.resolve("jose")).href);

// What it notes is not for who reads its output.
console.info = console.warn = console.error;

const algorithm = process.argv[1];
let ttl = 600;
let rotations = 0;
let handle = (_, response) => response.writeHead(503).end();
const server = createServer((request, response) => handle(request, response));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const client = (id, scope) => ({
	client_id: id,
	client_secret: "secret",
	token_endpoint_auth_method: "client_secret_post",
	grant_types: ["client_credentials"],
	redirect_uris: [],
	response_types: [],
	scope,
});

async function start() {
	const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
	const key = { ...(await exportJWK(privateKey)), kid: `key-${rotations++}`, use: "sig", alg: algorithm };
	const provider = new Provider(issuer, {
		jwks: { keys: [key] },
		enabledJWA: { idTokenSigningAlgValues: [algorithm] },
		clientDefaults: { id_token_signed_response_alg: algorithm },
		scopes: ["openid", "read", "register", "admin"],
		clients: [
			client("weather", "read register"),
			client("reader", "read"),
			client("operations", "read register admin"),
			client("stranger", "openid"),
			{
				client_id: "page",
				token_endpoint_auth_method: "none",
				// At any port (RFC 8252, section 7.3).
				redirect_uris: ["http://127.0.0.1/"],
				application_type: "native",
				grant_types: ["authorization_code"],
				response_types: ["code"],
				scope: "openid read register admin",
			},
		],
		clientBasedCORS: () => true,
		features: {
			clientCredentials: { enabled: true },
			devInteractions: { enabled: true },
			resourceIndicators: {
				enabled: true,
				defaultResource: () => "urn:example:agentdex",
				useGrantedResource: () => true,
				getResourceServerInfo: (_, resource) => ({
					scope: "read register admin",
					audience: resource === "urn:example:other" ? "other" : "agentdex",
					accessTokenFormat: "jwt",
					accessTokenTTL: ttl,
					jwt: { sign: { alg: algorithm } },
				}),
			},
		},
		findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
	});
	handle = provider.callback();
}

await start();
console.log(issuer);
for await (const line of createInterface({ input: process.stdin })) {
	if (line === "rotate") await start();
	if (line.startsWith("ttl ")) ttl = Number(line.slice(4));
	console.log("done");
}
process.exit();
