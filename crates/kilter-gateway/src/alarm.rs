//! One timer for all the waits of a stream: its entry moves only when it must ring earlier.
//!
//! A `tokio::time::timeout` around every read takes an entry out of the timer wheel and puts a new one in for every
//! event. Reads that come in time only make the deadline later, so the entry may stay where it is: when it rings too
//! early, it is set to the deadline that holds by then.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Further away than any wait, and still a point in time.
const FAR: Duration = Duration::from_secs(86_400 * 365);

/// A timer that waits with one thing after the other.
#[derive(Debug, Default)]
pub struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// What `work` gives, or `None` when it takes longer than `wait`. Work that is done already never touches the
    /// timer.
    pub async fn within<F: Future>(&mut self, wait: Duration, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        let mut deadline = None;
        poll_fn(|cx| {
            if let Poll::Ready(v) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(v));
            }
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + wait.min(FAR));
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if sleep.deadline() > deadline {
                sleep.as_mut().reset(deadline);
            }
            loop {
                ready!(sleep.as_mut().poll(cx));
                if sleep.deadline() >= deadline {
                    return Poll::Ready(None);
                }
                sleep.as_mut().reset(deadline);
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test]
    async fn it_rings_at_the_deadline_of_the_wait_at_hand() {
        let mut alarm = Alarm::default();
        let start = Instant::now();
        let ms = Duration::from_millis;
        assert_eq!(alarm.within(ms(20), async { 7 }).await, Some(7));
        assert!(alarm.sleep.is_none(), "work that is done needs no timer");
        // A far wait that ends early leaves its entry behind; a near one must not wait for it.
        let soon = tokio::time::sleep(ms(5));
        assert!(alarm.within(ms(60_000), soon).await.is_some());
        assert_eq!(alarm.within(ms(20), pending::<()>()).await, None);
        assert!(start.elapsed() < ms(30_000));
        // An entry of the past must not end a later wait.
        let soon = tokio::time::sleep(ms(30));
        assert!(alarm.within(ms(60_000), soon).await.is_some());
        let before = Instant::now();
        assert_eq!(alarm.within(ms(40), pending::<()>()).await, None);
        assert!(before.elapsed() >= ms(40));
    }
}
