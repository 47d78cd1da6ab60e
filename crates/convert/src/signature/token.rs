//! JSON Web Tokens (RFC 7519) as JWS in compact form (RFC 7515, section 7.1): access tokens of an authorization server
//! (RFC 9068), verified according to RFC 8725.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::{TrustedKeys, header::Header};
use crate::td::{Document, Timestamp};

/// The most bytes of a token.
const MAX_BYTES: usize = 16 * 1024;
/// The most keys that a token is checked with: several may have its `kid`, or it has none.
const MAX_KEYS: usize = 4;
/// Maximum difference between the clocks of the issuer and of this machine, in milliseconds.
const LEEWAY: i64 = 60_000;
/// Accepted values of `typ` in the header of a token that has one. Tokens of other kinds, such as for logging out,
/// prove nothing here (RFC 8725, section 3.11).
const TYPES: [&str; 4] = ["jwt", "application/jwt", "at+jwt", "application/at+jwt"];

/// Claims that a token must have to be accepted.
#[derive(Debug, Clone, Copy)]
pub struct TokenRules<'a> {
    /// Required value of `iss`.
    pub issuer: &'a str,
    /// Required value of `aud`, or of one of its elements.
    pub audience: &'a str,
}

/// Reason why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenError {
    /// The token names an unknown key, which may be new.
    UnknownKey,
    /// The token is invalid. Contains the reason.
    Invalid(String),
}

/// The claims of an accepted token.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    members: Map<String, Value>,
    /// Time at which the token expires.
    pub expires: Timestamp,
}

impl Claims {
    /// Verifies a token: its signature with one of the keys, using an asymmetric algorithm for the type of that key,
    /// its issuer, its audience, and its validity period, with a tolerance of one minute for differing clocks.
    ///
    /// ```
    /// use agentdex_convert::signature::{Claims, TokenError, TokenRules, TrustedKeys};
    /// use agentdex_td::Timestamp;
    ///
    /// let rules = TokenRules { issuer: "https://login.example.org", audience: "agentdex" };
    /// let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.";
    /// let refused = Claims::read(unsigned, &TrustedKeys::none(), rules, Timestamp::now());
    /// assert!(matches!(refused, Err(TokenError::Invalid(reason)) if reason.contains("none")));
    /// ```
    ///
    /// # Errors
    /// The reason why the token is not accepted.
    pub fn read(token: &str, keys: &TrustedKeys, rules: TokenRules<'_>, now: Timestamp) -> Result<Claims, TokenError> {
        let payload = verified(token, keys)?;
        let claims = Document::parse(&payload).map_err(|_| invalid("its claims are not JSON"))?;
        if let Some(pointer) = claims.repeated_members().first() {
            return Err(invalid(format!("its claim {pointer} is repeated")));
        }
        let Value::Object(members) = claims.value() else { return Err(invalid("its claims are not a JSON object")) };
        let expires = check(members, rules, now).map_err(TokenError::Invalid)?;
        Ok(Claims { members: members.clone(), expires })
    }

    /// Returns a claim by its name or, if `name` begins with a slash, by its JSON Pointer (RFC 6901).
    pub fn get(&self, name: &str) -> Option<&Value> {
        let Some(pointer) = name.strip_prefix('/') else { return self.members.get(name) };
        let (first, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
        self.members.get(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
    }
}

fn invalid(reason: impl Into<String>) -> TokenError {
    TokenError::Invalid(reason.into())
}

/// The payload of a token that one of the keys has signed.
fn verified(token: &str, keys: &TrustedKeys) -> Result<Vec<u8>, TokenError> {
    if token.len() > MAX_BYTES {
        return Err(invalid(format!("it is longer than {MAX_BYTES} bytes")));
    }
    let parts: Vec<&str> = token.splitn(4, '.').collect();
    let [protected, payload, signature] = parts[..] else {
        return Err(invalid("it is not a signed token, which consists of three parts separated by dots"));
    };
    let header = Header::read(protected).map_err(|unreadable| invalid(unreadable.reason))?;
    if let Some(kind) = header.typ.as_deref().filter(|kind| !TYPES.contains(&kind.to_ascii_lowercase().as_str())) {
        return Err(invalid(format!("it has the type {kind:?}, and is not an access token")));
    }
    let decode = |part: &str| {
        BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| invalid("its payload or signature is not base64url"))
    };
    let (decoded, signature) = (decode(payload)?, decode(signature)?);
    let candidates = keys.fitting(header.kid.as_deref(), header.algorithm);
    if candidates.is_empty() {
        return Err(TokenError::UnknownKey);
    }
    let signed = token.get(..protected.len() + 1 + payload.len()).unwrap_or_default().as_bytes();
    match candidates.iter().take(MAX_KEYS).any(|key| key.verifies(header.algorithm, signed, &signature)) {
        true => Ok(decoded),
        false => Err(invalid("its signature doesn't match any key of its issuer")),
    }
}

/// Checks claims that the issuer has made, and returns when they end.
fn check(claims: &Map<String, Value>, rules: TokenRules<'_>, now: Timestamp) -> Result<Timestamp, String> {
    let shown = |value: Option<&Value>| {
        value.map_or("missing".to_owned(), |value| value.to_string().chars().take(200).collect())
    };
    let issuer = claims.get("iss");
    if issuer.and_then(Value::as_str) != Some(rules.issuer) {
        return Err(format!("its issuer is {}, but must be {:?}", shown(issuer), rules.issuer));
    }
    let audience = claims.get("aud");
    let is_for_us = match audience {
        Some(Value::Array(all)) => all.iter().any(|one| one == rules.audience),
        Some(one) => one == rules.audience,
        None => false,
    };
    if !is_for_us {
        return Err(format!("its audience is {}, but must include {:?}", shown(audience), rules.audience));
    }
    let moment = |name: &str| match claims.get(name) {
        None => Ok(None),
        // Between 1970 and 9999 (RFC 7519, section 2, NumericDate).
        Some(Value::Number(seconds)) => {
            let milliseconds = seconds.as_f64().unwrap_or_default().clamp(0.0, 253_402_300_799.0) * 1000.0;
            Ok(Some(milliseconds as i64))
        }
        Some(other) => Err(format!("its {name} is not a number: {}", shown(Some(other)))),
    };
    let expires = moment("exp")?.ok_or("it has no exp, so it would never expire")?;
    let ends = Timestamp(expires.saturating_add(LEEWAY).min(Timestamp::MAX.0));
    if ends <= now {
        return Err(format!("it expired at {}", Timestamp(expires)));
    }
    if let Some(begins) = moment("nbf")?.filter(|begins| begins.saturating_sub(LEEWAY) > now.0) {
        return Err(format!("it is not valid before {}", Timestamp(begins)));
    }
    if claims.get("cnf").is_some() {
        // RFC 7800: a bearer of it alone proves nothing.
        return Err("it is bound to a key (cnf), which this registry can't check".into());
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
    };
    use serde_json::json;

    use super::*;

    const RULES: TokenRules<'_> = TokenRules { issuer: "https://login.example.org", audience: "agentdex" };
    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn encode(bytes: impl AsRef<[u8]>) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// An issuer with one key of each kind that is quick to make.
    struct Issuer {
        ed25519: Ed25519KeyPair,
        p256: EcdsaKeyPair,
        keys: TrustedKeys,
    }

    impl Issuer {
        fn new() -> Issuer {
            let random = SystemRandom::new();
            let ed25519 =
                Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
            let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            let p256 = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
            let point = p256.public_key().as_ref();
            let jwks = json!({"keys": [
                {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(ed25519.public_key())},
                {"kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(&point[1..33]), "y": encode(&point[33..])},
                {"kty": "oct", "kid": "shared", "k": "AAAA"},
            ]});
            let keys = TrustedKeys::from_domain(jwks.to_string().as_bytes(), "https://login.example.org/jwks").unwrap();
            Issuer { ed25519, p256, keys }
        }

        fn sign(&self, header: Value, claims: &Value) -> String {
            let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
            let signature = match header["alg"].as_str() {
                Some("ES256") => self.p256.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
                _ => self.ed25519.sign(signed.as_bytes()).as_ref().to_vec(),
            };
            format!("{signed}.{}", encode(signature))
        }

        fn read(&self, token: &str) -> Result<Claims, TokenError> {
            Claims::read(token, &self.keys, RULES, NOW)
        }

        /// Why a token with this header and these changes of its claims isn't taken.
        fn refusal(&self, header: Value, change: Value) -> String {
            let mut all = claims();
            for (name, value) in change.as_object().unwrap() {
                all[name] = value.clone();
            }
            match self.read(&self.sign(header, &all)) {
                Err(TokenError::Invalid(reason)) => reason,
                other => panic!("{other:?}"),
            }
        }
    }

    fn claims() -> Value {
        json!({"iss": RULES.issuer, "aud": [RULES.audience, "x"], "sub": "weather", "exp": 1_700_000_100, "realm": {"a/b": ["x"]}})
    }

    fn header() -> Value {
        json!({"alg": "EdDSA", "kid": "ed"})
    }

    #[test]
    fn tokens_of_the_issuer_are_taken() {
        let issuer = Issuer::new();
        for header in [
            header(),
            json!({"alg": "ES256", "kid": "ec", "typ": "at+JWT"}),
            json!({"alg": "EdDSA", "typ": "JWT"}),
            json!({"alg": "Ed25519", "kid": "ed"}),
        ] {
            let taken = issuer
                .read(&issuer.sign(header.clone(), &claims()))
                .unwrap_or_else(|error| panic!("{header}: {error:?}"));
            assert_eq!(taken.expires, Timestamp(1_700_000_160_000));
            assert_eq!(taken.get("sub"), Some(&json!("weather")));
            assert_eq!(taken.get("/realm/a~1b/0"), Some(&json!("x")));
            assert_eq!(taken.get("/realm/c"), None);
            assert_eq!((taken.get("/realm/"), taken.get("/realm").is_some()), (None, true));
        }
    }

    #[test]
    fn algorithms_are_those_of_the_key() {
        let issuer = Issuer::new();
        for alg in ["none", "HS256", "RS1", ""] {
            let reason = issuer.refusal(json!({"alg": alg, "kid": "ed"}), json!({}));
            assert!(reason.contains("accepted algorithms are ES256"), "{alg}: {reason}");
        }
        // The key has another kind: as if there were none of that name.
        for header in [
            json!({"alg": "ES256", "kid": "ed"}),
            json!({"alg": "RS256", "kid": "ec"}),
            json!({"alg": "EdDSA", "kid": "new"}),
        ] {
            assert_eq!(issuer.read(&issuer.sign(header, &claims())), Err(TokenError::UnknownKey));
        }
        assert!(
            issuer
                .refusal(json!({"alg": "EdDSA", "kid": "ed", "crit": ["b64"], "b64": false}), json!({}))
                .contains("crit")
        );
        let other = Issuer::new();
        assert!(
            matches!(other.read(&issuer.sign(header(), &claims())), Err(TokenError::Invalid(reason)) if reason.contains("signature"))
        );
    }

    #[test]
    fn claims_are_checked() {
        let issuer = Issuer::new();
        let refusal = |change| issuer.refusal(header(), change);
        assert!(refusal(json!({"iss": "https://login.example.org/"})).contains("its issuer is"));
        for audience in [json!("other"), json!(["other"]), json!([]), json!(null), json!({"agentdex": 1})] {
            assert!(refusal(json!({"aud": audience})).contains("its audience is"));
        }
        assert!(refusal(json!({"exp": 1_699_999_940})).contains("it expired at 2023-11-14T22:12:20"));
        assert!(refusal(json!({"exp": "tomorrow"})).contains("not a number"));
        assert!(refusal(json!({"exp": null})).contains("not a number"));
        assert!(refusal(json!({"nbf": 1_700_000_061})).contains("it is not valid before"));
        assert!(refusal(json!({"cnf": {"jkt": "x"}})).contains("bound to a key"));
        assert!(issuer.refusal(json!({"alg": "EdDSA", "kid": "ed", "typ": "logout+jwt"}), json!({})).contains("type"));
        let leeway = claims()
            .to_string()
            .replace("1700000100", "1699999941.5")
            .replace("\"realm\"", "\"nbf\":1700000060,\"realm\"");
        assert!(issuer.read(&issuer.sign(header(), &serde_json::from_str(&leeway).unwrap())).is_ok());
        let mut endless = claims();
        endless.as_object_mut().unwrap().remove("exp");
        let refused = issuer.read(&issuer.sign(header(), &endless));
        assert!(matches!(refused, Err(TokenError::Invalid(reason)) if reason.contains("never expire")));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let issuer = Issuer::new();
        let token = issuer.sign(header(), &claims());
        let (signed, _) = token.rsplit_once('.').unwrap();
        for text in [
            "",
            "a.b",
            "a.b.c",
            "..",
            &format!("{token}.x"),
            &format!("{signed}."),
            &format!("{token}="),
            &"a".repeat(20_000),
        ] {
            assert!(matches!(issuer.read(text), Err(TokenError::Invalid(_))), "{text}");
        }
        let twice = r#"{"iss":"https://login.example.org","aud":"agentdex","exp":1700000100,"sub":"a","sub":"b"}"#;
        let signed = format!("{}.{}", encode(header().to_string()), encode(twice));
        let token = format!("{signed}.{}", encode(issuer.ed25519.sign(signed.as_bytes())));
        assert!(matches!(issuer.read(&token), Err(TokenError::Invalid(reason)) if reason.contains("repeated")));
    }

    /// RFC 7515, appendix A.3: it is signed by its key, and names no audience.
    #[test]
    fn signature_of_the_specification_verifies() {
        let jwk = br#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
        let keys = TrustedKeys::from_domain(jwk, "https://example.com").unwrap();
        let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        let rules = TokenRules { issuer: "joe", audience: "agentdex" };
        let reason = "its audience is missing, but must include \"agentdex\"".to_owned();
        assert_eq!(Claims::read(token, &keys, rules, NOW), Err(TokenError::Invalid(reason)));
    }
}
