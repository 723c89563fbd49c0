//! A person who commits in the project's folder: `git add` and `git commit`, with git's own steps.

use troop_runtime::deciding::isolation::{OldValue, RefMove};

use crate::{process::ProcessSeat, repository::MAIN};

pub(crate) async fn person(seat: ProcessSeat) {
    let repository = &seat.world.repository;
    let path = "person.md".to_owned();
    repository.borrow_mut().files.insert(path.clone(), "mine".to_owned());
    while !take_index(&seat).await {
        seat.sleep(1_000).await;
    }
    {
        let mut repository = repository.borrow_mut();
        repository.index.insert(path, "mine".to_owned());
        repository.unlock_index();
    }
    loop {
        while !take_index(&seat).await {
            seat.sleep(1_000).await;
        }
        let head = repository.borrow().at(MAIN).unwrap_or_default();
        let tree = repository.borrow().index.clone();
        let commit = repository.borrow_mut().commit(&[&head], tree);
        seat.boundary().await;
        let moved =
            repository.borrow_mut().update(&RefMove::new(MAIN, OldValue::Is(head), &commit));
        repository.borrow_mut().unlock_index();
        seat.tell(|| format!("commits {commit} on main: {moved}"));
        if moved {
            seat.count("a person committed in the project");
            return;
        }
    }
}

async fn take_index(seat: &ProcessSeat) -> bool {
    seat.boundary().await;
    seat.world.repository.borrow_mut().lock_index(seat.id)
}
