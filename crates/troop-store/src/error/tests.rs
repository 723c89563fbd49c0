//! Which failures are worth another try.

use crate::failure::{repeat, slot_taken_back, unknown_team, waited_too_long};

#[test]
fn who_waited_with_all_its_patience_does_not_wait_again() {
    let team = troop_model::TeamId(uuid::Uuid::nil());
    for (error, is_worth_repeating) in
        [(waited_too_long(), false), (slot_taken_back(), true), (unknown_team(team), false)]
    {
        assert_eq!(error.is_worth_repeating(), is_worth_repeating, "{error}");
        // Everyone whose change went down with it learns the same.
        assert_eq!(repeat(&error).is_worth_repeating(), is_worth_repeating, "{error}");
    }
}
