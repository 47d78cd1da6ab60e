//! Formats of the keys and tokens of well-known services.
//!
//! Sources: the documentation of each provider, GitHub's list of supported secret scanning patterns (docs.github.com,
//! "Supported secret scanning patterns"), and the rules of gitleaks (`config/gitleaks.toml`, MIT). Keys that are meant
//! to be public, such as Stripe's `pk_live_` and PostHog's `phc_`, aren't included.

/// The format of one service's keys: a prefix, and the rest that follows.
pub(super) struct Provider {
    pub(super) prefix: &'static str,
    /// Characters of the rest.
    pub(super) tail: Charset,
    /// The shortest rest.
    pub(super) min: usize,
    /// The rest has to look random too: names of packages and models begin like this.
    pub(super) is_ambiguous: bool,
}

/// The characters of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    /// Letters and digits.
    Alnum,
    /// Capitals and digits.
    Capitals,
    Hex,
    /// Also `-` and `_`.
    Word,
    /// Also `.`.
    Dotted,
    /// Base64 of any kind, with dots and slashes.
    Base64,
}

impl Charset {
    /// Number of character sets.
    pub(super) const COUNT: usize = 6;

    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Charset::Alnum => byte.is_ascii_alphanumeric(),
            Charset::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Charset::Hex => byte.is_ascii_hexdigit(),
            Charset::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Charset::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Charset::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'='),
        }
    }
}

const fn sure(prefix: &'static str, tail: Charset, min: usize) -> Provider {
    Provider { prefix, tail, min, is_ambiguous: false }
}

const fn ambiguous(prefix: &'static str, tail: Charset, min: usize) -> Provider {
    Provider { prefix, tail, min, is_ambiguous: true }
}

use Charset::{Alnum, Base64, Capitals, Dotted, Hex, Word};

/// All of them; of several prefixes that match, any may.
pub(super) const PROVIDERS: &[Provider] = &[
    // Language models and what is around them.
    ambiguous("sk-", Word, 16), // OpenAI (sk-, sk-proj-, sk-svcacct-), Anthropic (sk-ant-), DeepSeek, OpenRouter (sk-or-)
    ambiguous("csk-", Word, 20), // Cerebras
    ambiguous("gsk_", Word, 16), // Groq
    ambiguous("xai-", Word, 16), // xAI
    ambiguous("pplx-", Word, 16), // Perplexity
    ambiguous("hf_", Alnum, 16), // Hugging Face
    ambiguous("api_org_", Alnum, 16), // Hugging Face, organisations
    ambiguous("r8_", Word, 16), // Replicate
    ambiguous("fw_", Alnum, 16), // Fireworks
    ambiguous("nvapi-", Word, 16), // NVIDIA
    ambiguous("tvly-", Word, 16), // Tavily
    ambiguous("lsv2_", Word, 16), // LangSmith
    ambiguous("ls__", Word, 16), // LangSmith, older
    ambiguous("pcsk_", Word, 16), // Pinecone
    ambiguous("jina_", Word, 16), // Jina
    ambiguous("e2b_", Word, 16), // E2B
    ambiguous("fc-", Hex, 24),  // Firecrawl
    ambiguous("pa-", Word, 32), // Voyage
    ambiguous("tgp_v1_", Word, 16), // Together
    ambiguous("apify_api_", Alnum, 16), // Apify
    // Clouds.
    sure("AKIA", Capitals, 16),             // AWS, IAM users
    sure("ASIA", Capitals, 16),             // AWS, temporary
    sure("ABIA", Capitals, 16),             // AWS, bearer
    sure("ACCA", Capitals, 16),             // AWS, context
    ambiguous("AIza", Word, 30),            // Google API keys
    ambiguous("ya29.", Dotted, 16),         // Google OAuth access tokens
    ambiguous("GOCSPX-", Word, 16),         // Google OAuth client secrets
    ambiguous("1//0", Word, 20),            // Google OAuth refresh tokens
    sure("LTAI", Alnum, 16),                // Alibaba Cloud
    sure("AKID", Alnum, 28),                // Tencent Cloud
    ambiguous("AQVN", Word, 30),            // Yandex Cloud
    sure("dop_v1_", Hex, 32),               // DigitalOcean
    sure("doo_v1_", Hex, 32),               // DigitalOcean, OAuth
    sure("dor_v1_", Hex, 32),               // DigitalOcean, refresh
    ambiguous("dapi", Hex, 32),             // Databricks
    sure("FlyV1 fm", Base64, 16),           // Fly.io
    ambiguous("fo1_", Word, 30),            // Fly.io, organisations
    sure("HRKU-", Word, 20),                // Heroku
    ambiguous("nfp_", Alnum, 30),           // Netlify
    sure("sbp_", Hex, 32),                  // Supabase
    sure("sb_secret_", Word, 16),           // Supabase
    sure("pscale_tkn_", Dotted, 20),        // PlanetScale
    sure("pscale_pw_", Dotted, 20),         // PlanetScale
    sure("pscale_oauth_", Dotted, 20),      // PlanetScale
    ambiguous("tk-us-", Word, 32),          // Scalingo
    sure("ocid1.credential.", Dotted, 20),  // Oracle Cloud
    ambiguous("alchemy.com/v2/", Word, 24), // Alchemy, in the URL of a node
    ambiguous("infura.io/v3/", Alnum, 24),  // Infura, in the URL of a node
    ambiguous("sk.eyJ", Dotted, 40),        // Mapbox
    // Code, packages, continuous integration.
    ambiguous("ghp_", Alnum, 16),       // GitHub, personal
    ambiguous("gho_", Alnum, 16),       // GitHub, OAuth
    ambiguous("ghu_", Alnum, 16),       // GitHub, users of apps
    ambiguous("ghs_", Alnum, 16),       // GitHub, installations
    ambiguous("ghr_", Alnum, 16),       // GitHub, refresh
    ambiguous("github_pat_", Word, 20), // GitHub, fine-grained
    ambiguous("glpat-", Dotted, 16),    // GitLab, personal
    ambiguous("gldt-", Word, 16),       // GitLab, deploy
    ambiguous("glrt-", Word, 16),       // GitLab, runners
    ambiguous("glptt-", Word, 16),      // GitLab, pipelines
    ambiguous("glcbt-", Word, 16),      // GitLab, CI jobs
    ambiguous("glft-", Word, 16),       // GitLab, feeds
    ambiguous("glsoat-", Word, 16),     // GitLab, SCIM
    ambiguous("glimt-", Word, 16),      // GitLab, mail
    ambiguous("npm_", Alnum, 24),       // npm
    ambiguous("pypi-", Word, 50),       // PyPI
    ambiguous("cio", Alnum, 32),        // crates.io
    sure("rubygems_", Hex, 40),         // RubyGems
    ambiguous("oy2", Alnum, 43),        // NuGet
    ambiguous("dckr_pat_", Word, 20),   // Docker Hub
    sure("CLOJARS_", Alnum, 40),        // Clojars
    ambiguous("CCIPAT_", Word, 20),     // CircleCI
    ambiguous("bkua_", Alnum, 30),      // Buildkite
    sure("AKCp", Alnum, 40),            // Artifactory
    ambiguous("sgp_", Word, 30),        // Sourcegraph
    sure("ATATT3", Base64, 30),         // Atlassian
    ambiguous("ATBB", Alnum, 24),       // Bitbucket
    ambiguous("ATCTT3", Base64, 24),    // Atlassian, access tokens
    ambiguous("PMAK-", Word, 24),       // Postman
    ambiguous("rdme_", Alnum, 40),      // ReadMe
    // Secrets and infrastructure.
    ambiguous("hvs.", Dotted, 20),          // HashiCorp Vault, service
    ambiguous("hvb.", Dotted, 20),          // HashiCorp Vault, batch
    ambiguous("hvr.", Dotted, 20),          // HashiCorp Vault, recovery
    ambiguous("dp.pt.", Alnum, 30),         // Doppler
    ambiguous("dp.st.", Dotted, 30),        // Doppler, service
    ambiguous("dp.sa.", Dotted, 30),        // Doppler, accounts
    ambiguous("dp.ct.", Alnum, 30),         // Doppler, CLI
    ambiguous("pul-", Hex, 32),             // Pulumi
    sure("ops_eyJ", Base64, 30),            // 1Password
    sure("AGE-SECRET-KEY-1", Capitals, 50), // age
    ambiguous("sha256~", Word, 40),         // OpenShift
    ambiguous("pnu_", Alnum, 30),           // Prefect
    ambiguous("glsa_", Word, 30),           // Grafana, service accounts
    ambiguous("glc_", Base64, 30),          // Grafana Cloud
    sure("NRAK-", Capitals, 20),            // New Relic, users
    sure("NRIQ-", Word, 20),                // New Relic, queries
    ambiguous("sntrys_", Base64, 20),       // Sentry, organisations
    ambiguous("sntryu_", Hex, 32),          // Sentry, users
    ambiguous("phx_", Alnum, 30),           // PostHog, personal
    ambiguous("tskey-", Word, 16),          // Tailscale
    // Messages, mail, offices.
    ambiguous("xoxb-", Word, 16),                       // Slack, bots
    ambiguous("xoxp-", Word, 16),                       // Slack, users
    ambiguous("xoxa-", Word, 16),                       // Slack, apps
    ambiguous("xoxr-", Word, 16),                       // Slack, refresh
    ambiguous("xoxs-", Word, 16),                       // Slack, sessions
    ambiguous("xoxe.", Dotted, 16),                     // Slack, configuration
    ambiguous("xoxe-", Word, 16),                       // Slack, configuration
    ambiguous("xapp-", Word, 16),                       // Slack, app level
    ambiguous("hooks.slack.com/services/", Base64, 20), // Slack, incoming webhooks
    ambiguous("discord.com/api/webhooks/", Base64, 40), // Discord, webhooks
    ambiguous("APA91b", Word, 80),                      // Firebase Cloud Messaging, older
    ambiguous("SG.", Dotted, 32),                       // SendGrid
    ambiguous("key-", Hex, 32),                         // Mailgun
    ambiguous("xkeysib-", Word, 40),                    // Brevo
    ambiguous("SK", Hex, 32),                           // Twilio
    ambiguous("ntn_", Alnum, 30),                       // Notion
    ambiguous("secret_", Alnum, 40),                    // Notion, older
    ambiguous("lin_api_", Alnum, 30),                   // Linear
    ambiguous("lin_oauth_", Alnum, 30),                 // Linear, OAuth
    ambiguous("figd_", Word, 30),                       // Figma
    ambiguous("CFPAT-", Word, 30),                      // Contentful
    ambiguous("tfp_", Word, 40),                        // Typeform
    ambiguous("sl.", Word, 60),                         // Dropbox
    ambiguous("aio_", Alnum, 24),                       // Adafruit IO
    ambiguous("pat", Dotted, 60),                       // Airtable
    // Money and shops.
    ambiguous("sk_live_", Alnum, 16),                // Stripe
    ambiguous("sk_test_", Alnum, 16),                // Stripe, tests
    ambiguous("rk_live_", Alnum, 16),                // Stripe, restricted
    ambiguous("rk_test_", Alnum, 16),                // Stripe, restricted tests
    ambiguous("whsec_", Base64, 16),                 // Stripe and Svix, webhooks
    ambiguous("sk_", Hex, 40),                       // ElevenLabs
    ambiguous("sq0atp-", Word, 20),                  // Square
    ambiguous("sq0csp-", Word, 40),                  // Square, OAuth secrets
    ambiguous("EAAA", Word, 50),                     // Square and Meta
    sure("shpat_", Hex, 32),                         // Shopify
    sure("shpca_", Hex, 32),                         // Shopify, custom apps
    sure("shppa_", Hex, 32),                         // Shopify, private apps
    sure("shpss_", Hex, 32),                         // Shopify, shared secrets
    ambiguous("duffel_", Word, 40),                  // Duffel
    ambiguous("EZAK", Alnum, 50),                    // EasyPost
    ambiguous("EZTK", Alnum, 50),                    // EasyPost, tests
    ambiguous("FLWSECK", Word, 16),                  // Flutterwave
    ambiguous("shippo_live_", Hex, 32),              // Shippo
    ambiguous("access_token$production$", Word, 30), // PayPal and Braintree
];
