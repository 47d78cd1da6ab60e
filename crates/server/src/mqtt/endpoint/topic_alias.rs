//! The Topic Alias Maximum in CONNECT (5.0, section 3.1.2.11.5).
//!
//! A client that takes no aliases leaves it out or says 0. The engine panics at a 0 (seen in mqtt-protocol-core 0.7.9), so
//! that it is given a 1 instead. No message is sent with an alias: to the client this makes no difference.

/// Makes the maximum of a whole CONNECT 1 where it is 0.
pub(super) fn raise_zero(connect: &mut [u8]) {
    if let Some(value) = zero_in(connect).and_then(|at| connect.get_mut(at + 1)) {
        *value = 1;
    }
}

/// Returns the offset of a Topic Alias Maximum of 0; none if there is none, or if the packet is malformed.
fn zero_in(connect: &[u8]) -> Option<usize> {
    let mut reader = Reader { packet: connect, at: 1 };
    reader.variable_integer()?;
    let name = reader.integer()?;
    reader.skip(name)?;
    let version = reader.byte()?;
    // Flags and keep-alive.
    reader.skip(3)?;
    let length = reader.variable_integer()?;
    let end = reader.at + length;
    while version == 5 && reader.at < end {
        match reader.byte()? {
            0x22 => {
                let at = reader.at;
                return (reader.integer()? == 0).then_some(at);
            }
            0x17 | 0x19 => reader.skip(1)?,
            0x21 => reader.skip(2)?,
            0x11 | 0x27 => reader.skip(4)?,
            0x15 | 0x16 => reader.skip_string()?,
            0x26 => {
                reader.skip_string()?;
                reader.skip_string()?;
            }
            _ => return None,
        }
    }
    None
}

struct Reader<'p> {
    packet: &'p [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.packet.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn integer(&mut self) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes([self.byte()?, self.byte()?])))
    }

    fn variable_integer(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.at += count;
        (self.at <= self.packet.len()).then_some(())
    }

    fn skip_string(&mut self) -> Option<()> {
        let length = self.integer()?;
        self.skip(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raised(connect: &[u8]) -> Vec<u8> {
        let mut raised = connect.to_vec();
        raise_zero(&mut raised);
        raised
    }

    #[test]
    fn a_maximum_of_zero_is_raised_wherever_it_is() {
        let before = b"\x11\0\0\0\x05\x21\0\x0a\x26\0\x01\x22\0\x02\x22\0\x15\0\x01m\x27\0\0\0\xff\x17\x01";
        for properties in [&b"\x22\0\0"[..], &[&before[..], b"\x22\0\0\x19\0"].concat()] {
            let head = [b"\x10\x00\0\x04MQTT\x05\x02\0\x3c", &[properties.len() as u8][..]].concat();
            let connect = [&head[..], properties, b"\0\x01a"].concat();
            let raised = raised(&connect);
            let changed: Vec<usize> = (0..connect.len()).filter(|&at| raised[at] != connect[at]).collect();
            let at = head.len() + properties.windows(3).rposition(|part| part == b"\x22\0\0").unwrap() + 2;
            assert_eq!((changed, raised[at]), (vec![at], 1));
        }
    }

    #[test]
    fn everything_else_stays() {
        for connect in [
            // Another maximum, none, version 3.1.1, a user property that is cut off, an unknown property.
            &b"\x10\x10\0\x04MQTT\x05\x02\0\x3c\x03\x22\0\x01\0\0"[..],
            b"\x10\x0d\0\x04MQTT\x05\x02\0\x3c\0\0\0",
            b"\x10\x0f\0\x04MQTT\x04\x02\0\x3c\x03\x22\0\0",
            b"\x10\x12\0\x04MQTT\x05\x02\0\x3c\x06\x26\xff\xff\x22\0\0",
            b"\x10\x10\0\x04MQTT\x05\x02\0\x3c\x04\x7f\x22\0\0",
            b"\x10\xff\xff\xff\xff",
            b"",
        ] {
            assert_eq!(raised(connect), connect);
        }
    }
}
