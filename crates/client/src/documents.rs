//! Documents that the registry reads: checked, converted, written many at once.

use reqwest::Method;

use agentdex_api::{Answered, Converted, Neighbors, SacpReading, Turn, ValidationReport};

use agentdex_td::Json;

use super::{BatchResult, Pieces, RegistryClient, Result, read, text, thing_path};

impl RegistryClient {
    /// Validates a Thing Description: the report of `POST /validate`.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn validate(&self, document: impl Into<Json>) -> Result<ValidationReport> {
        let request = self.request(Method::POST, "validate", &[]).header("content-type", "application/td+json");
        read(&text(self.send(request.body(document.into().into_bytes())).await?).await?, "a report")
    }

    /// Detects the format of a document, and converts it to the Thing Descriptions that it would be imported as.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn convert(&self, document: impl Into<Vec<u8>>, media_type: &str) -> Result<Converted> {
        let request = self.request(Method::POST, "convert", &[]).header("content-type", media_type);
        read(&text(self.send(request.body(document.into())).await?).await?, "converted descriptions")
    }

    /// Writes many Things at once, one Thing Description a line, and returns what became of each line. A `dry_run`
    /// says what would become of them.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn write_batch(&self, lines: impl Into<String>, dry_run: bool) -> Result<Vec<BatchResult>> {
        self.write_lines("things/batch", lines.into(), dry_run).await
    }

    /// The Things with all that is stored of each, one a line, piece by piece: those whose ids come after `after`. For
    /// admins.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn records(&self, after: Option<&str>) -> Result<Pieces> {
        let parameters: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        self.pieces(self.request(Method::GET, "records", &parameters)).await
    }

    /// Writes Things with all that was stored of each elsewhere: lines of [`RegistryClient::records`]. For admins.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn write_records(&self, lines: impl Into<String>, dry_run: bool) -> Result<Vec<BatchResult>> {
        self.write_lines("records", lines.into(), dry_run).await
    }

    async fn write_lines(&self, path: &str, lines: String, dry_run: bool) -> Result<Vec<BatchResult>> {
        let dry_run = if dry_run { "true" } else { "false" };
        let request = self.request(Method::POST, path, &[("dry_run", dry_run)]);
        let request = request.header("content-type", "application/x-ndjson").body(lines);
        let answer = text(self.send(request).await?).await?;
        answer.lines().filter(|line| !line.is_empty()).map(|line| read(line, "the result of a line")).collect()
    }

    /// The Things whose capabilities take what this one gives, and give what it takes: the answer of
    /// `GET /things/{id}/compatible`, with its parameters.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn neighbors(&self, id: &str, parameters: &[(&str, &str)]) -> Result<Neighbors> {
        let request = self.request(Method::GET, &format!("{}/compatible", thing_path(id)), parameters);
        read(&text(self.send(request).await?).await?, "compatible Things")
    }

    /// Sends a message to an agent through the registry, where that offers it (`--conversations`), and returns the answer,
    /// whose `conversation` goes along with the next message.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn ask_agent(&self, id: &str, turn: &Turn) -> Result<Answered> {
        let request = self.request(Method::POST, &format!("{}/conversation", thing_path(id)), &[]).json(turn);
        read(&text(self.send(request).await?).await?, "the answer of an agent")
    }

    /// The instructions that make an agent answer in SACP as one of its actions declares it.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn sacp_instructions(&self, id: &str, action: &str) -> Result<String> {
        text(self.send(self.request(Method::GET, &sacp_path(id, action), &[])).await?).await
    }

    /// An answer of an agent, read as a response of SACP, with what is wrong with it by what its action declares.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn check_sacp(&self, id: &str, action: &str, answer: impl Into<String>) -> Result<SacpReading> {
        let request = self.request(Method::POST, &sacp_path(id, action), &[]).header("content-type", "text/plain");
        read(&text(self.send(request.body(answer.into())).await?).await?, "a reading of an answer")
    }
}

fn sacp_path(id: &str, action: &str) -> String {
    let action = percent_encoding::utf8_percent_encode(action, super::PATH_SEGMENT);
    format!("{}/actions/{action}/sacp", thing_path(id))
}
