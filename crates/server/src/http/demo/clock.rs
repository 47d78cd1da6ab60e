//! The world clock: an action `time`, a property `cities` and an event `hour` over plain HTTP.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, StatusCode},
    web::{self, Bytes, Data},
};
use futures_util::{Stream, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::sleep;

use super::{
    activity::{Activity, Demo},
    cities::{CITIES, named_in},
};
use crate::http::{
    compatible::json_body,
    context::Context,
    event_stream::{self, HEARTBEAT, Open},
    listing::Empty,
    parameters::Parameters,
    problem::{Problem, excerpt},
};

/// Maximum length of the input `city`, in characters; the description of the clock names it too.
const MAX_CITY: usize = 100;

/// The input of `time`.
#[derive(Debug, Deserialize)]
struct Asked {
    /// A city, or a sentence that names one.
    city: String,
}

/// `POST /demo/agents/clock/time`
pub(in crate::http) async fn time(
    context: Data<Context>,
    demo: Data<Demo>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let Asked { city } = json_body(&context, &request, payload, &[]).await?;
    if city.chars().nth(MAX_CITY).is_some() {
        let detail = format!("`city` has more than {MAX_CITY} characters; write a city, such as Tokyo");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "invalid-query", detail));
    }
    let Some(found) = named_in(&city) else {
        let detail = format!(
            "{:?} contains no city that this clock knows; the property `cities` lists the known cities",
            excerpt(&city)
        );
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown-city", detail));
    };
    let now = whole_second(OffsetDateTime::now_utc());
    let here = found.time_at(now);
    let minutes = found.until_midnight(now).whole_minutes();
    let answer = json!({
        "city": found.name,
        "time": written(here),
        "offset": here.offset().to_string().chars().take("+00:00".len()).collect::<String>(),
        "untilMidnight": format!("{minutes} minute{}", if minutes == 1 { "" } else { "s" }),
    });
    let (input, output) = (json!({"city": city}), answer.clone());
    demo.report(Activity::Called { agent: "urn:demo:clock", action: "time".to_owned(), input, output });
    Ok(HttpResponse::Ok().json(answer))
}

/// `GET /demo/agents/clock/cities`
pub(in crate::http) async fn cities(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(CITIES.iter().map(|city| city.name).collect::<Vec<_>>()))
}

/// `GET /demo/agents/clock/hour`
pub(in crate::http) async fn hour(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let mut response = event_stream::head();
    if *request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let hours = Hours { open: Open::new(&context, &request)?, reported: whole_hour(OffsetDateTime::now_utc()) };
    Ok(response.streaming(hours.into_stream()))
}

/// A subscription to `hour`.
struct Hours {
    open: Open,
    /// The hour that was reported last, or in which the subscription began.
    reported: OffsetDateTime,
}

impl Hours {
    fn into_stream(self) -> impl Stream<Item = crate::Result<Bytes>> {
        stream::unfold(self, |mut hours| async move {
            let chunk = hours.next().await?;
            Some((Ok(chunk), hours))
        })
    }

    /// The event of the next hour, or a heartbeat; none once the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        let now = OffsetDateTime::now_utc();
        let until_hour = self.reported + Duration::from_secs(60 * 60) - now;
        let until_hour = Duration::try_from(until_hour).unwrap_or_default();
        tokio::select! {
            () = self.open.stopped.wait() => return None,
            () = sleep(until_hour.min(self.open.heartbeat)) => {}
        }
        let hour = whole_hour(OffsetDateTime::now_utc());
        Some(match hour > self.reported {
            true => {
                self.reported = hour;
                format!("event: hour\ndata: {}\n\n", event(hour)).into()
            }
            false => HEARTBEAT,
        })
    }
}

/// The data of the event: the hour, and the cities where a day begins with it.
fn event(hour: OffsetDateTime) -> Value {
    let midnight = CITIES.iter().filter(|city| {
        let here = city.time_at(hour);
        (here.hour(), here.minute()) == (0, 0)
    });
    json!({"time": written(hour), "midnightIn": midnight.map(|city| city.name).collect::<Vec<_>>()})
}

fn written(moment: OffsetDateTime) -> String {
    moment.format(&Rfc3339).unwrap_or_default()
}

fn whole_second(moment: OffsetDateTime) -> OffsetDateTime {
    moment.replace_nanosecond(0).unwrap_or(moment)
}

fn whole_hour(moment: OffsetDateTime) -> OffsetDateTime {
    let moment = whole_second(moment);
    moment.replace_minute(0).and_then(|moment| moment.replace_second(0)).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn event_names_the_cities_where_a_day_begins() {
        let data = event(datetime!(2026-11-24 15:00 UTC));
        assert_eq!(data, json!({"time": "2026-11-24T15:00:00Z", "midnightIn": ["Seoul", "Tokyo"]}));
        assert_eq!(whole_hour(datetime!(2026-11-24 15:59:59.5 UTC)), datetime!(2026-11-24 15:00 UTC));
    }
}
