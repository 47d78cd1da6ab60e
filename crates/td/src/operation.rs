//! Operations of forms (TD 1.1, section 5.3.4.2).

/// Operation type of a form, a value of `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read a property.
    ReadProperty,
    /// Write a property.
    WriteProperty,
    /// Subscribe to a property's changes.
    ObserveProperty,
    /// Unsubscribe from a property's changes.
    UnobserveProperty,
    /// Invoke an action.
    InvokeAction,
    /// Query the status of an action.
    QueryAction,
    /// Cancel an action.
    CancelAction,
    /// Subscribe to an event.
    SubscribeEvent,
    /// Unsubscribe from an event.
    UnsubscribeEvent,
    /// Read all properties.
    ReadAllProperties,
    /// Write all properties.
    WriteAllProperties,
    /// Read a selection of properties.
    ReadMultipleProperties,
    /// Write a selection of properties.
    WriteMultipleProperties,
    /// Subscribe to the changes of all properties.
    ObserveAllProperties,
    /// Unsubscribe from the changes of all properties.
    UnobserveAllProperties,
    /// Query the status of all actions.
    QueryAllActions,
    /// Subscribe to all events.
    SubscribeAllEvents,
    /// Unsubscribe from all events.
    UnsubscribeAllEvents,
}

impl Operation {
    /// Returns the name of the operation in a Thing Description, such as `readproperty`.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::ReadProperty => "readproperty",
            Operation::WriteProperty => "writeproperty",
            Operation::ObserveProperty => "observeproperty",
            Operation::UnobserveProperty => "unobserveproperty",
            Operation::InvokeAction => "invokeaction",
            Operation::QueryAction => "queryaction",
            Operation::CancelAction => "cancelaction",
            Operation::SubscribeEvent => "subscribeevent",
            Operation::UnsubscribeEvent => "unsubscribeevent",
            Operation::ReadAllProperties => "readallproperties",
            Operation::WriteAllProperties => "writeallproperties",
            Operation::ReadMultipleProperties => "readmultipleproperties",
            Operation::WriteMultipleProperties => "writemultipleproperties",
            Operation::ObserveAllProperties => "observeallproperties",
            Operation::UnobserveAllProperties => "unobserveallproperties",
            Operation::QueryAllActions => "queryallactions",
            Operation::SubscribeAllEvents => "subscribeallevents",
            Operation::UnsubscribeAllEvents => "unsubscribeallevents",
        }
    }
}
