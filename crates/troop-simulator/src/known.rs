//! Known violations that are not mended yet. Each must be found, which shows that the simulator can see it; the fix
//! removes its line, and from then on a history that breaks the promise is a failure.

use crate::{
    plan::Scenario,
    promise::{BrokenPromise, Promise},
};

/// A known violation.
#[derive(Clone, Copy, Debug)]
pub struct KnownViolation {
    /// Its name in the findings.
    pub name: &'static str,
    pub scenarios: &'static [Scenario],
    pub promises: &'static [Promise],
}

/// None: all that were found are mended.
pub const KNOWN: [KnownViolation; 0] = [];

/// The known violation that this is, if it is one.
#[must_use]
pub fn find(scenario: Scenario, violation: &BrokenPromise) -> Option<&'static KnownViolation> {
    let promise = violation.promise;
    KNOWN.iter().find(|it| it.scenarios.contains(&scenario) && it.promises.contains(&promise))
}
