//! Compression for those who ask for it, at no cost to the others.

use std::rc::Rc;

use actix_web::{
    Error,
    body::MessageBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
    http::header::ACCEPT_ENCODING,
    middleware::Compress,
};
use futures_util::{
    TryFutureExt,
    future::{Either, LocalBoxFuture, MapOk},
};

/// Compresses answers by what the client accepts. Requests that say nothing of it pass by actix's
/// middleware, which looks at the media type of every answer.
pub(super) struct CompressIfAsked {
    /// Whether it is done for anybody.
    pub(super) is_offered: bool,
}

type Compressing<S> = <Compress as Transform<Rc<S>, ServiceRequest>>::Transform;

impl<S, B> Transform<S, ServiceRequest> for CompressIfAsked
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse;
    type Error = Error;
    type Transform = CompressedIfAsked<S, Compressing<S>>;
    type InitError = ();
    type Future = LocalBoxFuture<'static, Result<Self::Transform, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        let (plain, is_offered) = (Rc::new(service), self.is_offered);
        let compressing = Compress::default().new_transform(plain.clone());
        Box::pin(compressing.map_ok(move |compressing| CompressedIfAsked { plain, compressing, is_offered }))
    }
}

/// A resource whose answers are compressed for those who ask for it.
pub(super) struct CompressedIfAsked<S, C> {
    plain: Rc<S>,
    compressing: C,
    is_offered: bool,
}

/// A call whose answer's body is boxed, which costs nothing where it is already.
type Boxed<F, B> = MapOk<F, fn(ServiceResponse<B>) -> ServiceResponse>;

impl<S, B, C, D> Service<ServiceRequest> for CompressedIfAsked<S, C>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody + 'static,
    C: Service<ServiceRequest, Response = ServiceResponse<D>, Error = Error>,
    D: MessageBody + 'static,
{
    type Response = ServiceResponse;
    type Error = Error;
    type Future = Either<Boxed<S::Future, B>, Boxed<C::Future, D>>;

    forward_ready!(plain);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        if self.is_offered && request.headers().contains_key(ACCEPT_ENCODING) {
            Either::Right(self.compressing.call(request).map_ok(ServiceResponse::map_into_boxed_body))
        } else {
            Either::Left(self.plain.call(request).map_ok(ServiceResponse::map_into_boxed_body))
        }
    }
}
