//! The estate as its window in viewers shows it: EstateOwnerMessages from the server, and the lists of the capability EstateAccess.

use super::region::{ESTATE_ID, RegionFacts};
use ids::{AgentId, Uuid};
use link::Estate;
use wire::llsd::Llsd;
use wire::messages::{
    EstateOwnerMessage, EstateOwnerMessageAgentData, EstateOwnerMessageMethodData,
    EstateOwnerMessageParamList,
};
use wire::text::{VARIABLE1_MAX, to_wire};

/// Ids in one message: 17 bytes each, beside the counts.
const IDS_PER_MESSAGE: usize = 60;
/// Kinds of lists in messages.
const ALLOWED: u32 = 1;
const GROUPS: u32 = 1 << 1;
const BANNED: u32 = 1 << 2;
const MANAGERS: u32 = 1 << 3;

/// Addressee of answers about an estate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EstateReader {
    /// The user.
    pub(crate) agent: AgentId,
    /// Id of the session as the client knows it.
    pub(crate) session_id: Uuid,
    /// Echoed.
    pub(crate) transaction: Uuid,
    /// Echoed.
    pub(crate) invoice: Uuid,
}

impl EstateReader {
    fn message(&self, method: &str, param_list: Vec<EstateOwnerMessageParamList>) -> EstateOwnerMessage {
        EstateOwnerMessage {
            agent_data: EstateOwnerMessageAgentData {
                agent_id: self.agent.0,
                session_id: self.session_id,
                transaction_id: self.transaction,
            },
            method_data: EstateOwnerMessageMethodData {
                method: to_wire(method, VARIABLE1_MAX),
                invoice: self.invoice,
            },
            param_list,
        }
    }

    /// Settings of the estate; `estate` is `None` in a world that is not built on.
    pub(crate) fn info(
        &self,
        name: &str,
        estate: Option<&Estate>,
        facts: &RegionFacts,
    ) -> EstateOwnerMessage {
        let (covenant, covenant_s) =
            estate.map_or((Uuid::nil(), 0), |estate| (estate.covenant, estate.covenant_s));
        let units = if facts.sun.is_estates { 0.0 } else { facts.sun.hour * 1_024.0 + f32::from(0x1800_u16) };
        // Name, owner, id, flags, position of the sun, parent, covenant and its date, whether only this client is sent it, e-mail.
        let params = [
            name.to_owned(),
            facts.owner.to_string(),
            ESTATE_ID.to_string(),
            facts.flags.to_string(),
            (units as u32).to_string(),
            ESTATE_ID.to_string(),
            covenant.to_string(),
            covenant_s.to_string(),
            "1".to_owned(),
            String::new(),
        ];
        self.message("estateupdateinfo", params.iter().map(|param| text(param)).collect())
    }

    /// The four lists of the estate.
    pub(crate) fn lists(&self, estate: &Estate) -> Vec<EstateOwnerMessage> {
        let ids = |agents: &[AgentId]| agents.iter().map(|agent| agent.0).collect::<Vec<_>>();
        let lists = [
            (MANAGERS, ids(&estate.managers)),
            (ALLOWED, ids(&estate.allowed)),
            (GROUPS, estate.groups.clone()),
            (BANNED, ids(&estate.banned)),
        ];
        lists.iter().flat_map(|(kind, ids)| self.list(*kind, ids)).collect()
    }

    /// A list, in as many messages as it needs; one for an empty list.
    fn list(&self, kind: u32, ids: &[Uuid]) -> Vec<EstateOwnerMessage> {
        let page = |ids: &[Uuid]| {
            let counts = [ALLOWED, GROUPS, BANNED, MANAGERS].map(|of| if of == kind { ids.len() } else { 0 });
            let head = [ESTATE_ID.to_string(), kind.to_string()];
            let mut params: Vec<EstateOwnerMessageParamList> = head.iter().map(|param| text(param)).collect();
            params.extend(counts.iter().map(|count| text(&count.to_string())));
            let rows = ids.iter().map(|id| EstateOwnerMessageParamList { parameter: id.as_bytes().to_vec() });
            params.extend(rows);
            self.message("setaccess", params)
        };
        crate::mail::pages(ids, IDS_PER_MESSAGE).map(page).collect()
    }
}

/// The lists as the capability EstateAccess states them.
pub(crate) fn estate_access(estate: &Estate) -> Llsd {
    let rows = |key: &str, ids: Vec<Uuid>| {
        Llsd::Array(ids.into_iter().map(|id| Llsd::map([(key, Llsd::from(id))])).collect())
    };
    let ids = |agents: &[AgentId]| agents.iter().map(|agent| agent.0).collect::<Vec<_>>();
    let banned = estate.banned.iter().map(|agent| {
        Llsd::map([
            ("id", Llsd::from(agent.0)),
            ("banning_id", Uuid::nil().into()),
            ("ban_date", "n/a".into()),
            ("last_login_date", "n/a".into()),
        ])
    });
    Llsd::map([
        ("AllowedAgents", rows("id", ids(&estate.allowed))),
        ("AllowedGroups", rows("id", estate.groups.clone())),
        ("BannedAgents", Llsd::Array(banned.collect())),
        ("Managers", rows("agent_id", ids(&estate.managers))),
    ])
}

fn text(param: &str) -> EstateOwnerMessageParamList {
    EstateOwnerMessageParamList { parameter: to_wire(param, VARIABLE1_MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::header::DATAGRAM_MAX;
    use wire::text::from_wire;

    fn reader() -> EstateReader {
        let id = Uuid::from_u128(7);
        EstateReader { agent: AgentId(id), session_id: id, transaction: id, invoice: id }
    }

    #[test]
    fn a_long_list_is_in_messages_that_fit_a_datagram() {
        let ids: Vec<Uuid> = (0..500).map(Uuid::from_u128).collect();
        let messages = reader().list(BANNED, &ids);
        let mut found = Vec::new();
        for message in messages {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert!(bytes.len() + 6 <= DATAGRAM_MAX, "{} bytes", bytes.len());
            let params: Vec<&[u8]> = message.param_list.iter().map(|row| row.parameter.as_slice()).collect();
            assert_eq!(from_wire(params[1]), BANNED.to_string());
            assert_eq!(from_wire(params[4]), (params.len() - 6).to_string());
            found.extend(params[6..].iter().map(|id| Uuid::from_slice(id).expect("16 bytes")));
        }
        assert_eq!(found, ids);
    }

    #[test]
    fn an_empty_list_is_one_message() {
        assert_eq!(reader().list(MANAGERS, &[]).len(), 1);
    }
}
