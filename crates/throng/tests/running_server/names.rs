//! Names with signs, digits and letters of other scripts: from the login over XML-RPC to the words that others hear.

use crate::message_client::MessageClient;
use crate::server::Server;
use wire::messages::Message;
use wire::text::from_wire;

/// Names as typed at the first login and at a later one, and as clients show them.
const NAMES: [[&str; 3]; 4] = [
    ["ada_l-7", "ADA_L-7", "ada_l-7 Resident"],
    ["дарья_7", "ДАРЬЯ_7", "Дарья_7 Resident"],
    ["李明2", "李明2", "李明2 Resident"],
    ["zoe\u{308}", "ZOË", "Zoë Resident"],
];

/// Says a line; the name that it is heard under.
fn name_heard(client: &mut MessageClient<'_>) -> String {
    client.echo("hello");
    let heard = client.inbox.iter().find_map(|message| match message {
        Message::ChatFromSimulator(chat) => Some(from_wire(&chat.chat_data.from_name)),
        _ => None,
    });
    heard.expect("its words came back")
}

#[test]
fn names_with_signs_digits_and_other_scripts_log_in_under_every_spelling_and_are_shown() {
    let server = Server::start();
    for [typed, later, shown] in NAMES {
        let mut first = MessageClient::enter(&server, typed);
        assert_eq!(name_heard(&mut first), shown);
        // The second login ends the first session.
        let mut second = MessageClient::enter(&server, later);
        assert_eq!(second.identity.agent, first.identity.agent, "{typed} and {later} are one account");
        assert_eq!(name_heard(&mut second), shown);
    }
    let users = server.run("user list").expect("a list");
    for [.., shown] in NAMES {
        assert_eq!(users.matches(shown).count(), 1, "{shown} in {users}");
    }
}
