//! A memory limit for documents waiting to be indexed.
//!
//! Tantivy limits its queue only by the number of documents, and ten thousand documents may need a lot of memory.
//! Here a writer waits until earlier documents have left the queue.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use tantivy::{Document, TantivyDocument, schema::Field};

/// Maximum size of the documents that wait, in bytes. A larger document waits alone.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Maximum wait for the queue. If a thread has died with documents in the queue, the wait must end; the next call
/// reports the error.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Queue of documents that wait to be indexed.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    bytes: Mutex<usize>,
    left: Condvar,
}

impl Queue {
    /// Admits a document of about `bytes` bytes as soon as there is space.
    pub fn admit(&self, document: TantivyDocument, bytes: usize) -> Queued {
        let waiting = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |waiting: &mut usize| *waiting > 0 && *waiting + bytes > MOST_BYTES;
        let (mut waiting, _) =
            self.0.left.wait_timeout_while(waiting, LONGEST_WAIT, is_full).unwrap_or_else(PoisonError::into_inner);
        *waiting += bytes;
        Queued(Box::new((document, Place { queue: self.clone(), bytes })))
    }
}

/// A document in the queue; it leaves when it is taken or dropped. In a box, since tantivy allocates ten thousand places
/// of four documents each at the start and with every commit.
pub(super) struct Queued(Box<(TantivyDocument, Place)>);

struct Place {
    queue: Queue,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.queue.0.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.queue.0.left.notify_one();
    }
}

impl Document for Queued {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.0.0.iter_fields_and_values()
    }

    fn get_sorted_field_values(&self) -> Vec<(Field, Vec<Self::Value<'_>>)> {
        self.0.0.get_sorted_field_values()
    }

    fn into_tantivy_document(self) -> TantivyDocument {
        self.0.0
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;

    #[test]
    fn a_full_queue_waits_for_a_document_to_leave() {
        let queue = Queue::default();
        let first = queue.admit(TantivyDocument::default(), 2 * MOST_BYTES);
        let (sender, receiver) = mpsc::channel();
        let waiting = queue.clone();
        let adder = thread::spawn(move || {
            let second = waiting.admit(TantivyDocument::default(), 1);
            sender.send(()).map(|()| second)
        });
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "admitted to a full queue");
        drop(first);
        assert!(receiver.recv_timeout(Duration::from_secs(4)).is_ok());
        assert!(adder.join().is_ok());
        assert_eq!(queue.0.bytes.lock().map_or(1, |bytes| *bytes), 0);
    }
}
