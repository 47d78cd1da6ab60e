//! `server.json` exactly as its schema of 2025-12-11 requires it, for strict readers such as clients of MCP registries.

use fluent_uri::Uri;
use serde_json::{Map, Value, json};

use super::{
    DocumentKind, Server,
    export::{ICON_TYPES, LONGEST_DESCRIPTION, LONGEST_ICON, LONGEST_TITLE, is_name},
    input::text,
    publisher_metadata::PUBLISHER,
    read::is_range,
};
use crate::{
    shape::Findings,
    td::{Violation, internal::Path},
};

type Object = Map<String, Value>;

/// Maximum length of a version in characters.
const LONGEST_VERSION: usize = 255;
/// Maximum size of the metadata of a publisher in bytes.
const MOST_METADATA: usize = 4096;
/// Version of a server without one.
const NO_VERSION: &str = "0.0.0";
/// Formats of inputs.
const FORMATS: [&str; 4] = ["string", "number", "boolean", "filepath"];
/// Members of an input with unrestricted values.
const OF_INPUT: [&str; 7] = ["description", "isRequired", "isSecret", "value", "default", "placeholder", "choices"];

impl Server {
    /// Returns the document as a valid `server.json`, and the violations of its schema. Unknown and invalid members are left out,
    /// and long texts are truncated. An invalid name is kept.
    ///
    /// ```
    /// use agentdex_convert::mcp_server::Server;
    ///
    /// let server = Server::parse(br#"{
    ///     "name": "com.example/weather", "description": "Tells the weather", "version": "latest",
    ///     "remotes": [{"type": "sse"}, {"type": "sse", "url": "https://weather.example/sse"}]
    /// }"#)?;
    /// let (members, violations) = server.to_server_json();
    /// assert_eq!(members["remotes"].as_array().map(Vec::len), Some(1));
    /// assert_eq!(violations[0].pointer, "/version");
    /// assert_eq!(violations[1].pointer, "/remotes/0/url");
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    pub fn to_server_json(&self) -> (Map<String, Value>, Vec<Violation>) {
        let mut writer = Writer { findings: Findings::default() };
        let members = writer.server(self.members());
        (members, writer.findings.into_list())
    }
}

struct Writer {
    findings: Findings,
}

impl Writer {
    fn server(&mut self, server: &Object) -> Object {
        let root = Path::ROOT;
        let mut written = Object::from_iter([("$schema".to_owned(), DocumentKind::ServerJson.schema().into())]);
        let name = text(server, "name").unwrap_or_default();
        if !is_name(name) {
            let message = || format!("{name:?} is not in reverse-DNS form, such as com.example/weather");
            self.findings.add(&root.member("name"), "server-name", message);
        }
        written.insert("name".to_owned(), name.into());
        if let Some(title) = text(server, "title") {
            written.insert("title".to_owned(), self.cut(title, &root.member("title"), LONGEST_TITLE).into());
        }
        let description = text(server, "description").unwrap_or_else(|| {
            self.missing(&root.member("description"));
            text(server, "title").unwrap_or(name)
        });
        let description = self.cut(description, &root.member("description"), LONGEST_DESCRIPTION);
        written.insert("description".to_owned(), description.into());
        written.insert("version".to_owned(), self.version(server, &root).unwrap_or(NO_VERSION).into());
        if let Some(url) = text(server, "websiteUrl").filter(|url| self.is_uri(url, &root.member("websiteUrl"))) {
            written.insert("websiteUrl".to_owned(), url.into());
        }
        if let Some(Value::Object(repository)) = server.get("repository") {
            let path = root.member("repository");
            if self.has(repository, &["url", "source"], &path) {
                written.insert("repository".to_owned(), only(repository, &["url", "source", "id", "subfolder"]).into());
            }
        }
        for (name, write) in [
            ("icons", Writer::icon as fn(&mut Writer, &Object, &Path<'_>) -> Option<Object>),
            ("packages", Writer::package),
            ("remotes", Writer::remote),
        ] {
            self.list(server, name, &root, &mut written, write);
        }
        let publisher = server.get("_meta").and_then(|meta| meta.get(PUBLISHER)).filter(|it| it.is_object());
        if let Some(publisher) = publisher {
            if publisher.to_string().len() <= MOST_METADATA {
                written.insert("_meta".to_owned(), json!({PUBLISHER: publisher}));
            } else {
                let message = || format!("it has more than {MOST_METADATA} bytes");
                self.findings.add(&root.member("_meta").member(PUBLISHER), "metadata-size", message);
            }
        }
        written
    }

    fn icon(&mut self, icon: &Object, path: &Path<'_>) -> Option<Object> {
        let source = text(icon, "src").unwrap_or_default();
        if !source.starts_with("https://") || source.len() > LONGEST_ICON || Uri::parse(source).is_err() {
            let message = || format!("an icon needs an https URL of at most {LONGEST_ICON} bytes");
            self.findings.add(&path.member("src"), "icon-url", message);
            return None;
        }
        let mut written = only(icon, &["src"]);
        for (name, known) in [("mimeType", &ICON_TYPES[..]), ("theme", &["light", "dark"])] {
            if let Some(value) = self.one_of(icon, name, known, path) {
                written.insert(name.to_owned(), value.into());
            }
        }
        let sizes = icon.get("sizes").and_then(Value::as_array).into_iter().flatten();
        let sizes: Vec<&Value> = sizes.filter(|size| size.as_str().is_some_and(is_size)).collect();
        if !sizes.is_empty() {
            written.insert("sizes".to_owned(), json!(sizes));
        }
        Some(written)
    }

    fn package(&mut self, package: &Object, path: &Path<'_>) -> Option<Object> {
        if !self.has(package, &["registryType", "identifier"], path) {
            return None;
        }
        let mut written = only(package, &["registryType", "identifier", "runtimeHint"]);
        if package.contains_key("version")
            && let Some(version) = self.version(package, path)
        {
            written.insert("version".to_owned(), version.into());
        }
        if let Some(url) = text(package, "registryBaseUrl")
            && self.is_uri(url, &path.member("registryBaseUrl"))
        {
            written.insert("registryBaseUrl".to_owned(), url.into());
        }
        if let Some(sum) = text(package, "fileSha256") {
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            if sum.len() == 64 && sum.bytes().all(is_digit) {
                written.insert("fileSha256".to_owned(), sum.into());
            } else {
                let message = || "not a SHA-256 checksum of 64 lowercase hexadecimal digits".into();
                self.findings.add(&path.member("fileSha256"), "checksum", message);
            }
        }
        let stdio = Object::from_iter([("type".to_owned(), "stdio".into())]);
        let transport = match package.get("transport").and_then(Value::as_object) {
            Some(transport) if text(transport, "type") == Some("stdio") => stdio,
            Some(transport) if text(transport, "url").is_some() => {
                self.transport(transport, &path.member("transport"), |url| !url.contains(char::is_whitespace))?
            }
            Some(transport) if text(transport, "type").is_some() => {
                self.missing(&path.member("transport").member("url"));
                return None;
            }
            _ => {
                self.missing(&path.member("transport"));
                stdio
            }
        };
        written.insert("transport".to_owned(), transport.into());
        for name in ["runtimeArguments", "packageArguments"] {
            self.list(package, name, path, &mut written, Writer::argument);
        }
        self.list(package, "environmentVariables", path, &mut written, Writer::named_input);
        Some(written)
    }

    fn remote(&mut self, remote: &Object, path: &Path<'_>) -> Option<Object> {
        let is_url = |url: &str| {
            let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
        };
        let mut written = self.transport(remote, path, is_url)?;
        if let Some(Value::Object(variables)) = remote.get("variables") {
            written.insert("variables".to_owned(), self.variables(variables, &path.member("variables")).into());
        }
        Some(written)
    }

    fn transport(&mut self, transport: &Object, path: &Path<'_>, is_url: impl Fn(&str) -> bool) -> Option<Object> {
        let kind = self.one_of(transport, "type", &["streamable-http", "sse"], path);
        let Some(url) = text(transport, "url") else {
            self.missing(&path.member("url"));
            return None;
        };
        if !is_url(url) {
            let message = || format!("{url:?} is not an http or https URL");
            self.findings.add(&path.member("url"), "url-broken", message);
            return None;
        }
        if !transport.contains_key("type") {
            self.missing(&path.member("type"));
        }
        let mut written = Object::from_iter([("type".to_owned(), kind?.into()), ("url".to_owned(), url.into())]);
        self.list(transport, "headers", path, &mut written, Writer::named_input);
        Some(written)
    }

    fn argument(&mut self, argument: &Object, path: &Path<'_>) -> Option<Object> {
        let is_named = match text(argument, "type") {
            Some(kind) => kind == "named",
            None => argument.contains_key("name"),
        };
        let mut written = self.input(argument, path);
        written.extend(only(argument, &["isRepeated"]));
        if is_named {
            if !self.has(argument, &["name"], path) {
                return None;
            }
            written.extend(only(argument, &["name"]));
        } else {
            if !["value", "valueHint"].iter().any(|name| argument.get(*name).is_some_and(Value::is_string)) {
                self.missing(&path.member("value"));
                return None;
            }
            written.extend(only(argument, &["valueHint"]));
        }
        written.insert("type".to_owned(), if is_named { "named" } else { "positional" }.into());
        Some(written)
    }

    /// A header or an environment variable.
    fn named_input(&mut self, input: &Object, path: &Path<'_>) -> Option<Object> {
        if !self.has(input, &["name"], path) {
            return None;
        }
        let mut written = only(input, &["name"]);
        written.extend(self.input(input, path));
        Some(written)
    }

    fn input(&mut self, input: &Object, path: &Path<'_>) -> Object {
        let mut written = only(input, &OF_INPUT);
        written.retain(|name, value| name != "choices" || value.as_array().is_some_and(|choices| !choices.is_empty()));
        if let Some(format) = self.one_of(input, "format", &FORMATS, path) {
            written.insert("format".to_owned(), format.into());
        }
        if let Some(Value::Object(variables)) = input.get("variables") {
            written.insert("variables".to_owned(), self.variables(variables, &path.member("variables")).into());
        }
        written
    }

    fn variables(&mut self, variables: &Object, path: &Path<'_>) -> Object {
        let variables = variables.iter().filter_map(|(name, variable)| Some((name, variable.as_object()?)));
        let written = variables.map(|(name, variable)| {
            let mut variable = variable.clone();
            // Variables of variables don't exist.
            variable.remove("variables");
            (name.clone(), self.input(&variable, &path.member(name)).into())
        });
        written.collect()
    }

    fn list(
        &mut self,
        owner: &Object,
        name: &str,
        path: &Path<'_>,
        written: &mut Object,
        write: impl Fn(&mut Writer, &Object, &Path<'_>) -> Option<Object>,
    ) {
        let Some(Value::Array(elements)) = owner.get(name) else { return };
        let path = path.member(name);
        let objects = elements.iter().enumerate().filter_map(|(index, element)| Some((index, element.as_object()?)));
        let kept: Vec<Value> =
            objects.filter_map(|(index, element)| Some(write(self, element, &path.index(index))?.into())).collect();
        if !kept.is_empty() {
            written.insert(name.to_owned(), kept.into());
        }
    }

    /// Returns the version if it is one version.
    fn version<'s>(&mut self, owner: &'s Object, path: &Path<'_>) -> Option<&'s str> {
        let path = path.member("version");
        let Some(version) = text(owner, "version") else {
            self.missing(&path);
            return None;
        };
        if is_range(version) {
            self.findings.add(&path, "version", || format!("{version:?} is not a single version, such as 1.2.0"));
            return None;
        }
        if version.chars().count() > LONGEST_VERSION {
            self.findings.add(&path, "version", || format!("it has more than {LONGEST_VERSION} characters"));
            return None;
        }
        Some(version)
    }

    /// Returns a member whose value is one of a few.
    fn one_of<'s>(&mut self, owner: &'s Object, name: &str, known: &[&str], path: &Path<'_>) -> Option<&'s str> {
        let value = text(owner, name)?;
        let is_known = known.contains(&value);
        if !is_known {
            let message = || format!("{value:?} is not one of {}", known.join(", "));
            self.findings.add(&path.member(name), "value", message);
        }
        is_known.then_some(value)
    }

    /// True if an object has these texts.
    fn has(&mut self, object: &Object, names: &[&str], path: &Path<'_>) -> bool {
        let missing: Vec<&&str> = names.iter().filter(|name| text(object, name).is_none()).collect();
        missing.iter().for_each(|name| self.missing(&path.member(name)));
        missing.is_empty()
    }

    fn is_uri(&mut self, url: &str, path: &Path<'_>) -> bool {
        let is_uri = Uri::parse(url).is_ok();
        if !is_uri {
            self.findings.add(path, "url-broken", || format!("{url:?} is not an absolute URL"));
        }
        is_uri
    }

    fn missing(&mut self, path: &Path<'_>) {
        self.findings.add(path, "member-missing", || "it is missing".to_owned());
    }

    fn cut(&mut self, text: &str, path: &Path<'_>, longest: usize) -> String {
        let length = text.chars().count();
        if length <= longest {
            return text.to_owned();
        }
        self.findings.add(path, "text-length", || format!("{length} characters, but at most {longest} are allowed"));
        text.chars().take(longest - 1).chain(['…']).collect()
    }
}

fn only(object: &Object, names: &[&str]) -> Object {
    names.iter().filter_map(|name| Some(((*name).to_owned(), object.get(*name)?.clone()))).collect()
}

/// True for a size such as `48x48`, or `any`.
fn is_size(size: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    size == "any" || size.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(document: &Value) -> (Value, Vec<String>) {
        let server = Server::parse(document.to_string().as_bytes()).expect("a server");
        let (members, violations) = server.to_server_json();
        (members.into(), violations.into_iter().map(|violation| violation.pointer).collect())
    }

    #[test]
    fn valid_documents_stay_as_they_are() {
        let document = json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": "com.example/weather", "title": "Weather", "description": "Weather by place", "version": "1.2.0",
            "websiteUrl": "https://weather.example/",
            "repository": {"url": "https://github.com/a/b", "source": "github", "id": "1", "subfolder": "x"},
            "icons": [{"src": "https://weather.example/i.png", "mimeType": "image/png", "theme": "dark", "sizes": ["48x48"]}],
            "packages": [{
                "registryType": "npm", "identifier": "weather", "runtimeHint": "npx", "version": "1.2.0",
                "registryBaseUrl": "https://registry.example", "fileSha256": "a".repeat(64),
                "transport": {"type": "streamable-http", "url": "http://localhost:{port}/mcp"},
                "runtimeArguments": [{"value": "-y", "type": "positional"}],
                "packageArguments": [{"format": "filepath", "name": "--root", "type": "named"}],
                "environmentVariables": [{"name": "KEY", "isSecret": true}],
            }],
            "remotes": [{
                "type": "sse", "url": "https://{region}.weather.example/sse",
                "headers": [{"name": "X-Key", "isRequired": true, "value": "{key}", "variables": {"key": {"isSecret": true}}}],
                "variables": {"region": {"default": "eu", "choices": ["eu", "us"]}},
            }],
            "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"tool": "ci"}},
        });
        assert_eq!(written(&document), (document, Vec::new()));
    }

    #[test]
    fn what_the_schema_forbids_is_left_out_with_its_place() {
        let (members, places) = written(&json!({
            "name": "weather", "description": "d".repeat(101), "version": "^1", "websiteUrl": "weather",
            "repository": {"url": "https://github.com/a/b"}, "tools": [{"name": "t"}],
            "icons": [{"src": "http://weather.example/i.png"}, {"src": "https://a.example/b.gif", "mimeType": "image/gif"}],
            "packages": [
                {"registryType": "npm", "transport": {"type": "stdio"}},
                {"registryType": "npm", "identifier": "a", "version": "latest", "transport": {"type": "sse"}},
                {"registryType": "npm", "identifier": "b", "packageArguments": [{"type": "named"}, {"type": "positional"}]},
            ],
            "remotes": [{"type": "streamable-http", "url": "{base}/mcp"}, {"type": "ws", "url": "https://a.example"}],
            "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"long": "x".repeat(5000)}},
        }));
        let schema = DocumentKind::ServerJson.schema();
        let expected = json!({
            "$schema": schema, "name": "weather", "description": format!("{}…", "d".repeat(99)), "version": "0.0.0",
            "icons": [{"src": "https://a.example/b.gif"}],
            "packages": [{"registryType": "npm", "identifier": "b", "transport": {"type": "stdio"}}],
        });
        assert_eq!(members, expected);
        let expected = [
            "/name",
            "/description",
            "/version",
            "/websiteUrl",
            "/repository/source",
            "/icons/0/src",
            "/icons/1/mimeType",
            "/packages/0/identifier",
            "/packages/1/version",
            "/packages/1/transport/url",
            "/packages/2/transport",
            "/packages/2/packageArguments/0/name",
            "/packages/2/packageArguments/1/value",
            "/remotes/0/url",
            "/remotes/1/type",
            "/_meta/io.modelcontextprotocol.registry~1publisher-provided",
        ];
        assert_eq!(places, expected);
    }
}
