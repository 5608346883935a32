//! The simulator as WebAssembly, for pages that play: `web/worker.js` is its other side.
//!
//! Who calls writes a text to where [`input`] says, calls one of the others, and reads the answer where [`output`] and [`output_length`]
//! say: what was asked for after a 1, why there is none after a 0. There is one thread, and it holds one scenario.

use std::cell::RefCell;
use std::panic;

use kubesquall::{Replay, Scenario};

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static REPLAY: RefCell<Option<Replay>> = const { RefCell::new(None) };
}

/// Makes room for a text of so many bytes, and says where it is.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// Where the answer to the last call is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// How long it is, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// Takes the scenario: the text of a lock file. The answer is empty.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> u32 {
    // What a trap says is nothing; this is what the program says before it.
    panic::set_hook(Box::new(|info| OUTPUT.set(info.to_string().into_bytes())));
    answer(|text| {
        let scenario = Scenario::parse(text, [("", ""); 0]).map_err(|error| error.to_string())?;
        REPLAY.set(Some(Replay::new(scenario)));
        Ok(Vec::new())
    })
}

/// Plays it with other values: lines, each as `--set` takes it. The answer is what the page shows.
#[unsafe(no_mangle)]
pub extern "C" fn replay() -> u32 {
    answer(|text| with_scenario(|replay| replay.play(text.lines()).map_err(|error| error.to_string())))
}

/// Gives the lock file of the scenario with other values.
#[unsafe(no_mangle)]
pub extern "C" fn lock_file() -> u32 {
    answer(|text| {
        with_scenario(|replay| {
            replay.lock_file(text.lines()).map(String::into_bytes).map_err(|error| error.to_string())
        })
    })
}

/// Gives the page of the run with other values.
#[unsafe(no_mangle)]
pub extern "C" fn page() -> u32 {
    answer(|text| {
        with_scenario(|replay| replay.page(text.lines()).map(String::into_bytes).map_err(|error| error.to_string()))
    })
}

fn with_scenario(act: impl FnOnce(&Replay) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    REPLAY.with_borrow(|replay| act(replay.as_ref().ok_or("no scenario has been taken")?))
}

/// Puts what comes of the text where it is read.
fn answer(act: impl FnOnce(&str) -> Result<Vec<u8>, String>) -> u32 {
    let input = INPUT.take();
    let done = std::str::from_utf8(&input).map_err(|error| error.to_string()).and_then(act);
    let is_done = done.is_ok();
    OUTPUT.set(done.unwrap_or_else(String::into_bytes));
    u32::from(is_done)
}
