//! Holds every backend to the contract. A case is written once; one that is not listed here is dead code.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod crash;
mod damage_files;
mod damage_postgres;
mod damage_sqlite;
mod disk;
mod failover;
mod faults;
mod processes;
mod property;
mod suite;
mod support;
mod urls;

/// Stamps the cases of a module for each backend.
macro_rules! conformance {
    ($tests:ident: $($backend:ident = $open:ident),+; $module:ident $cases:tt) => {
        mod $tests {
            $(conformance!(@stamp $backend $open $module $cases);)+
        }
    };
    (@stamp $backend:ident $open:ident $module:ident { $($case:ident),+ $(,)? }) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$module::$case(troop_testkit::$open().await).await;
                }
            )+
        }
    };
}

conformance! {
    contract: memory = memory_store, files = files_store, sqlite = sqlite_store, postgres = postgres_store, bouncer = bouncer_store;
    suite {
        a_new_team_is_listed_and_begins_its_log,
        creating_twice_is_harmless,
        a_long_beginning_is_read_page_by_page,
        a_name_in_use_is_taken,
        a_retired_team_frees_its_name_and_stays_readable,
        a_purged_team_is_gone,
        a_log_can_be_read_from_any_version,
        bodies_come_back_byte_for_byte,
        a_body_that_is_not_a_line_of_json_is_refused,
        a_repeated_operation_has_one_effect,
        a_writer_that_is_behind_gets_what_it_missed_and_the_slot,
        a_dropped_slot_lets_the_next_writer_in,
        a_slot_held_for_too_long_is_taken_back,
        an_append_beyond_the_end_is_corruption,
        an_unknown_team_is_not_found,
        each_of_many_appends_is_in_the_log_once,
        two_openers_see_the_same,
        a_watch_sees_every_growth,
        a_bell_ends_a_wait_before_the_patience_does,
        a_watch_is_quiet_while_nothing_grows,
        a_snapshot_is_kept_until_a_newer_one,
        archived_tasks_are_read_listed_and_erased,
    }
}

// With other backends, only reading shows growth.
conformance! {
    glances: files = files_store, sqlite = sqlite_store;
    suite {
        a_glance_changes_with_every_growth_and_nothing_else,
    }
}

conformance! {
    lost_answers: memory = memory_store, files = files_store, sqlite = sqlite_store, postgres = postgres_store, bouncer = bouncer_store;
    faults {
        a_lost_answer_is_repeated_without_a_second_effect,
        a_call_that_was_not_done_is_repeated,
    }
}

conformance! {
    many_processes: files = files_store, sqlite = sqlite_store, postgres = postgres_store, bouncer = bouncer_store;
    processes {
        each_append_of_many_processes_is_in_the_log_once,
        a_watch_sees_another_process,
    }
}

conformance! {
    killed: files = files_store, sqlite = sqlite_store, postgres = postgres_store, bouncer = bouncer_store;
    crash {
        appends_that_a_killed_writer_acknowledged_survive,
        a_killed_holder_of_a_slot_lets_others_in,
    }
}

// A file lock lasts as long as its process does; a server can end it.
conformance! {
    stopped: postgres = postgres_store, bouncer = bouncer_store;
    crash {
        a_stopped_holder_of_a_slot_lets_others_in,
    }
}

conformance! {
    random: files = files_store, sqlite = sqlite_store, postgres = postgres_store, bouncer = bouncer_store;
    property {
        any_operations_have_the_same_effect_as_in_memory,
    }
}
