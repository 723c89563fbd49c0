//! Failures that are worth another try.

use crate::failure::{repeat, slot_taken_back, unknown_team, waited_too_long};

#[test]
fn a_full_wait_in_line_is_not_worth_repeating() {
    let team = troop_model::TeamId(uuid::Uuid::nil());
    for (error, is_worth_repeating) in
        [(waited_too_long(), false), (slot_taken_back(), true), (unknown_team(team), false)]
    {
        assert_eq!(error.is_worth_repeating(), is_worth_repeating, "{error}");
        // A copy for another caller is judged the same.
        assert_eq!(repeat(&error).is_worth_repeating(), is_worth_repeating, "{error}");
    }
}
