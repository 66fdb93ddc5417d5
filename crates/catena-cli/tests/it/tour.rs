//! `catena tour`.

use crate::support::Home;

#[test]
fn the_tour_shows_everything_and_leaves_nothing_behind() {
    let home = Home::new();
    let ran = home.run(&["tour", "--fast"]).exits(0);
    for words in [
        "My plan:",
        "● count_words",
        "● [3] look_up",
        "? The agent wants to write a file",
        "38 bytes written",
        "blocked refused",
        "limit of 2 model turns",
        "was killed",
        "outcome unknown",
        "did not count again",
        "9 entries",
        "catena resume --thread ID",
    ] {
        assert!(ran.stdout.contains(words), "{words} in:\n{}", ran.stdout);
    }
    let left: Vec<_> = std::fs::read_dir(home.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
