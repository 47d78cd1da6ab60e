//! Packet boundaries, and the bits that the specifications reserve.
//!
//! The engine reads packets, but neither the flags of their fixed headers (MQTT 5.0, section 2.1.3) nor the
//! flags of CONNECT that must not be set (section 3.1.2.3).

/// Offset of the version in the body of `CONNECT`, after the protocol name `MQTT`; the flags follow.
const CONNECT_VERSION: usize = 6;
const CONNECT_FLAGS: usize = 7;

/// A packet that breaks the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    /// True if it is a CONNECT of version 5, which is answered.
    pub is_connect_v5: bool,
}

/// Follows the packets in a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Framing {
    state: State,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Start,
    Length {
        first: u8,
        length: usize,
        shift: u32,
    },
    Body {
        first: u8,
        read: usize,
        left: usize,
        version: u8,
    },
}

impl Framing {
    /// True if the next byte begins a packet.
    pub fn is_at_start(&self) -> bool {
        matches!(self.state, State::Start)
    }

    /// Advances over `input` and returns the number of its bytes that belong to the packet that is being read; it ends
    /// there, or with `input`.
    pub fn advance(&mut self, input: &[u8]) -> Result<usize, Malformed> {
        let mut rest = input;
        while let Some((&byte, after)) = rest.split_first() {
            match &mut self.state {
                State::Start => {
                    check_fixed_header(byte)?;
                    self.state = State::Length { first: byte, length: 0, shift: 0 };
                }
                State::Length { first, length, shift } => {
                    *length |= usize::from(byte & 0x7f) << *shift;
                    *shift += 7;
                    let (first, left, is_over) = (*first, *length, byte & 0x80 == 0);
                    if !is_over && *shift > 21 {
                        return Err(Malformed { is_connect_v5: false });
                    } else if is_over && left == 0 {
                        self.state = State::Start;
                        return Ok(input.len() - after.len());
                    } else if is_over {
                        self.state = State::Body { first, read: 0, left, version: 0 };
                    }
                }
                State::Body { first, read, left, version } => {
                    let count = rest.len().min(*left);
                    if *first >> 4 == 1 {
                        check_connect(rest, *read, version)?;
                    }
                    *read += count;
                    *left -= count;
                    if *left == 0 {
                        self.state = State::Start;
                    }
                    return Ok(input.len() - rest.len() + count);
                }
            }
            rest = after;
        }
        Ok(input.len())
    }
}

/// 5.0, table 2-2; the types that no client sends are the engine's to refuse.
fn check_fixed_header(byte: u8) -> Result<(), Malformed> {
    let is_valid = match (byte >> 4, byte & 15) {
        // QoS 3
        (3, flags) => flags & 0b0110 != 0b0110,
        (6 | 8 | 10, flags) => flags == 0b0010,
        (_, flags) => flags == 0,
    };
    if is_valid { Ok(()) } else { Err(Malformed { is_connect_v5: false }) }
}

/// Checks the version and the flags if they are in this part of CONNECT, which starts at `read`.
fn check_connect(part: &[u8], read: usize, version: &mut u8) -> Result<(), Malformed> {
    let at = |index: usize| index.checked_sub(read).and_then(|index| part.get(index)).copied();
    *version = at(CONNECT_VERSION).unwrap_or(*version);
    let Some(flags) = at(CONNECT_FLAGS) else { return Ok(()) };
    let (has_will, will_options) = (flags & 0b0100 != 0, flags & 0b0011_1000);
    let is_valid = flags & 1 == 0 && (has_will || will_options == 0) && will_options & 0b0001_1000 != 0b0001_1000;
    // Another version has other flags.
    if is_valid || !matches!(version, 4 | 5) { Ok(()) } else { Err(Malformed { is_connect_v5: *version == 5 }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECT: &[u8] = b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00";

    #[test]
    fn packets_end_where_their_length_says_however_they_are_cut() {
        let stream = [CONNECT, b"\xc0\x00", b"\x82\x06\x00\x01\x00\x01#\x00"].concat();
        for size in 1..=stream.len() {
            let (mut framing, mut ends, mut at) = (Framing::default(), Vec::new(), 0);
            for part in stream.chunks(size) {
                let mut rest = part;
                while !rest.is_empty() {
                    let count = framing.advance(rest).unwrap();
                    rest = &rest[count..];
                    at += count;
                    if matches!(framing.state, State::Start) {
                        ends.push(at);
                    }
                }
            }
            assert_eq!(ends, [15, 17, 25], "in parts of {size}");
        }
    }

    #[test]
    fn flags_that_are_reserved_are_found_however_they_are_cut() {
        let mut connect = CONNECT.to_vec();
        connect[9] = 3;
        for size in 1..=connect.len() {
            let mut framing = Framing::default();
            let refused = connect.chunks(size).any(|part| framing.advance(part).is_err());
            assert!(refused, "in parts of {size}");
        }
        for first in [0x11, 0x36, 0x60, 0x80, 0x8f, 0xa0, 0xc1, 0xe2] {
            assert!(Framing::default().advance(&[first, 0]).is_err(), "{first:#x}");
        }
    }
}
