//! Holds every backend to the contract. A case is written once; one that is not listed here is dead code.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod processes;
mod suite;
mod support;

macro_rules! conformance {
    ($($suite:ident: $($case:ident),* $(,)?;)*) => {
        conformance!(@stamp memory, memory_store, $($suite: $($case),*;)*);
        conformance!(@stamp files, files_store, $($suite: $($case),*;)*);
        conformance!(@stamp sqlite, sqlite_store, $($suite: $($case),*;)*);
        conformance!(@stamp postgres, postgres_store, $($suite: $($case),*;)*);
    };
    (@stamp $backend:ident, $open:ident, $($suite:ident: $($case:ident),*;)*) => {
        mod $backend {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$suite::$case(troop_testkit::$open().await).await;
                }
            )*)*
        }
    };
}

conformance! {
    suite:
        a_new_team_is_listed_and_begins_its_log,
        creating_twice_is_harmless,
        a_name_in_use_is_taken,
        a_retired_team_frees_its_name_and_stays_readable,
        a_purged_team_is_gone,
        what_is_appended_can_be_read_from_anywhere,
        bodies_come_back_byte_for_byte,
        a_body_that_is_no_line_of_json_is_refused,
        a_repeated_operation_has_one_effect,
        who_is_behind_gets_what_it_missed_and_the_turn,
        a_dropped_turn_lets_the_next_one_in,
        an_append_beyond_the_end_is_corruption,
        an_unknown_team_is_not_found,
        of_many_appends_each_is_in_once,
        two_openers_see_the_same,
        a_watch_sees_every_growth,
        a_snapshot_is_kept_until_a_newer_one,
        archived_tasks_are_read_listed_and_erased;
}
