//! The dice over MCP.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};

use super::activity::Demo;
use crate::http::{body, context::Context, mcp, problem::Problem};

/// All methods of `/demo/agents/dice`.
pub(in crate::http) async fn call(
    context: Data<Context>,
    demo: Data<Demo>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let body = body::read(&request, payload, context.options.body_limit).await?;
    mcp::respond(mcp::ask(demo.dice(), &request, body).await?, None).await
}
