//! Messages of the service `Maintenance`.

use prost::Message;

use super::header::ResponseHeader;

/// Requests the status of a member (`StatusRequest`).
#[derive(Clone, Copy, PartialEq, Message)]
pub struct StatusRequest {}

/// Status of a member (`StatusResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct StatusResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Version of etcd, such as `3.5.21`.
    #[prost(string, tag = "2")]
    pub version: String,
    /// Size of the database file, in bytes.
    #[prost(int64, tag = "3")]
    pub db_size: i64,
    /// Id of the leader of the cluster, or 0 without a leader.
    #[prost(uint64, tag = "4")]
    pub leader: u64,
    /// Alarms and other problems of the member (since etcd 3.4).
    #[prost(string, repeated, tag = "8")]
    pub errors: Vec<String>,
    /// Bytes of the database file that are in use (since etcd 3.4).
    #[prost(int64, tag = "9")]
    pub db_size_in_use: i64,
}

/// Lists alarms (`AlarmRequest` with action `GET` and alarm `NONE`, which are 0).
#[derive(Clone, Copy, PartialEq, Message)]
pub struct AlarmRequest {}

/// Kind of an alarm (`AlarmType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum AlarmKind {
    /// No alarm.
    None = 0,
    /// The space quota is exhausted: writes are refused until the alarm is disarmed.
    NoSpace = 1,
    /// The data of a member is corrupt.
    Corrupt = 2,
}

/// An active alarm (`AlarmMember`).
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Alarm {
    /// Id of the member that raised the alarm.
    #[prost(uint64, tag = "1")]
    pub member_id: u64,
    /// Kind, as a number of [`AlarmKind`].
    #[prost(enumeration = "AlarmKind", tag = "2")]
    pub alarm: i32,
}

/// Active alarms (`AlarmResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct AlarmResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Alarms.
    #[prost(message, repeated, tag = "2")]
    pub alarms: Vec<Alarm>,
}
