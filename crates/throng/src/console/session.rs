//! A session of the console: carries out one line after the other. Its input and output are arguments.

use super::help::{Help, help};
use super::interpreter::{Interpreter, Run, Step};
use super::words::{LINE_BYTES_MAX, WordsError};
use std::io::{self, BufRead, Read as _, Write};

/// Exit status of a line that is no command, as of a wrong command line.
const EXIT_USAGE: u8 = 2;

/// Runs subcommands, and knows the server's regions.
pub(super) trait Outside {
    /// Runs a subcommand; its exit status.
    ///
    /// # Errors
    /// If it cannot be started.
    fn run(&mut self, run: &Run) -> io::Result<u8>;

    /// Names of the regions of the running server.
    ///
    /// # Errors
    /// A sentence: there is no server.
    fn regions(&mut self) -> Result<Vec<String>, String>;
}

/// Outcome of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineOutcome {
    /// Carried out, with this exit status.
    Done(u8),
    /// The console is left.
    Quit,
}

/// A session.
pub(super) struct Session<'a> {
    pub(super) interpreter: Interpreter,
    outside: &'a mut dyn Outside,
    /// For texts of the console itself.
    out: &'a mut dyn Write,
    /// For complaints, and for the subcommands that are run.
    complaints: &'a mut dyn Write,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        interpreter: Interpreter,
        outside: &'a mut dyn Outside,
        out: &'a mut dyn Write,
        complaints: &'a mut dyn Write,
    ) -> Self {
        Self { interpreter, outside, out, complaints }
    }

    /// Chooses the region that commands are for at first: the named one, or the server's only one. Without a server none is chosen.
    ///
    /// # Errors
    /// A sentence: the named one does not exist.
    pub(super) fn begin(&mut self, named: Option<&str>) -> Result<(), String> {
        let known = self.outside.regions();
        self.interpreter.region = match (named, known) {
            (Some(name), Ok(known)) => Some(find(name, &known)?),
            (Some(name), Err(_)) => Some(name.to_owned()),
            (None, Ok(known)) if known.len() == 1 => known.into_iter().next(),
            (None, Ok(_) | Err(_)) => None,
        };
        Ok(())
    }

    /// The prompt, with the chosen region.
    pub(super) fn prompt(&self) -> String {
        match &self.interpreter.region {
            Some(region) => format!("throng ({region})> "),
            None => "throng> ".to_owned(),
        }
    }

    /// Carries a line out.
    ///
    /// # Errors
    /// The output cannot be written, or a subcommand cannot be started.
    pub(super) fn execute(&mut self, line: &str) -> io::Result<LineOutcome> {
        let step = match self.interpreter.interpret(line) {
            Ok(step) => step,
            Err(why) => return self.refuse(&why.to_string()),
        };
        match step {
            Step::Nothing => Ok(LineOutcome::Done(0)),
            Step::Quit => Ok(LineOutcome::Quit),
            Step::Run(run) => self.run(&run),
            Step::ChangeRegion(name) => self.change_region(&name),
            Step::Help(words) => match help(&self.interpreter, &words) {
                Help::Text(text) => {
                    self.out.write_all(text.as_bytes())?;
                    Ok(LineOutcome::Done(0))
                }
                Help::OfSubcommand(run) => self.run(&run),
            },
        }
    }

    fn run(&mut self, run: &Run) -> io::Result<LineOutcome> {
        if let Some(shown) = &run.shown {
            writeln!(self.complaints, "throng {shown}")?;
        }
        // Before the subcommand's own output.
        self.out.flush()?;
        self.outside.run(run).map(LineOutcome::Done)
    }

    fn change_region(&mut self, name: &str) -> io::Result<LineOutcome> {
        let found = match self.outside.regions() {
            Ok(known) => match find(name, &known) {
                Ok(found) => Some(found),
                // OpenSimulator's word for all regions.
                Err(_) if name.eq_ignore_ascii_case("root") => None,
                Err(why) => return self.refuse(&why),
            },
            Err(why) => return self.refuse(&why),
        };
        let told = found.as_deref().unwrap_or("no region");
        writeln!(self.out, "Commands are for {told} now.")?;
        self.interpreter.region = found;
        Ok(LineOutcome::Done(0))
    }

    fn refuse(&mut self, why: &str) -> io::Result<LineOutcome> {
        writeln!(self.complaints, "throng: {why}")?;
        Ok(LineOutcome::Done(EXIT_USAGE))
    }

    /// Carries out all lines of an input, also behind a failure. The exit status of the last one.
    ///
    /// # Errors
    /// As [`Self::execute`], or the input cannot be read.
    pub(super) fn run_lines(&mut self, input: &mut dyn BufRead) -> io::Result<u8> {
        let mut last = 0;
        while let Some(line) = read_line(input)? {
            let outcome = match line {
                Ok(line) => self.execute(&line)?,
                Err(why) => self.refuse(&why.to_string())?,
            };
            match outcome {
                LineOutcome::Done(status) => last = status,
                LineOutcome::Quit => break,
            }
        }
        Ok(last)
    }

    /// Carries out a script up to the first line that fails; `name` and the line's number are reported. The exit status of that line, or 0.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub(super) fn run_script(&mut self, name: &str, script: &str) -> io::Result<u8> {
        for (number, line) in (1_u64..).zip(script.lines()) {
            match self.execute(line)? {
                LineOutcome::Done(0) => {}
                LineOutcome::Done(status) => {
                    writeln!(
                        self.complaints,
                        "throng: {name}, line {number}: ended with exit status {status}"
                    )?;
                    return Ok(status);
                }
                LineOutcome::Quit => break,
            }
        }
        Ok(0)
    }
}

/// The region with this name, in any capitals, as the server writes it.
fn find(name: &str, known: &[String]) -> Result<String, String> {
    let found = known.iter().find(|region| region.to_lowercase() == name.to_lowercase());
    found.cloned().ok_or_else(|| format!("there is no region {name:?}; there are: {}", known.join(", ")))
}

/// A line without its end; none at the end of the input. The rest of a line that is too long is skipped.
fn read_line(input: &mut dyn BufRead) -> io::Result<Option<Result<String, WordsError>>> {
    let mut bytes = Vec::new();
    // One byte more than a line has, and its end.
    let n = (&mut *input).take(LINE_BYTES_MAX as u64 + 2).read_until(b'\n', &mut bytes)?;
    if n == 0 {
        return Ok(None);
    }
    if bytes.pop_if(|byte| *byte == b'\n').is_none() && n > LINE_BYTES_MAX {
        skip_line(input)?;
        return Ok(Some(Err(WordsError::TooLong)));
    }
    let _ = bytes.pop_if(|byte| *byte == b'\r');
    Ok(Some(String::from_utf8(bytes).map_err(|_| WordsError::Malformed)))
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let (n, is_end) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        input.consume(n);
        if is_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tree::Connection;

    /// Notes subcommands; `kick` fails.
    #[derive(Default)]
    struct Recorded {
        runs: Vec<String>,
        regions: Option<Vec<String>>,
    }

    impl Outside for Recorded {
        fn run(&mut self, run: &Run) -> io::Result<u8> {
            self.runs.push(run.args.join(" "));
            Ok(if run.args[0] == "kick" { 1 } else { 0 })
        }

        fn regions(&mut self) -> Result<Vec<String>, String> {
            self.regions.clone().ok_or_else(|| "no server seems to run".to_owned())
        }
    }

    fn with_regions(names: &[&str]) -> Recorded {
        Recorded {
            regions: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..Recorded::default()
        }
    }

    /// Runs a session; its result, what it ran, and its output and complaints.
    fn session<R>(
        mut outside: Recorded,
        work: impl FnOnce(&mut Session<'_>) -> R,
    ) -> (R, Vec<String>, String, String) {
        let (mut out, mut complaints) = (Vec::new(), Vec::new());
        let interpreter = Interpreter::new(Connection { data: "d".into(), ..Connection::default() });
        let result = work(&mut Session::new(interpreter, &mut outside, &mut out, &mut complaints));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (result, outside.runs, text(out), text(complaints))
    }

    #[test]
    fn a_script_stops_at_the_first_error_with_its_line() {
        let script = "# nightly\nbackup /mnt/b\n\nkick Ada\nstatus\n";
        let (status, runs, _, complaints) =
            session(Recorded::default(), |session| session.run_script("nightly.txt", script).unwrap());
        assert_eq!((status, runs), (1, vec!["backup --data=d /mnt/b".into(), "kick --data=d Ada".into()]));
        assert_eq!(complaints, "throng: nightly.txt, line 4: ended with exit status 1\n");
        let (status, runs, _, complaints) = session(Recorded::default(), |session| {
            session.run_script("x", "status\nstauts\nstatus").unwrap()
        });
        assert_eq!((status, runs.len()), (2, 1));
        assert!(complaints.contains("there is no command \"stauts\"; perhaps: status"), "{complaints}");
        assert!(complaints.ends_with("throng: x, line 2: ended with exit status 2\n"), "{complaints}");
        let (status, runs, ..) = session(Recorded::default(), |session| {
            session.run_script("x", "status\nquit\nkick Ada").unwrap()
        });
        assert_eq!((status, runs.len()), (0, 1));
    }

    #[test]
    fn lines_behind_a_failure_are_carried_out_and_the_last_status_counts() {
        let lines = "kick Ada\r\nstatus\n";
        let (status, runs, ..) =
            session(Recorded::default(), |session| session.run_lines(&mut lines.as_bytes()).unwrap());
        assert_eq!((status, runs.len()), (0, 2));
        let (status, ..) =
            session(Recorded::default(), |session| session.run_lines(&mut &b"status\nkick Ada"[..]).unwrap());
        assert_eq!(status, 1);
    }

    #[test]
    fn hostile_input_is_refused_line_by_line() {
        let mut input = vec![b'x'; 3 * LINE_BYTES_MAX];
        input.extend_from_slice(b"\nstatus\n\xff\xfe\nstatus \x1b[2J\nstatus");
        let (status, runs, _, complaints) =
            session(Recorded::default(), |session| session.run_lines(&mut &input[..]).unwrap());
        assert_eq!((status, runs.len()), (0, 2), "{complaints}");
        assert!(complaints.starts_with("throng: a line has 4096 bytes at most\n"), "{complaints}");
        assert_eq!(complaints.lines().count(), 3, "{complaints}");
        let longest = "x".repeat(LINE_BYTES_MAX);
        for end in ["", "\n", "\r\n"] {
            let line = format!("{longest}{end}");
            let read = read_line(&mut line.as_bytes()).unwrap();
            assert_eq!(read, Some(Ok(longest.clone())), "{end:?}");
        }
        assert_eq!(read_line(&mut &b""[..]).unwrap(), None);
    }

    #[test]
    fn the_only_region_is_chosen_and_another_one_by_its_name() {
        let work = |session: &mut Session<'_>| {
            session.begin(None).unwrap();
            let first = session.prompt();
            session.execute("change region root").unwrap();
            let none = session.prompt();
            session.execute("change region HARBOUR").unwrap();
            session.execute("change region Atlantis").unwrap();
            session.execute("backup").unwrap();
            [first, none, session.prompt()]
        };
        let (prompts, runs, out, complaints) = session(with_regions(&["Harbour"]), work);
        assert_eq!(prompts, ["throng (Harbour)> ", "throng> ", "throng (Harbour)> "]);
        assert_eq!(runs, ["region save --data=d Harbour"]);
        assert!(out.ends_with("Commands are for Harbour now.\n"), "{out}");
        assert_eq!(
            complaints,
            "throng: there is no region \"Atlantis\"; there are: Harbour\nthrong region save Harbour\n"
        );
        let begin = |outside, named: Option<&str>| {
            session(outside, |session| session.begin(named).map(|()| session.interpreter.region.clone())).0
        };
        assert_eq!(begin(with_regions(&["Harbour", "Quay"]), None), Ok(None));
        assert_eq!(begin(with_regions(&["Harbour", "Quay"]), Some("quay")), Ok(Some("Quay".into())));
        assert!(begin(with_regions(&["Harbour"]), Some("Quay")).is_err());
        assert_eq!(begin(Recorded::default(), Some("Quay")), Ok(Some("Quay".into())));
        assert_eq!(begin(Recorded::default(), None), Ok(None));
    }
}
