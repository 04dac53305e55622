//! Prints `docs/protocol-coverage.md`.

#[expect(clippy::print_stdout, reason = "the page is this program's output")]
fn main() {
    print!("{}", gateway::coverage::markdown());
}
