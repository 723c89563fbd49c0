//! Holds the board to its promises on every backend. A case is written once; an unlisted case is dead code.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

/// Stamps cases on every backend.
macro_rules! on_every_store {
    ($($case:ident),* $(,)?) => {
        stamp!(memory, memory_store, $($case),*);
        on_shared_stores!($($case),*);
    };
}

/// Stamps cases on every backend that several processes can open.
macro_rules! on_shared_stores {
    ($($case:ident),* $(,)?) => {
        stamp!(files, files_store, $($case),*);
        stamp!(sqlite, sqlite_store, $($case),*);
        stamp!(postgres, postgres_store, $($case),*);
    };
}

macro_rules! stamp {
    ($backend:ident, $open:ident, $($case:ident),*) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(troop_testkit::$open().await).await;
                }
            )*
        }
    };
}

mod answers;
mod archive;
mod clocks;
mod contention;
mod durability;
mod export;
mod faults;
mod following;
mod foreign;
mod hooks;
mod idempotency;
mod lead;
mod mirror;
mod processes;
mod random;
mod relay;
mod session;
mod snapshots;
mod subscription;

mod probe;
mod support;
