//! Random changes to a followed file, with looks and restarts between them: in the end all of it was read.

use std::fs::OpenOptions;

use tempfile::TempDir;
use troop_observe::Observer;

use super::{super::Keeper, *};

/// A file that is followed.
struct Followed {
    folder: TempDir,
    follower: FileFollower,
    keeper: Keeper,
    observer: Observer,
    sender: PieceSender,
    pieces: PieceReceiver,
    /// The text read since the file last began.
    read: Vec<u8>,
    n_texts: u32,
}

impl Followed {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        File::create(folder.path().join("session")).unwrap();
        let (sender, pieces) = mpsc::channel(16);
        let (keeper, observer, follower) = open(folder.path());
        Self { folder, follower, keeper, observer, sender, pieces, read: Vec::new(), n_texts: 0 }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("session")
    }

    /// A unique text: no two share a tail that is long enough to be compared. Some have no line break.
    fn text(&mut self, size: usize) -> Vec<u8> {
        self.n_texts += 1;
        let end = if size.is_multiple_of(3) { "" } else { "\n" };
        format!("{}{end}", format!("{} ", self.n_texts).repeat(size * 4)).into_bytes()
    }

    fn act(&mut self, action: u8) {
        let size = usize::from(action / 8);
        let text = self.text(size);
        match action % 8 {
            0..=2 => {
                let mut file = OpenOptions::new().append(true).open(self.path()).unwrap();
                io::Write::write_all(&mut file, &text).unwrap();
            }
            3 => {
                let file = OpenOptions::new().write(true).open(self.path()).unwrap();
                let length = file.metadata().unwrap().len();
                file.set_len(length * size as u64 / 32).unwrap();
            }
            4 => fs::write(self.path(), &text).unwrap(),
            5 => {
                fs::write(self.folder.path().join("new"), &text).unwrap();
                fs::rename(self.folder.path().join("new"), self.path()).unwrap();
            }
            6 => self.restart(),
            _ => self.look(),
        }
    }

    fn look(&mut self) {
        while self.follower.look(&self.sender).unwrap().unwrap() || !self.pieces.is_empty() {
            while let Ok(piece) = self.pieces.try_recv() {
                match piece.unwrap() {
                    StreamPiece::Bytes(bytes) => {
                        self.keeper.advance(&bytes);
                        self.read.extend(bytes);
                    }
                    StreamPiece::Restarted(inode) => {
                        self.keeper.restart(inode);
                        self.read.clear();
                    }
                    StreamPiece::Switched(path) => panic!("no other session: {}", path.display()),
                }
            }
        }
    }

    /// Continues in another run.
    fn restart(&mut self) {
        self.keeper.save(&self.observer).unwrap();
        (self.keeper, self.observer, self.follower) = open(self.folder.path());
        self.read.truncate(usize::try_from(self.keeper.position().offset()).unwrap());
    }
}

fn open(folder: &Path) -> (Keeper, Observer, FileFollower) {
    let path = folder.join("session");
    let (keeper, observer) = Keeper::open(Some(&folder.join("state")), Some(&path)).unwrap();
    let position = keeper.position().clone();
    let file = super::open(&path, &position).unwrap();
    (keeper, observer, FileFollower::new(&path, file, position).unwrap())
}

fn transcript(actions: &[u8]) {
    let mut followed = Followed::new();
    for action in actions.iter().take(60) {
        followed.act(*action);
    }
    followed.look();
    let is_there = fs::read(followed.path()).unwrap();
    assert!(followed.read == is_there, "something else was read");
}

#[test]
fn fuzz_transcript() {
    let looks = [7, 6, 7, 14, 15].repeat(12);
    let examples = [
        // The file grows, we look, another run continues.
        vec![9, 7, 18, 7, 6, 33, 7, 14],
        // It is rewritten between two looks, and between two runs.
        vec![33, 7, 252, 7, 33, 7, 6, 252, 6, 7],
        // It is replaced and truncated.
        vec![33, 7, 253, 34, 7, 131, 7, 253, 6, 131, 41, 6],
        looks,
    ];
    troop_testkit::fuzz(&["\u{7}", "\u{6}", "\u{5}", "\u{4}", "\u{3}"], &examples, 60, transcript);
}
