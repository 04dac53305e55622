//! Commands on a running server as a whole and on its present users: `throng status`, `shutdown`, `login`, `kick`, `alert`, `say`, `user online`.

use crate::cli::{AlertArgs, KickArgs, LoginCommand, LoginTarget, SayArgs, ShutdownArgs, StatusArgs};
use crate::operator::{self, OperatorError, path_part};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Shows the state of a server.
///
/// # Errors
/// If no server runs there.
pub fn status(args: &StatusArgs) -> Result<String, OperatorError> {
    let status: Value = serde_json::from_str(&operator::get(&args.data.data, "/v1/status")?)?;
    Ok(if args.json { format!("{status}\n") } else { status_text(&status) })
}

fn status_text(status: &Value) -> String {
    let logins = if status["logins_enabled"] == true { "open" } else { "closed" };
    let mut text = format!(
        "Throng {}, process {}\nup      {}\nregions {}\nusers   {}\nlogins  {logins}\n",
        status["version"].as_str().unwrap_or_default(),
        status["pid"],
        uptime(status["uptime_s"].as_u64().unwrap_or_default()),
        status["regions"],
        status["users"],
    );
    for problem in status["amiss"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "problem {problem}");
    }
    text
}

/// A time in days, hours, minutes and seconds.
fn uptime(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    format!("{days} d {} h {} min {} s", hours % 24, minutes % 60, seconds % 60)
}

/// Ends a server.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn shut_down(args: &ShutdownArgs) -> Result<String, OperatorError> {
    let data = &args.data.data;
    let status: Value = serde_json::from_str(&operator::get(data, "/v1/status")?)?;
    let pid = &status["pid"];
    let order = json!({ "message": args.message, "pid": pid });
    match operator::command(data, "/v1/shutdown", &order) {
        // A server without users may end before its answer has left.
        Ok(_) | Err(OperatorError::NoAnswer { .. }) => {
            Ok(format!("The server with process id {pid} ends.\n"))
        }
        Err(error) => Err(error),
    }
}

/// Shows or changes the rules for logins.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn login(command: &LoginCommand) -> Result<String, OperatorError> {
    let change = |target: &LoginTarget, order: Value| {
        operator::command(&target.data.data, "/v1/logins", &order).map(|answer| (answer, target.json))
    };
    let (answer, json) = match command {
        LoginCommand::Enable { target } => change(target, json!({ "enabled": true }))?,
        LoginCommand::Disable { reason, target } => {
            change(target, json!({ "enabled": false, "reason": reason }))?
        }
        LoginCommand::Message { text, target } => change(target, json!({ "message": text }))?,
        LoginCommand::Status { target } => (operator::get(&target.data.data, "/v1/logins")?, target.json),
    };
    let logins: Value = serde_json::from_str(&answer)?;
    Ok(if json { format!("{logins}\n") } else { logins_text(&logins) })
}

fn logins_text(logins: &Value) -> String {
    let text = |key: &str| logins[key].as_str();
    let mut out = match text("reason") {
        Some(reason) => format!("Logins are closed: {reason}\n"),
        None => "Logins are open.\n".to_owned(),
    };
    if let Some(short) = text("short_of") {
        let _ = writeln!(out, "They are refused at present: the server is short of {short}.");
    }
    let _ = writeln!(out, "Text at login: {}", text("message").unwrap_or_default());
    out
}

/// Ends a user's session.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn kick(args: &KickArgs) -> Result<String, OperatorError> {
    let order = json!({ "name": args.name.name(), "reason": args.reason });
    operator::command(&args.data.data, "/v1/kick", &order)
}

/// Shows a text to users.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn alert(args: &AlertArgs) -> Result<String, OperatorError> {
    let order = json!({ "text": args.text, "name": args.user, "region": args.region });
    operator::command(&args.data.data, "/v1/alert", &order)
}

/// Says something in a region.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn say(args: &SayArgs) -> Result<String, OperatorError> {
    let order = json!({ "region": args.region, "text": args.text, "name": args.name });
    operator::command(&args.data.data, "/v1/say", &order)
}

/// Lists the present users.
///
/// # Errors
/// If no server runs there.
pub fn online(
    data: &Path,
    region: Option<&str>,
    circuits: bool,
    json: bool,
) -> Result<String, OperatorError> {
    let query = region.map(|region| format!("?region={}", path_part(region))).unwrap_or_default();
    let sessions: Value = serde_json::from_str(&operator::get(data, &format!("/v1/sessions{query}"))?)?;
    Ok(if json { format!("{}\n", json!({ "users": sessions })) } else { sessions_text(&sessions, circuits) })
}

/// A line for each user: name, region, place, and lines for the circuits.
fn sessions_text(sessions: &Value, circuits: bool) -> String {
    let sessions = sessions.as_array().map_or(&[][..], Vec::as_slice);
    let mut out = String::new();
    for session in sessions {
        let text = |key: &str| session[key].as_str().unwrap_or("-");
        let place: Vec<String> = session["position"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|metres| format!("{:.0}", metres.as_f64().unwrap_or_default()))
            .collect();
        let place = match (session["arrived"] == true, place.is_empty()) {
            (true, false) => format!("<{}>", place.join(", ")),
            (true, true) => "<?>".to_owned(),
            (false, _) => "on the way".to_owned(),
        };
        let _ = writeln!(out, "{}  {}  {place}  {}", text("name"), text("region"), text("agent"));
        for circuit in session["circuits"].as_array().into_iter().flatten().filter(|_| circuits) {
            let text = |key: &str| circuit[key].as_str().unwrap_or_default();
            let _ = writeln!(out, "    port {}  {}  {}", circuit["port"], text("region"), text("state"));
        }
    }
    let _ = writeln!(out, "{} users", sessions.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_names_problems_and_the_uptime_in_parts() {
        let status = json!({
            "version": "0.0.0", "pid": 7, "uptime_s": 93_784, "regions": 2, "users": 3, "logins_enabled": false,
            "amiss": ["Harbour is down"],
        });
        let text = status_text(&status);
        assert!(text.contains("up      1 d 2 h 3 min 4 s\n"), "{text}");
        assert!(text.ends_with("logins  closed\nproblem Harbour is down\n"), "{text}");
    }

    #[test]
    fn logins_are_told_in_sentences() {
        let open = json!({ "reason": null, "message": "Hello", "short_of": null });
        assert_eq!(logins_text(&open), "Logins are open.\nText at login: Hello\n");
        let closed = json!({ "reason": "Later.", "message": "", "short_of": "memory" });
        assert!(logins_text(&closed).starts_with("Logins are closed: Later.\nThey are refused at present:"));
    }

    #[test]
    fn present_users_are_listed_with_their_circuits() {
        let sessions = json!([
            {
                "name": "Ada Lovelace", "agent": "id-1", "region": "Harbour", "arrived": true,
                "position": [10.4, 20.6, 30.0], "circuits": [{ "port": 9000, "region": "Harbour", "state": "main" }],
            },
            { "name": "Eve Byron", "agent": "id-2", "region": null, "arrived": false, "position": null, "circuits": [] },
        ]);
        assert_eq!(
            sessions_text(&sessions, true),
            "Ada Lovelace  Harbour  <10, 21, 30>  id-1\n    port 9000  Harbour  main\nEve Byron  -  on the way  id-2\n2 users\n"
        );
        assert!(!sessions_text(&sessions, false).contains("port"));
    }
}
