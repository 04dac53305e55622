//! Prints `docs/lsl-coverage.md`.

#[expect(clippy::print_stdout, reason = "the page is this program's output")]
fn main() {
    print!("{}", lsl::coverage::markdown());
}
