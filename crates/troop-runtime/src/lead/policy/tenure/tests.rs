//! Tests of how long a lead may lead.

use std::time::Duration;

use tokio::time::Instant;

use super::{Tenure, TenureVerdict};

/// What happens to a lead, and after how many seconds.
#[derive(Clone, Copy)]
enum Step {
    Asks(u64),
    Hears,
    /// A look comes so many seconds after the start.
    Looks(u64),
}

use Step::{Asks, Hears, Looks};

/// The results of all looks: the seconds until the next one, or `None` if the lead is over.
fn looks(steps: &[Step]) -> Vec<Option<u64>> {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut tenure = Tenure::new(Duration::from_secs(60), start);
    assert_eq!(tenure.first_look(start), Duration::from_secs(55));
    let mut results = Vec::new();
    for step in steps {
        match step {
            Asks(seconds) => tenure.ask(at(*seconds)),
            Hears => tenure.renew(),
            Looks(seconds) => results.push(match tenure.look(at(*seconds)) {
                TenureVerdict::Holds(time) => Some(time.as_secs()),
                TenureVerdict::Over => None,
            }),
        }
    }
    results
}

#[test]
fn a_lead_that_hears_nothing_ends_before_its_lease() {
    assert_eq!(looks(&[Looks(55)]), [None]);
    assert_eq!(looks(&[Asks(20), Asks(40), Looks(55)]), [None]);
}

#[test]
fn a_lead_whose_renewals_come_through_goes_on() {
    let steps = [Asks(20), Hears, Asks(40), Hears, Looks(55), Asks(60), Hears, Looks(95)];
    assert_eq!(looks(&steps), [Some(40), Some(20)]);
}

#[test]
fn a_renewal_counts_from_when_it_was_asked_for() {
    // The answer to the first request may come after the second was asked.
    assert_eq!(looks(&[Asks(20), Asks(40), Hears, Looks(55), Looks(75)]), [Some(20), None]);
    // An answer without a request changes nothing.
    assert_eq!(looks(&[Hears, Looks(55)]), [None]);
}

#[test]
fn a_lead_that_was_asleep_may_hear_first_what_became_of_its_lease() {
    assert_eq!(looks(&[Looks(90), Asks(90), Hears, Looks(95)]), [Some(5), Some(50)]);
    assert_eq!(looks(&[Looks(90), Asks(90), Looks(95)]), [Some(5), None]);
}
