//! The panic hook: a dump of the panicking thread before it unwinds, and an abort unless the panic is caught.

use super::{Options, link::MonitorLink, signals};
use rustix::thread::gettid;
use std::panic::PanicHookInfo;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum bytes of a panic's thread, place and message in a dump. Longer texts are truncated.
pub const PANIC_TEXT_BYTES_MAX: usize = 4 * 1024;

/// Adds to the installed hook, which prints.
pub(super) fn hook(link: Arc<MonitorLink>, options: Options) {
    let print = std::panic::take_hook();
    // One dump at a time, as `Count` in `link` requires.
    let turn = Mutex::new(());
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let text = describe(name, info);
        let survives = (options.survives)(name);
        {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let tid = gettid().as_raw_nonzero().get();
            signals::with_registers(tid, |context| link.report_panic(context, &text, survives));
        }
        if !survives {
            link.expect_abort();
            std::process::abort();
        }
    }));
}

/// Lets a panic abort the process unless it is caught, without a monitor and a dump. Call it before other threads start.
pub fn abort_on_panic(options: Options) {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        if !(options.survives)(std::thread::current().name().unwrap_or("unnamed")) {
            std::process::abort();
        }
    }));
}

fn describe(thread: &str, info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let mut text = format!("{thread} panicked at {place}: {message}");
    text.truncate(text.floor_char_boundary(PANIC_TEXT_BYTES_MAX));
    text
}
