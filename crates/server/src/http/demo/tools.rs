//! The dice over MCP: requests of actix to the server of the protocol, and its answers back.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{CONTENT_ENCODING, CONTENT_LENGTH},
    },
    web::{self, Data},
};

use super::activity::Demo;
use crate::{
    http::{body, context::Context, problem::Problem},
    mcp,
};

/// All methods of `/demo/agents/dice`.
pub(in crate::http) async fn call(
    context: Data<Context>,
    demo: Data<Demo>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let body = body::read(&request, payload, context.options.body_limit).await?;
    // The body is decoded.
    let headers = request.headers().iter().filter(|(name, _)| ![CONTENT_ENCODING, CONTENT_LENGTH].contains(name));
    let asked = mcp::Request {
        method: request.method().to_string(),
        uri: request.uri().to_string(),
        headers: headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
        body: body.into(),
    };
    let answer = demo.dice().answer(asked).await;
    let answer = answer.ok_or_else(|| Problem::of_status(StatusCode::BAD_REQUEST))?;
    let mut response = HttpResponse::build(StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY));
    for (name, value) in answer.headers.iter().filter(|(name, _)| name != CONTENT_LENGTH.as_str()) {
        response.append_header((name.as_str(), value.as_slice()));
    }
    Ok(response.streaming(answer.body))
}
