//! Documents: validation, conversion, batches, records; and calls of agents through the registry.

use futures_util::{TryStreamExt, stream};
use reqwest::Method;

use agentdex_api::{
    Answered, Converted, Neighbors, NewPropertyValue, PropertyValue, SacpReading, Turn, TurnEvent, ValidationReport,
};
use serde_json::{Map, Value};

use agentdex_td::Json;

use super::{
    BatchResult, Error, Events, Pieces, RegistryClient, Result, TurnEvents, read,
    sse::{Block, Parser},
    text, thing_path,
};

impl RegistryClient {
    /// Validates a Thing Description, and returns the report of `POST /validate`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn validate(&self, document: impl Into<Json>) -> Result<ValidationReport> {
        let request = self.request(Method::POST, "validate", &[]).header("content-type", "application/td+json");
        read(&text(self.send(request.body(document.into().into_bytes())).await?).await?, "a report")
    }

    /// Detects the format of a document, and returns the Thing Descriptions that an import would register.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn convert(&self, document: impl Into<Vec<u8>>, media_type: &str) -> Result<Converted> {
        let request = self.request(Method::POST, "convert", &[]).header("content-type", media_type);
        read(&text(self.send(request.body(document.into())).await?).await?, "converted descriptions")
    }

    /// Writes a batch of Thing Descriptions, one on each line, and returns the result of each line. With `dry_run`,
    /// nothing is written.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn write_batch(&self, lines: impl Into<String>, dry_run: bool) -> Result<Vec<BatchResult>> {
        self.write_lines("things/batch", lines.into(), dry_run).await
    }

    /// Returns the complete records of all Things with ids after `after`, in pieces. Each record is a line of JSON.
    /// Requires the role `admin`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`].
    pub async fn records(&self, after: Option<&str>) -> Result<Pieces> {
        let parameters: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        self.pieces(self.request(Method::GET, "records", &parameters)).await
    }

    /// Writes complete records of Things: lines that another registry returned from [`RegistryClient::records`].
    /// Requires the role `admin`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn write_records(&self, lines: impl Into<String>, dry_run: bool) -> Result<Vec<BatchResult>> {
        self.write_lines("records", lines.into(), dry_run).await
    }

    async fn write_lines(&self, path: &str, lines: String, dry_run: bool) -> Result<Vec<BatchResult>> {
        let dry_run = if dry_run { "true" } else { "false" };
        let request = self.request(Method::POST, path, &[("dry_run", dry_run)]);
        let request = request.header("content-type", "application/x-ndjson").body(lines);
        let answer = text(self.send(request).await?).await?;
        answer.lines().filter(|line| !line.is_empty()).map(|line| read(line, "a list of results")).collect()
    }

    /// Returns Things with capabilities that accept the outputs of a Thing, or produce its inputs. `parameters` are
    /// those of `GET /things/{id}/compatible`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn neighbors(&self, id: &str, parameters: &[(&str, &str)]) -> Result<Neighbors> {
        let request = self.request(Method::GET, &format!("{}/compatible", thing_path(id)), parameters);
        read(&text(self.send(request).await?).await?, "compatible Things")
    }

    /// Sends a message to an agent through a registry with `--conversations`, and returns the answer. To continue the
    /// conversation, include the answer's `conversation` in the next message.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn ask_agent(&self, id: &str, turn: &Turn) -> Result<Answered> {
        let request = self.request(Method::POST, &format!("{}/conversation", thing_path(id)), &[]).json(turn);
        read(&text(self.send(request).await?).await?, "an agent's answer")
    }

    /// Like [`RegistryClient::ask_agent`], but streams the answer. The last event is [`TurnEvent::Done`] or
    /// [`TurnEvent::Question`] with the complete answer, or else an error. Dropping the stream cancels the call.
    ///
    /// # Errors
    /// Same as [`RegistryClient::ask_agent`].
    pub async fn ask_agent_streaming(&self, id: &str, turn: &Turn) -> Result<TurnEvents> {
        let request = self.request(Method::POST, &format!("{}/conversation", thing_path(id)), &[]).json(turn);
        let pieces = self.pieces(request.header("accept", "text/event-stream")).await?;
        let open = Some((pieces, Parser::default(), self.url().to_owned()));
        Ok(Box::pin(stream::try_unfold(open, async |open| {
            let Some((mut pieces, mut parser, url)) = open else { return Ok(None) };
            loop {
                if let Some(block) = parser.next_block() {
                    return match read_event(&block)? {
                        TurnEvent::Error(problem) => Err(Error::Refused(Box::new(problem))),
                        event @ (TurnEvent::Done(_) | TurnEvent::Question(_)) => Ok(Some((event, None))),
                        event => Ok(Some((event, Some((pieces, parser, url))))),
                    };
                }
                match pieces.try_next().await? {
                    Some(piece) => parser.push(&piece),
                    None => {
                        let reason = "the connection was closed before the answer was complete".to_owned();
                        return Err(Error::Unreachable { url, source: reason.clone().into(), reason });
                    }
                }
            }
        })))
    }

    /// Reads a property of an agent through a registry with `--conversations`. `variables` are the URI variables of
    /// the property.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn read_property(&self, id: &str, name: &str, variables: &Map<String, Value>) -> Result<PropertyValue> {
        let path = affordance_path(id, "properties", name, "value");
        let request = self.request(Method::GET, &path, &[("variables", &variables_of(variables))]);
        read(&text(self.send(request).await?).await?, "the value of a property")
    }

    /// Writes a property of an agent through a registry with `--conversations`. `variables` are the URI variables of
    /// the property.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`].
    pub async fn write_property(
        &self,
        id: &str,
        name: &str,
        value: impl Into<Value>,
        variables: &Map<String, Value>,
    ) -> Result<()> {
        let path = affordance_path(id, "properties", name, "value");
        let request = self.request(Method::PUT, &path, &[("variables", &variables_of(variables))]);
        self.send(request.json(&NewPropertyValue { value: value.into() })).await.map(drop)
    }

    /// Subscribes to an event of an agent through a registry with `--conversations`. `input` is the input of the
    /// subscription, if the event declares a schema for it. The data of each event is an
    /// [`AgentEvent`](agentdex_api::AgentEvent). An event of the kind `error` contains the failure that ended the
    /// registry's subscription to the agent. Events during a reconnection are missed.
    pub fn subscribe_to_agent(&self, id: &str, name: &str, input: Option<&Value>) -> Events {
        let path = affordance_path(id, "events", name, "notifications");
        let input = input.map(Value::to_string);
        let parameters: Vec<_> = input.iter().map(|input| ("input", input.as_str())).collect();
        Events::at(self.clone(), path, &parameters, None)
    }

    /// Returns instructions for a model to answer in SACP, in the form that the action declares.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`].
    pub async fn sacp_instructions(&self, id: &str, action: &str) -> Result<String> {
        text(self.send(self.request(Method::GET, &sacp_path(id, action), &[])).await?).await
    }

    /// Parses an answer of an agent as an SACP response. Also returns the violations of the schema that the action
    /// declares for its responses.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn check_sacp(&self, id: &str, action: &str, answer: impl Into<String>) -> Result<SacpReading> {
        let request = self.request(Method::POST, &sacp_path(id, action), &[]).header("content-type", "text/plain");
        read(&text(self.send(request.body(answer.into())).await?).await?, "the result of an SACP check")
    }
}

fn read_event(block: &Block) -> Result<TurnEvent> {
    TurnEvent::parse(&block.kind, &block.data).map_err(|error| Error::UnexpectedAnswer {
        expected: "an event of a streamed answer",
        reason: error.to_string(),
    })
}

fn sacp_path(id: &str, action: &str) -> String {
    affordance_path(id, "actions", action, "sacp")
}

fn affordance_path(id: &str, list: &str, name: &str, end: &str) -> String {
    let name = percent_encoding::utf8_percent_encode(name, super::PATH_SEGMENT);
    format!("{}/{list}/{name}/{end}", thing_path(id))
}

fn variables_of(variables: &Map<String, Value>) -> String {
    // Its members have a JSON form.
    serde_json::to_string(variables).unwrap_or_default()
}
