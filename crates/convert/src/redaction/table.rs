//! Test data: labeled values, of which some are secrets and others only resemble secrets, judged by their names.
//!
//! The secrets are assembled from meaningless parts, so that secret scanners don't report this file.

use serde_json::{Value, json};

use super::*;
use crate::td::Document;

struct NoMarks;

impl Marks for NoMarks {
    fn mark(&self, _: &Place<'_, '_>) -> Mark {
        Mark::None
    }
}

fn redacted(document: &Value) -> Option<String> {
    let text = document.to_string();
    let redacted = Redacted::of(&Node::parse(&text), &NoMarks).text(&text);
    assert!(redacted.is_none() || may_have_secrets(document), "{document}");
    redacted
}

/// A number of characters of a set, which look random and are always the same.
fn made(set: &str, length: usize) -> String {
    let characters: Vec<char> = set.chars().collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ (length as u64) << 7 ^ set.len() as u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        characters[(state % characters.len() as u64) as usize]
    };
    (0..length).map(|_| next()).collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const HEX: &str = "0123456789abcdef";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Keys as their providers hand them out: how they begin, what follows, and how long that is.
const KEYS: &[(&str, &str, usize)] = &[
    ("sk-", ALNUM, 48),
    ("sk-", ALNUM, 20),
    ("sk-proj-", WORD, 120),
    ("sk-svcacct-", WORD, 120),
    ("sk-ant-api03-", WORD, 95),
    ("sk-or-v1-", HEX, 64),
    ("gsk_", ALNUM, 52),
    ("xai-", ALNUM, 80),
    ("pplx-", ALNUM, 48),
    ("hf_", ALNUM, 34),
    ("r8_", ALNUM, 37),
    ("nvapi-", WORD, 64),
    ("tvly-", ALNUM, 32),
    ("tvly-dev-", ALNUM, 32),
    ("lsv2_pt_", HEX, 32),
    ("pcsk_", WORD, 70),
    ("jina_", ALNUM, 60),
    ("fc-", HEX, 32),
    ("apify_api_", ALNUM, 36),
    ("csk-", ALNUM, 48),
    ("AKIA", CAPITALS, 16),
    ("ASIA", CAPITALS, 16),
    ("AIzaSy", WORD, 33),
    ("ya29.a0", WORD, 120),
    ("GOCSPX-", WORD, 28),
    ("dop_v1_", HEX, 64),
    ("dapi", HEX, 32),
    ("sbp_", HEX, 40),
    ("sb_secret_", WORD, 31),
    ("pscale_tkn_", WORD, 43),
    ("ghp_", ALNUM, 36),
    ("gho_", ALNUM, 36),
    ("ghu_", ALNUM, 36),
    ("ghs_", ALNUM, 36),
    ("ghr_", ALNUM, 36),
    ("github_pat_", ALNUM, 82),
    ("glpat-", WORD, 20),
    ("gldt-", ALNUM, 20),
    ("glrt-", ALNUM, 20),
    ("npm_", ALNUM, 36),
    ("pypi-AgEIcHlwaS5vcmc", WORD, 150),
    ("rubygems_", HEX, 48),
    ("dckr_pat_", ALNUM, 27),
    ("ATATT3xFfGF0", WORD, 170),
    ("ATBB", ALNUM, 32),
    ("PMAK-", HEX, 24),
    ("hvs.", ALNUM, 90),
    ("dp.pt.", ALNUM, 43),
    ("pul-", HEX, 40),
    ("glsa_", ALNUM, 32),
    ("NRAK-", CAPITALS, 27),
    ("sntryu_", HEX, 64),
    ("phx_", ALNUM, 43),
    ("tskey-auth-", ALNUM, 30),
    ("xoxb-", ALNUM, 50),
    ("xoxp-", ALNUM, 60),
    ("xapp-1-", ALNUM, 60),
    ("SG.", ALNUM, 66),
    ("key-", HEX, 32),
    ("SK", HEX, 32),
    ("ntn_", ALNUM, 46),
    ("secret_", ALNUM, 43),
    ("lin_api_", ALNUM, 40),
    ("figd_", WORD, 40),
    ("sk_live_", ALNUM, 24),
    ("sk_test_", ALNUM, 24),
    ("rk_live_", ALNUM, 24),
    ("whsec_", ALNUM, 32),
    ("sq0atp-", WORD, 22),
    ("shpat_", HEX, 32),
    ("shpss_", HEX, 32),
    ("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
];

fn keys() -> Vec<String> {
    let mut keys: Vec<String> =
        KEYS.iter().map(|(prefix, set, length)| format!("{prefix}{}", made(set, *length))).collect();
    let part = |length| made(WORD, length).replace(['-', '_'], "x");
    keys.push(format!("eyJ{}.eyJ{}.{}", part(20), part(40), part(43)));
    keys.push(format!("eyJ{}..{}.{}.{}", part(20), part(16), part(60), part(22)));
    keys.push(format!("{}:AA{}", made("123456789", 10), part(33)));
    keys.push(format!("M{}.{}.{}", part(23), part(6), part(27)));
    keys.push(format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", part(64)));
    keys.push(format!("-----BEGIN PRIVATE KEY-----\\n{}", part(64)));
    keys.push(format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", part(64)));
    keys.push(format!("https://hooks.slack.com/services/T{}/B{}/{}", made(CAPITALS, 8), made(CAPITALS, 8), part(24)));
    keys
}

/// Texts with a credential in them, `KEY` and `PASS` filled in below.
const TEXTS: &[&str] = &[
    "pg://joe:PASS@h",
    "postgres://joe:PASS@db.example:5432/x?sslmode=require",
    "see https://joe:PASS@host/path, please",
    "https://user:pa/ss1@host/x",
    "mongodb+srv://admin:PASS@cluster0.mongodb.net/test",
    "redis://:PASS@cache:6379",
    "//joe:PASS@host/x",
    "amqp://h1,amqp://joe:PASS@h2/q",
    "jdbc:oracle:thin:joe/PASS@//host:1521/x",
    "https://proxy/https://joe:PASS@host",
    "Authorization: Bearer KEY",
    "curl -H 'Authorization: Bearer KEY' https://h",
    "Send Bearer KEY with each call.",
    "bearer KEY",
    "Authorization: Basic am9lOmh1bnRlcjJodW50ZXIy",
    "Basic am9lOmh1bnRlcjI=",
    "the key is KEY1",
    "https://h/x?api_key=PASS&q=1",
    "https://h/x?q=1&access_token=PASS",
    "https://h/x?key=KEY",
    "https://h/x?sig=KEY&se=2026",
    "https://h/x#access_token=PASS",
    "https://h/x?X-Amz-Signature=KEY",
    "Server=db;User Id=joe;Password=PASS",
    "jdbc:sqlserver://h:1433;user=joe;password=PASS;x=1",
    "export MY_SECRET=PASS\nPORT=80",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=KEY==",
    "--api-key=PASS",
    "x-api-key: KEY",
    "{\"api_key\": \"PASS\"}",
    "password: PASS",
];

/// Names that say that their value is a secret, with the values that they are given.
const NAMED: &[(&str, &str)] = &[
    ("password", "PASS"),
    ("password", "correct-horse-battery"),
    ("db_password", "swordfish!"),
    ("userPassword", "trustno1x"),
    ("passwd", "hunter2hunter2"),
    ("passphrase", "opensesame!"),
    ("pwd", "PASS"),
    ("DB_PWD", "PASS"),
    ("api_key", "abcdefghij"),
    ("apiKey", "PASS"),
    ("API-KEY", "PASS"),
    ("x-api-key", "PASS"),
    ("openai_key", "PASS"),
    ("openai_api_key", "PASS"),
    ("OPENAI_API_KEY", "PASS"),
    ("azureApiKey2", "PASS"),
    ("secret", "s3cr3tvalue"),
    ("client_secret", "PASS"),
    ("clientSecret", "Zq~8PASS"),
    ("webhook_secret", "PASS"),
    ("secret_key", "PASS"),
    ("aws_secret_access_key", "KEY"),
    ("access_key", "PASS"),
    ("private_key", "PASS"),
    ("signing_key", "PASS"),
    ("encryption_key", "PASS"),
    ("subscription-key", "PASS"),
    ("Ocp-Apim-Subscription-Key", "KEY"),
    ("account_key", "KEY"),
    ("shared_key", "PASS"),
    ("master_key", "PASS"),
    ("authToken", "PASS"),
    ("auth_token", "PASS"),
    ("access_token", "PASS"),
    ("refresh_token", "PASS"),
    ("bearer_token", "PASS"),
    ("session_token", "PASS"),
    ("bot_token", "PASS"),
    ("githubToken", "PASS"),
    ("token", "PASS"),
    ("token", "KEY"),
    ("key", "KEY"),
    ("key", "PASS"),
    ("auth", "joe:hunter2"),
    ("auth", "PASS"),
    ("Authorization", "PASS"),
    ("credentials", "joe:hunter2"),
    ("credentials", "PASS"),
    ("cookie", "sid=PASS"),
    ("session", "PASS"),
    ("connectionString", "PASS"),
    ("jwt", "PASS"),
    ("pat", "PASS"),
    ("dsn", "https://KEY@o1.ingest.example/2"),
];

/// Names and values that are not secrets.
const HARMLESS: &[(&str, &str)] = &[
    // Texts that begin or go on like keys.
    ("description", "Basic mathematics tutoring"),
    ("description", "Basic weather questions are answered here"),
    ("description", "Bearer of good news"),
    ("description", "Bearer authentication is required"),
    ("description", "Use Basic auth or Bearer tokens"),
    ("description", "Bearer base64-encoded tokens"),
    ("description", "basic understanding of OAuth2 flows"),
    ("description", "Basic HTTP/1.1 client"),
    ("description", "Basic dictionary"),
    ("name", "sk-learn-contrib-hdbscan"),
    ("name", "sk-learn"),
    ("name", "sk-short"),
    ("name", "hf_transformers_inference_helper"),
    ("name", "key-value-store-of-everything"),
    ("name", "pat-the-postman-and-his-black-and-white-cat"),
    ("name", "npm_config_registry"),
    ("name", "xai-grok-connector-for-weather"),
    ("name", "glpat-based-authentication"),
    ("name", "secret_santa_organizer_for_teams"),
    ("name", "SG.weather.forecast.europe.long"),
    ("name", "AKIA"),
    ("name", "SKU-overview"),
    ("name", "pk_live_51H8xExamplePublishable"),
    ("name", "phc_publicprojectkey0123456789abcdef"),
    ("model", "gpt-4o-mini-2024-07-18"),
    ("model", "meta-llama/Llama-3.3-70B-Instruct"),
    ("model", "claude-3-5-sonnet-20241022"),
    ("model", "text-embedding-3-large"),
    ("model", "us.anthropic.claude-sonnet-4-20250514-v1:0"),
    ("id", "6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77"),
    ("id", "urn:uuid:6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77"),
    ("id", "ocid1.generativeaiendpoint.oc1.us-chicago-1.amaaaaaa"),
    ("commit", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
    ("digest", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("image", "registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015"),
    ("icon", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"),
    ("pem", "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----"),
    ("pem", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQ\n-----END PUBLIC KEY-----"),
    ("protected", "eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ"),
    ("jws", "eyJhbGciOiJFZERTQSIsImI2NCI6ZmFsc2V9..a1b2c3d4e5f6g7h8i9j0k1l2"),
    ("signature", "MEUCIQDx9Zr0bM3v1kQ2mE5uJ7Tn4wXyZ8LrQpAsDfGhJkLzXc"),
    // Addresses.
    ("contact", "Email:support@acme.com"),
    ("contact", "mailto:joe@host.example"),
    ("contact", "mail joe@host: he knows"),
    ("contact", "support@acme.com"),
    ("url", "https://host/@joe?q=1&tokens=2"),
    ("url", "https://host/x?code=DE"),
    ("url", "https://host/x?key=value"),
    ("url", "https://host/x?token={{token}}"),
    ("url", "https://host/x?api_key=YOUR_API_KEY"),
    ("url", "https://host/x?api_key=<your-api-key>"),
    ("url", "https://host/x?api_key=${API_KEY}"),
    ("url", "https://{{user}}:{{password}}@host/x"),
    ("url", "https://user:${PASSWORD}@host/x"),
    ("url", "https://%7Buser%7D:%7Bpassword%7D@host/x?api_key=%7Bkey%7D"),
    ("url", "https://host/x?to=https%3A%2F%2Fhost%3A8080%2F%40joe%3Fq%3D1"),
    ("url", "https://joe@host/x"),
    ("url", "https://host:8080/a@b"),
    ("url", "http://[::1]:8080/x"),
    ("url", "https://h/x?session=new&auth=basic"),
    ("url", "https://maps.example/?sid=home"),
    ("text", "ratio = 1:2 @ 3?"),
    ("text", "npm i @scope/name@1.2 //x"),
    ("text", "jdbc:oracle:thin:@//host:1521/x"),
    ("text", "key: the first word of the sentence"),
    ("text", "password: at least 12 characters"),
    ("text", "token=required; scope=optional"),
    ("text", "set OPENAI_API_KEY=<key> first"),
    ("text", "export TOKEN=$MY_TOKEN"),
    ("text", "Authorization: Bearer <token>"),
    ("text", "Authorization: Bearer {{token}}"),
    ("text", "Authorization: Bearer ${TOKEN}"),
    ("text", "tokens: 12000 per minute"),
    ("text", "max_tokens=4096"),
    ("text", "{\"max_tokens\": 4096, \"stop\": [\"x\"]}"),
    ("text", "author=Shakespeare1616"),
    ("text", "sort_key=created_at_2024"),
    // Names that only mention secrets.
    ("max_tokens", "100000000"),
    ("token_limit", "1000000000"),
    ("cost_per_token", "0.00002000"),
    ("eos_token", "<|endoftext|>"),
    ("eos_token", "<|im_end|>12345"),
    ("bos_token", "[BOS]token1234"),
    ("pad_token", "padding99token"),
    ("stop_tokens", "Observation:12"),
    ("next_page_token", "CAUQAA12345678"),
    ("page_token", "eJwrtgIAAb8A3Q"),
    ("continuation_token", "abc123def456"),
    ("token_endpoint", "https://idp.example/token"),
    ("token_endpoint_auth_method", "client_secret_basic"),
    ("token_type", "urn:ietf:params:oauth:token-type:jwt"),
    ("tokenizer", "cl100k_base_v2"),
    ("authorization_endpoint", "https://idp.example/authorize"),
    ("auth_type", "API_KEY_2"),
    ("auth_method", "bearer_token_v2"),
    ("auth_profile", "DEFAULT01"),
    ("authority", "https://login.example/common2"),
    ("author", "Joe1970Bloggs"),
    ("credentials_provider", "aws-secrets-manager-2"),
    ("credential_type", "service_account_v1"),
    ("secret_name", "prod/db/password1"),
    ("secret_arn", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:x"),
    ("secret_ref", "vault-item-12345"),
    ("password_policy", "min12chars-1upper"),
    ("password_hint", "petname1234"),
    ("password_url", "https://h/reset?x=1"),
    ("api_key_name", "x-api-key-v2"),
    ("api_key_header", "X-API-Key-V2"),
    ("api_key_env", "OPENAI_API_KEY"),
    ("key_id", "k8s-prod-2024"),
    ("key_file", "/etc/keys/agent.pem"),
    ("keywords", "weather2024"),
    ("monkey", "capuchin2024"),
    ("hockey", "team12345678"),
    ("turkey", "istanbul34"),
    ("compass", "north0000east"),
    ("bypass", "cache-2024-all"),
    ("public_key", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"),
    ("primary_key", "customer_id_v2"),
    ("primaryKey", "customerId2024"),
    ("foreign_key", "orders2024_id"),
    ("sort_key", "created_at_2024"),
    ("partition_key", "tenant42region7"),
    ("cache_key", "weather:berlin:2024"),
    ("object_key", "reports/2025/q1.pdf"),
    ("routing_key", "orders.created.v2"),
    ("idempotency_key", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
    ("index_key", "user2024name"),
    ("session_name", "weekly-sync-42"),
    ("session_timeout", "3600seconds"),
    ("cookie_policy", "sameSite2024"),
    ("signature_algorithm", "ES256-SHA256"),
    // Values under names of secrets that are none.
    ("password", "short1"),
    ("password", ""),
    ("password", "{{password}}"),
    ("password", "${DB_PASSWORD}"),
    ("password", "$DB_PASSWORD"),
    ("password", "%DB_PASSWORD%"),
    ("password", "<your-password>"),
    ("password", "********"),
    ("password", "xxxxxxxxxxxx"),
    ("password", "[redacted]"),
    ("password", "required"),
    ("password", "optional"),
    ("password", "12345678"),
    ("password", "The password of the user's account"),
    ("password", "https://docs.example/passwords"),
    ("password", "/run/secrets/db_password"),
    ("password", "env:DB_PASSWORD"),
    ("password", "vault:secret/data/db#password"),
    ("api_key", "YOUR_API_KEY"),
    ("api_key", "your-api-key-here"),
    ("api_key", "your_openai_api_key"),
    ("api_key", "<OPENAI_API_KEY>"),
    ("api_key", "OPENAI_API_KEY"),
    ("api_key", "os.environ/OPENAI_API_KEY"),
    ("api_key", "process.env.OPENAI_API_KEY"),
    ("api_key", "env.OPENAI_API_KEY"),
    ("api_key", "{env:OPENAI_API_KEY}"),
    ("api_key", "insert-key-here"),
    ("api_key", "replace-me-please"),
    ("api_key", "changeme-please"),
    ("api_key", "not-needed"),
    ("api_key", "sk-xxxxxxxxxxxxxxxxxxxxxxxx"),
    ("api_key", "sk-..."),
    ("api_key", "op://vault/item/field"),
    ("api_key", "header"),
    ("apiKey", "x-api-key"),
    ("secret", "client_secret_post"),
    ("client_secret", "projects/p/secrets/s/versions/1"),
    ("private_key", "~/.ssh/id_ed25519"),
    ("private_key", "keys/agent.pem"),
    ("private_key", "./agent.key"),
    ("private_key", "C:\\keys\\agent.key"),
    ("token", "USDC"),
    ("token", "ETH"),
    ("token", "ethereum"),
    ("token", "wrapped-bitcoin"),
    ("token", "client_credentials"),
    ("token", "{{token}}"),
    ("token", "Bearer {{token}}"),
    ("token", "0.00002000"),
    ("token", "2024-07-18"),
    ("token", "application/json"),
    ("token", "https://idp.example/token"),
    ("token", "joe@example.com"),
    ("key", "temperature"),
    ("key", "weather.forecast.daily"),
    ("key", "customer_id"),
    ("key", "first_name"),
    ("key", "image/png"),
    ("key", "user.profile.name"),
    ("key", "/data/attributes/name"),
    ("auth", "bearer"),
    ("auth", "required"),
    ("auth", "client_credentials"),
    ("auth", "authorization_code"),
    ("auth", "https://idp.example"),
    ("Authorization", "Bearer {{token}}"),
    ("Authorization", "Bearer ${TOKEN}"),
    ("credentials", "include"),
    ("credentials", "same-origin"),
    ("credentials", "environment"),
    ("cookie", "session_id"),
    ("session", "persistent"),
    ("pin", "1234"),
    ("pin", "12345678"),
    ("pat", "postman-pat"),
    ("jwt", "required-for-all"),
    ("dsn", "postgres://db.example/x"),
    ("value", "Zq81kLm0Pw"),
    ("title", "Agent-47-silent"),
    ("version", "2024.07.18-rc1"),
    ("region", "eu-central-1"),
];

/// More of what is a secret, as documents have it: names and values, `KEY` and `PASS` filled in below.
const HARD_SECRETS: &[(&str, &str)] = &[
    ("note", "Cookie: session=KEY; path=/"),
    ("note", "set-cookie: sid=KEY; HttpOnly"),
    ("note", "mysql://root:PASS@tcp(localhost:3306)/x"),
    ("note", "git clone https://oauth2:PASS@gitlab.example/x.git"),
    ("note", "https://x-access-token:KEY@github.example/o/r"),
    ("note", "https://KEY@github.example/o/r"),
    ("note", "HTTPS://joe:PASS@host/x"),
    ("note", "https://joe:PASS@[::1]:8080/x"),
    ("note", "postgresql+asyncpg://joe:PASS@h/x"),
    ("note", "Proxy-Authorization: Basic am9lOmh1bnRlcjI="),
    ("note", "X-Auth-Token: KEY"),
    ("note", "aws_session_token = KEY"),
    ("note", "api_key = \"PASS\""),
    ("note", "password = 'PASS'"),
    ("note", "const apiKey = \"PASS\";"),
    ("note", "client_secret=PASS&grant_type=client_credentials"),
    ("note", "{'token': 'KEY'}"),
    ("note", "{\\\"api_key\\\": \\\"PASS\\\"}"),
    ("note", "//registry.npmjs.example/:_authToken=KEY"),
    ("note", "https://eth-mainnet.g.alchemy.com/v2/KEY"),
    ("note", "https://mainnet.infura.io/v3/KEY"),
    ("note", "https://api.telegram.org/bot123456789:AAKEYabc/sendMessage"),
    ("note", "sk.eyJ1KEYKEY.KEYKEY"),
    ("note", "sk-lf-6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77"),
    ("Authorization", "token KEY"),
    ("Authorization", "ApiKey KEY"),
    ("authorization", "Key PASS:KEY"),
    ("x-auth-token", "Token KEY"),
    ("apiSecret", "PASS"),
    ("SLACK_SIGNING_SECRET", "KEY"),
    ("TWILIO_AUTH_TOKEN", "KEY"),
    ("secret_value", "PASS"),
    ("password_value", "PASS"),
    ("private_key_base64", "KEYKEY"),
    ("passwort", "PASS"),
    ("otp_secret", "JBSWY3DPEHPK3PXP"),
    ("basic_auth", "joe:PASS"),
    ("auth", "oauth2:PASS"),
    ("auth", "google-oauth2-PASS"),
    ("auth", "oauth2.KEY"),
    ("password", "google-oauth2"),
    ("API_KEY_1", "PASS"),
    ("apikey_v2", "PASS"),
    ("secret_access_key", "KEY"),
];

/// More of what only looks like a secret.
const HARD_HARMLESS: &[(&str, &str)] = &[
    ("url", "https://h/authorize?client_id=abc123def&redirect_uri=https://x.example/cb&state=xyz12345"),
    ("url", "https://h/?utm_source=a2a&ref=token2024"),
    ("url", "https://h:443/@user:name"),
    ("url", "ssh://git@github.example/org/repo.git"),
    ("url", "https://web.archive.example/web/2020/https://joe@host.example/"),
    ("text", "git@github.example:org/repo.git"),
    ("text", "keyboard: qwerty123"),
    ("text", "token: the CSRF token (see section 2.1)"),
    ("text", "token = required"),
    ("text", "password = getpass.getpass()"),
    ("text", "api_key = os.environ[\"OPENAI_API_KEY\"]"),
    ("text", "const key = await derive(password);"),
    ("text", "Basic realm=\"agents2024\""),
    ("text", "eyJ is how JSON Web Tokens begin"),
    ("text", "curl -u user:password https://x.example"),
    ("hotkey", "Ctrl+Shift+P2"),
    ("key", "Ctrl+Alt+F12"),
    ("key", "metric_p99_latency"),
    ("key", "weather:berlin:2024"),
    ("key", "section-2-introduction"),
    ("key", "gpt-4o-mini"),
    ("color_key", "legend-2024-blue1"),
    ("i18nKey", "errors.auth2.required"),
    ("keyframe", "frame000123"),
    ("api_key_location", "header_v2xx"),
    ("password_field", "input#pwd-2024"),
    ("tokenAddress", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    ("token", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    ("tokens_per_minute", "10000000k"),
    ("token_count", "12345678"),
    ("session", "a2a-demo-session-1"),
    ("session_duration", "PT30M2000S"),
    ("secret_santa", "team2024xmas"),
    ("apiKeyRef", "secret-store/agent-key-2024"),
    ("auth", "oauth2-pkce-s256"),
    ("auth", "hmac-sha256"),
    ("auth", "aws-sigv4"),
    ("auth", "scram-sha-256"),
    ("auth", "oidc-pkce-s256"),
    ("auth", "google-oauth2"),
    ("auth", "azuread-tenant-oauth2"),
    ("auth", "auth0-google"),
    ("auth", "Okta_SAML2"),
    ("Authorization", "Bearer token required2024"),
    ("Authorization", "Basic auth"),
    ("model", "sk-learn-1.5.2-pipeline-2024"),
    ("name", "sk-SK-2024-translations-pack1"),
    ("digest", "md5-9e107d9d372bb6826bd81d3542a419d6"),
    ("password", "see the manual of 2024"),
];

/// A password that nobody has.
fn password() -> String {
    format!("{}7{}2", made("abcdefghjkmnp", 6), made("qrstuvwxyz", 5))
}

fn filled(template: &str) -> String {
    let key = made("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH", 32);
    template.replace("KEY1", &format!("sk-{key}")).replace("KEY", &key).replace("PASS", &password())
}

#[test]
fn every_labelled_value_is_judged_rightly() {
    let mut missed = Vec::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut check = |name: &str, value: Value, is_secret: bool| {
        count += 1;
        let document = json!({"x": {name: value}});
        match (redacted(&document), is_secret) {
            (None, true) => missed.push(document.to_string()),
            (Some(text), false) => wrong.push(format!("{document} became {text}")),
            _ => {}
        }
    };
    for key in keys() {
        check("note", json!(key), true);
        check("note", json!(format!("the key is {key} as of today")), true);
        check("note", json!([{"deep": [format!("x={key}")]}]), true);
    }
    TEXTS.iter().for_each(|text| check("note", json!(filled(text)), true));
    NAMED.iter().for_each(|(name, value)| check(name, json!(filled(value)), true));
    HARD_SECRETS.iter().for_each(|(name, value)| check(name, json!(filled(value)), true));
    HARMLESS.iter().chain(HARD_HARMLESS).for_each(|(name, value)| check(name, json!(value), false));
    check("headers", json!([{"key": "x-api-key", "value": password()}]), true);
    check("headers", json!([{"htv:fieldName": "x-api-key", "htv:fieldValue": password()}]), true);
    check("secretKeyRef", json!({"name": "agent-credentials-v2", "key": "api-token-v2"}), false);
    let schema = |type_: &str, more: Value| {
        let mut schema = json!({"type": type_, "title": "api_key"});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    check("token", schema("string", json!({"enum": ["ETH", "BTC-2024-wrapped"], "default": "ETH-mainnet-1"})), false);
    check("pin", schema("integer", json!({"default": 4})), false);
    check("password", schema("string", json!({"examples": ["hunter2hunter2"], "minLength": 8})), false);
    check("properties", json!({"api_key": schema("string", json!({"default": "abcdef123456"}))}), false);
    check("input", json!({"type": "object", "properties": {"secret": {"const": "s3cr3tvalue"}}}), false);
    check("cost_per_token", json!(0.00002), false);
    check("max_tokens", json!([100, 200]), false);
    check("password", json!(271_828_182), false);
    check("token", json!(null), false);
    check("secret", json!(true), false);
    check("env", json!([{"name": "API_KEY", "value": password()}]), true);
    check("env", json!([{"name": "REGION", "value": "eu-central-1a2"}]), false);
    check("access_tokens", json!([password()]), true);
    check("args", json!(["--api-key", password()]), true);
    check("args", json!(["--token", "{{token}}", "--port", "80808080"]), false);
    check("password", json!({"value": password()}), true);
    check(&format!("https://joe:{}@git.example/", password()), json!(1), true);
    assert!(count >= 600, "only {count} values");
    assert!(
        missed.is_empty() && wrong.is_empty(),
        "{} of {count} are missed:\n{}\n{} are hidden for nothing:\n{}",
        missed.len(),
        missed.join("\n"),
        wrong.len(),
        wrong.join("\n"),
    );
}

#[test]
fn nothing_of_a_secret_is_left_and_all_around_it_is() {
    let password = password();
    for (text, clean) in [
        ("see https://joe:PASS@host/x, or <https://h?sig=PASS>!", "see https://host/x, or <https://h?sig=redacted>!"),
        ("https://h/x?api_key=PASS&q=1#top", "https://h/x?api_key=redacted&q=1#top"),
        ("Server=db;Password=PASS;x=1", "Server=db;Password=[redacted];x=1"),
        ("Authorization: Bearer PASS99PASS99", "Authorization: Bearer [redacted]"),
        ("jdbc:oracle:thin:joe/PASS@//host:1521/x", "jdbc:oracle:thin://host:1521/x"),
        ("GET /x?api_key=PASS&q=1", "GET /x?api_key=redacted&q=1"),
        ("https://h/x?api%5Fkey=PASS&q=%41#top", "https://h/x?api%5Fkey=redacted&q=%41#top"),
        ("https://h/x?to=https%3A%2F%2Fjoe%3APASS%40h2%2Fy&q=%C3%A4", "https://h/x?to=https%3A%2F%2Fh2%2Fy&q=%C3%A4"),
        ("https://h/x?api_key=PASS%26PASS&q=1", "https://h/x?api_key=redacted&q=1"),
        ("amqp://h1,amqp://joe:PASS@h2/q", "amqp://h1,amqp://h2/q"),
    ] {
        assert_eq!(without_credentials(&text.replace("PASS", &password)), clean);
    }
    let key = &keys()[0];
    assert_eq!(without_credentials(&format!("the key is {key}.")), "the key is [redacted].");
    let encoded: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
    assert_eq!(without_credentials(&format!("https://h/{encoded}/x")), "https://h/redacted/x");
}

#[test]
fn redacted_documents_have_nothing_more_to_hide() {
    let values: Vec<String> = keys().into_iter().chain(TEXTS.iter().map(|text| filled(text))).collect();
    let first = redacted(&json!(values)).unwrap();
    let again = Document::parse(first.as_bytes()).map(|document| redacted(document.value()));
    assert_eq!(again.unwrap(), None);
}

#[test]
fn hostile_texts_take_no_longer_than_their_length() {
    for part in
        ["eyJ.", "key=key", "://:@/", "-----BEGIN ", "hvs.", "jdbc:oracle:", "a:b//", "sk-", "{{$%<", "%41%3a//"]
    {
        let short = part.repeat(400_000 / part.len());
        assert!(credentials(&short).len() < short.len());
    }
}
