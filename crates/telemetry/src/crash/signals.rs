//! The only `unsafe` of crash capture: installing signal handlers, reading the own registers, and crashing on purpose.

#![expect(
    unsafe_code,
    reason = "handlers of signals, registers and a fault on purpose have no safe interface"
)]

use crash_handler::{CrashContext, CrashHandler};

/// Calls `on_crash` for each signal of a crash, on the thread that it concerns and on its alternate stack; then the process
/// dies of the signal. The function must be async-signal-safe: no allocation, no lock that the interrupted code could hold.
pub(super) fn attach(
    on_crash: impl Fn(&CrashContext) + Send + Sync + 'static,
) -> Result<CrashHandler, crash_handler::Error> {
    // SAFETY: `make_crash_event` requires a function that is safe inside of a signal handler. The callers (`super::start`
    // and tests) pass `MonitorLink::report_signal`, which makes system calls on a socket opened before and uses atomics; it
    // neither allocates nor locks.
    let event = unsafe {
        crash_handler::make_crash_event(move |context| {
            on_crash(context);
            // Handled: the default action of the signal follows.
            true.into()
        })
    };
    CrashHandler::attach(event)
}

/// Calls `report` with the registers of this place, as for a SIGABRT here. They describe a frame that ends with this
/// function, hence the callback.
pub(super) fn with_registers(tid: i32, report: impl FnOnce(&CrashContext)) {
    // SAFETY: `CrashContext` is plain data for which all bits zero are valid: integers, arrays and null pointers.
    let mut context: Box<CrashContext> = Box::new(unsafe { std::mem::zeroed() });
    // SAFETY: the pointer is to a whole, writable `ucontext_t`, which the function fills.
    unsafe { crash_context::crash_context_getcontext(&raw mut context.context) };
    context.siginfo.ssi_signo = libc::SIGABRT as u32;
    context.siginfo.ssi_code = libc::SI_TKILL;
    context.pid = std::process::id() as i32;
    context.tid = tid;
    report(&context);
}

/// Reads an address that is never mapped, for tests and experiments of crash capture.
pub fn segfault() -> ! {
    // The first page is never mapped (vm.mmap_min_addr), and a distinct address is easily found in the dump.
    let nowhere = std::ptr::without_provenance::<u8>(0xBAD);
    // SAFETY: none; the purpose is to crash. The read is volatile, so it is executed and the processor raises the fault.
    let byte = unsafe { nowhere.read_volatile() };
    unreachable!("an address that is not mapped held {byte}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_thread_has_an_alternate_stack_with_room_for_the_handler() {
        let size = std::thread::spawn(|| {
            // SAFETY: all bits zero are a valid `stack_t`, and the call only writes to it.
            unsafe {
                let mut stack: libc::stack_t = std::mem::zeroed();
                assert_eq!(libc::sigaltstack(std::ptr::null(), &raw mut stack), 0);
                if stack.ss_flags & libc::SS_DISABLE == 0 { stack.ss_size } else { 0 }
            }
        });
        assert!(size.join().unwrap() >= 16 * 1024, "`std` alone gives 8 KiB");
    }
}
