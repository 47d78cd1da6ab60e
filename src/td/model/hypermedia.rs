//! Links and forms (TD 1.1, section 5.3.4).

use super::OneOrMany;

names! {
    /// What a form is for.
    pub enum Operation {
        /// Read a property.
        ReadProperty = "readproperty",
        /// Write a property.
        WriteProperty = "writeproperty",
        /// Subscribe to a property's changes.
        ObserveProperty = "observeproperty",
        /// Unsubscribe from them.
        UnobserveProperty = "unobserveproperty",
        /// Invoke an action.
        InvokeAction = "invokeaction",
        /// Ask how an action goes.
        QueryAction = "queryaction",
        /// Cancel an action.
        CancelAction = "cancelaction",
        /// Subscribe to an event.
        SubscribeEvent = "subscribeevent",
        /// Unsubscribe from an event.
        UnsubscribeEvent = "unsubscribeevent",
        /// Read all properties.
        ReadAllProperties = "readallproperties",
        /// Write all properties.
        WriteAllProperties = "writeallproperties",
        /// Read some properties.
        ReadMultipleProperties = "readmultipleproperties",
        /// Write some properties.
        WriteMultipleProperties = "writemultipleproperties",
        /// Subscribe to the changes of all properties.
        ObserveAllProperties = "observeallproperties",
        /// Unsubscribe from them.
        UnobserveAllProperties = "unobserveallproperties",
        /// Ask how all actions go.
        QueryAllActions = "queryallactions",
        /// Subscribe to all events.
        SubscribeAllEvents = "subscribeallevents",
        /// Unsubscribe from all events.
        UnsubscribeAllEvents = "unsubscribeallevents",
    }
}

object! {
    /// How an operation is performed.
    pub struct Form {
        /// What it is for; without it, the defaults of TD 1.1, section 5.4, apply.
        operations: OneOrMany<Operation> = "op",
        /// The target: a URI reference or a URI template.
        href: String = "href",
        /// The media type; `application/json` where it isn't said.
        content_type: Option<String> = "contentType",
        /// The content coding, such as `gzip`.
        content_coding: Option<String> = "contentCoding",
        /// How exactly the protocol is used, such as `sse`.
        subprotocol: Option<String> = "subprotocol",
        /// The names of security definitions, instead of those of the Thing.
        security: OneOrMany<String> = "security",
        /// Authorization scopes.
        scopes: OneOrMany<String> = "scopes",
        /// What is answered, where that differs.
        response: Option<ExpectedResponse> = "response",
        /// What else may be answered.
        additional_responses: Vec<AdditionalExpectedResponse> = "additionalResponses",
    }
}

impl Form {
    /// A form with that target.
    pub fn new(href: impl Into<String>) -> Form {
        Form { href: href.into(), ..Form::default() }
    }
}

object! {
    /// What is answered.
    pub struct ExpectedResponse {
        /// The media type.
        content_type: String = "contentType",
    }
}

object! {
    /// What else may be answered, such as an error.
    pub struct AdditionalExpectedResponse {
        /// Whether it is a success.
        success: Option<bool> = "success",
        /// The media type.
        content_type: Option<String> = "contentType",
        /// The name of a schema definition.
        schema: Option<String> = "schema",
    }
}

object! {
    /// A link to another resource.
    pub struct Link {
        /// The relation, such as `service-doc`.
        relation: Option<String> = "rel",
        /// The target.
        href: String = "href",
        /// The media type of the target.
        media_type: Option<String> = "type",
        /// What the link is about, if not the Thing.
        anchor: Option<String> = "anchor",
        /// The sizes of an icon, such as `16x16`.
        sizes: Option<String> = "sizes",
        /// The languages of the target.
        languages: OneOrMany<String> = "hreflang",
    }
}

impl Link {
    /// A link with that relation and target.
    pub fn new(relation: impl Into<String>, href: impl Into<String>) -> Link {
        Link { relation: Some(relation.into()), href: href.into(), ..Link::default() }
    }
}
