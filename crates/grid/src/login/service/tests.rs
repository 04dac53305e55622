//! Whole logins against a store in memory, with real hashes at a low cost.

use super::*;
use crate::attempts::FailureBudget;
use crate::names::NameError;
use crate::password::{Cost, LoadHint};
use crate::users::Users;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use telemetry::recorder::{Recorder, RecorderConfig};
use wire::llsd::Llsd;

const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));

struct Grid {
    store: Arc<Store>,
    service: LoginService,
}

fn grid(config: LoginConfig) -> Grid {
    let store = Arc::new(Store::open_in_memory().unwrap());
    let clock = Arc::new(|| Instant::ZERO);
    let passwords = Passwords::start(CHEAP, LoadHint::default(), clock).unwrap();
    let service = LoginService::new(Arc::clone(&store), passwords, config).unwrap();
    Grid { store, service }
}

/// A grid with Ada, whose password is "secret".
fn grid_with_ada(config: LoginConfig) -> (Grid, AgentId) {
    let grid = grid(config);
    let ada = Users::new(&grid.store, CHEAP).add("Ada", "Lovelace", "secret", 0).unwrap();
    (grid, ada)
}

fn open() -> LoginConfig {
    LoginConfig { open_registration: true, ..LoginConfig::default() }
}

fn request(first: &str, last: &str, password: &str) -> LoginRequest {
    LoginRequest {
        first: first.into(),
        last: last.into(),
        digest: crate::password::PasswordDigest::of_password(password).unwrap(),
        start: crate::login::LoginStart::Last,
        channel: String::new(),
        version: String::new(),
        agrees_to_terms: false,
        has_read_notice: false,
    }
}

const fn at(s: u64) -> Now {
    Now { instant: Instant::from_millis(s * 1000), unix_s: 1_700_000_000 }
}

impl Grid {
    async fn login(&self, s: u64, request: &LoginRequest) -> Result<Authenticated, LoginDenial> {
        self.service.authenticate(at(s), STRANGER, request).await
    }

    fn remembered(&self) -> usize {
        self.service.memory().remembered.len()
    }
}

#[tokio::test]
async fn the_right_password_enters_under_any_spelling_of_the_name() {
    let (grid, ada) = grid_with_ada(LoginConfig::default());
    for (first, last) in [("Ada", "Lovelace"), ("ADA", "lovelace"), ("ada.lovelace", "")] {
        let entered = grid.login(0, &request(first, last, "secret")).await.unwrap();
        assert_eq!((entered.account.agent, entered.created), (ada, false));
        assert_eq!(entered.account.first, "Ada");
    }
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_are_refused_alike() {
    let (grid, _) = grid_with_ada(LoginConfig::default());
    for (first, password) in [("Ada", "wrong"), ("Nobody", "secret"), ("Ädä <x>", "secret")] {
        let refused = grid.login(0, &request(first, "Lovelace", password)).await;
        assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::BadCredentials), "{first}");
    }
    assert!(grid.store.accounts(None, 10).unwrap().len() == 1, "nothing was registered");
}

/// The work of the answer is what its time shows, on a machine that does nothing else.
#[tokio::test]
async fn an_unknown_name_costs_as_many_hashes_as_a_wrong_password() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let readings = Arc::new(AtomicUsize::new(0));
    let clock = {
        let readings = Arc::clone(&readings);
        Arc::new(move || {
            readings.fetch_add(1, Ordering::SeqCst);
            Instant::ZERO
        })
    };
    // The passwords thread reads its clock before each job, and again after its reply.
    let jobs = || readings.load(Ordering::SeqCst).div_ceil(2);
    let store = Arc::new(Store::open_in_memory().unwrap());
    let passwords = Passwords::start(CHEAP, LoadHint::default(), clock).unwrap();
    let service = LoginService::new(Arc::clone(&store), passwords, LoginConfig::default()).unwrap();
    Users::new(&store, CHEAP).add("Ada", "Lovelace", "secret", 0).unwrap();
    let mut costs = Vec::new();
    for (first, last) in
        [("Nobody", "Here"), ("Ada", "Lovelace"), ("Nobody", "Here"), ("Ada", "Nobody"), ("A<", "B")]
    {
        let before = jobs();
        let refused = service.authenticate(at(0), STRANGER, &request(first, last, "wrong")).await;
        assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::BadCredentials), "{first}");
        costs.push(jobs() - before);
    }
    assert_eq!(costs, [1; 5]);
}

#[tokio::test]
async fn open_registration_makes_the_account_with_its_inventory() {
    let grid = grid(open());
    let entered = grid.login(0, &request("Grace", "", "secret")).await.unwrap();
    assert!(entered.created);
    assert_eq!((entered.account.last.as_str(), entered.account.created_s), ("Resident", 1_700_000_000));
    assert!(!grid.store.folders(entered.account.agent).unwrap().is_empty());
    let again = grid.login(1, &request("Grace", "", "secret")).await.unwrap();
    assert!(!again.created);
    let other = grid.login(1, &request("Grace", "", "guess")).await;
    assert_eq!(other.map(|entered| entered.created), Err(LoginDenial::BadCredentials));
}

#[tokio::test]
async fn forbidden_names_and_passwords_are_not_registered() {
    let grid = grid(open());
    for (first, last, error) in [
        ("Governor", "Linden", NameError::Reserved),
        ("Gr<ce", "Hopper", NameError::Letter),
        ("", "Hopper", NameError::Length),
    ] {
        let refused = grid.login(0, &request(first, last, "secret")).await;
        assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::Name(error)), "{first}");
    }
    let nothing = crate::password::PasswordDigest::parse("d41d8cd98f00b204e9800998ecf8427e").unwrap();
    let refused = grid.login(0, &LoginRequest { digest: nothing, ..request("Grace", "Hopper", "x") }).await;
    assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::BadCredentials));
    assert!(grid.store.accounts(None, 10).unwrap().is_empty());
}

#[tokio::test]
async fn two_first_logins_at_once_make_one_account_and_both_enter() {
    let grid = grid(open());
    let request = request("Grace", "Hopper", "secret");
    let (one, two) = tokio::join!(grid.login(0, &request), grid.login(0, &request));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.account.agent, two.account.agent);
    assert!(one.created != two.created, "exactly one of them made it");
}

#[tokio::test]
async fn a_ban_is_disclosed_only_with_the_password_and_counts_at_once() {
    let (grid, ada) = grid_with_ada(LoginConfig::default());
    let right = request("Ada", "Lovelace", "secret");
    grid.login(0, &right).await.unwrap();
    assert_eq!(grid.remembered(), 1);
    grid.store.set_ban(ada, Some("spam")).unwrap();
    let refused = grid.login(1, &request("Ada", "Lovelace", "wrong")).await;
    assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::BadCredentials));
    let refused = grid.login(1, &right).await;
    assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::Banned("spam".into())));
    assert_eq!(grid.remembered(), 0);
    grid.store.set_ban(ada, None).unwrap();
    assert!(grid.login(2, &right).await.is_ok());
}

#[tokio::test]
async fn a_remembered_login_needs_no_hash_until_its_time_is_over() {
    let (grid, ada) = grid_with_ada(LoginConfig::default());
    let right = request("Ada", "Lovelace", "secret");
    let stored = grid.login(0, &right).await.unwrap().account.password_hash;
    // A hash that cannot be verified shows whether one was needed.
    grid.store.set_password_hash(ada, &PasswordHash("damaged".into())).unwrap();
    assert_eq!(grid.login(1, &right).await.map(|entered| entered.created), Err(LoginDenial::Internal));
    grid.service.memory().remembered.insert(
        at(1).instant,
        ada,
        &right.digest,
        &PasswordHash("damaged".into()),
    );
    assert!(grid.login(2, &right).await.is_ok(), "remembered against the hash that is stored now");
    let late = 2 + Remembered::LIFETIME.as_secs();
    assert_eq!(grid.login(late, &right).await.map(|entered| entered.created), Err(LoginDenial::Internal));
    grid.store.set_password_hash(ada, &stored).unwrap();
    assert!(grid.login(late, &right).await.is_ok());
}

#[tokio::test]
async fn a_password_changed_by_another_process_voids_the_remembered_one() {
    let (grid, _) = grid_with_ada(LoginConfig::default());
    grid.login(0, &request("Ada", "Lovelace", "secret")).await.unwrap();
    Users::new(&grid.store, CHEAP).set_password("Ada", "Lovelace", "other").unwrap();
    let refused = grid.login(1, &request("Ada", "Lovelace", "secret")).await;
    assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::BadCredentials));
    assert!(grid.login(1, &request("Ada", "Lovelace", "other")).await.is_ok());
}

#[tokio::test]
async fn a_remembered_login_is_no_way_around_the_limit_on_guesses() {
    let pair = FailureBudget { burst: 3, forgiven_after: Duration::from_secs(30) };
    let attempts = AttemptLimits { pair, ..AttemptLimits::default() };
    let (grid, _) = grid_with_ada(LoginConfig { attempts, ..LoginConfig::default() });
    let (right, wrong) = (request("Ada", "Lovelace", "secret"), request("Ada", "Lovelace", "wrong"));
    grid.login(0, &right).await.unwrap();
    for _ in 0..3 {
        assert_eq!(grid.login(0, &wrong).await.map(drop), Err(LoginDenial::BadCredentials));
    }
    // While limited, the right password sounds like a wrong one: else the answer would be a free guess.
    assert!(matches!(grid.login(0, &right).await, Err(LoginDenial::RateLimited(_))));
    assert!(matches!(grid.login(0, &wrong).await, Err(LoginDenial::RateLimited(_))));
    assert!(grid.login(30, &right).await.is_ok());
}

#[tokio::test]
async fn a_name_without_an_account_is_limited_like_one_with_an_account() {
    let (grid, _) = grid_with_ada(LoginConfig::default());
    let mut allowed = Vec::new();
    for spellings in [["Ada", "ADA"], ["Nobody", "NOBODY"], ["A<", "a<"]] {
        let mut n = 0;
        while let Err(LoginDenial::BadCredentials) =
            grid.login(0, &request(spellings[n % 2], "Lovelace", "wrong")).await
        {
            n += 1;
        }
        allowed.push(n);
    }
    assert_eq!(allowed, [AttemptLimits::default().pair.burst as usize; 3]);
}

#[tokio::test]
async fn registrations_are_limited_by_address() {
    let address = FailureBudget { burst: 2, forgiven_after: Duration::from_secs(60) };
    let attempts = AttemptLimits { address, ..AttemptLimits::default() };
    let grid = grid(LoginConfig { attempts, ..open() });
    assert!(grid.login(0, &request("One", "", "x")).await.is_ok());
    assert!(grid.login(0, &request("Two", "", "x")).await.is_ok());
    assert!(matches!(grid.login(0, &request("Three", "", "x")).await, Err(LoginDenial::RateLimited(_))));
}

#[tokio::test]
async fn terms_and_notices_come_before_everything_else() {
    let config = LoginConfig {
        terms: Some("Be nice.".into()),
        notice: Some("Moved.".into()),
        ..LoginConfig::default()
    };
    let (grid, _) = grid_with_ada(config);
    let mut request = request("Ada", "Lovelace", "secret");
    let mut refused = grid.login(0, &request).await;
    assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::Terms("Be nice.".into())));
    request.agrees_to_terms = true;
    refused = grid.login(0, &request).await;
    assert_eq!(refused.map(|entered| entered.created), Err(LoginDenial::Notice("Moved.".into())));
    request.has_read_notice = true;
    assert!(grid.login(0, &request).await.is_ok());
}

#[test]
fn a_login_may_be_awaited_on_any_thread() {
    const fn assert_send<T: Send>(_: &T) {}
    let (grid, request) = (grid(LoginConfig::default()), request("Ada", "Lovelace", "secret"));
    assert_send(&grid.login(0, &request));
}

/// From the bytes of a client to an account: what an HTTP handler does.
#[tokio::test]
async fn the_request_of_a_client_is_understood_from_its_bytes() {
    let (grid, ada) = grid_with_ada(LoginConfig::default());
    let document = "<?xml version=\"1.0\"?><methodCall><methodName>login_to_simulator</methodName><params><param><value><struct>\
        <member><name>first</name><value><string>Ada</string></value></member>\
        <member><name>last</name><value>Lovelace</value></member>\
        <member><name>passwd</name><value><string>$1$5ebe2294ecd0e0f08eab7690d2a6ee69</string></value></member>\
        <member><name>start</name><value><string>uri:Plaza&amp;1&amp;2&amp;3</string></value></member>\
        <member><name>agree_to_tos</name><value><int>1</int></value></member>\
        <member><name>read_critical</name><value><boolean>1</boolean></value></member>\
        <member><name>options</name><value><array><data><value>inventory-root</value></data></array></value></member>\
        </struct></value></param></params></methodCall>";
    let call = wire::xmlrpc::decode_call(document.as_bytes(), wire::llsd::Limits::STRANGER).unwrap();
    let request = LoginRequest::from_llsd(call.params.first().unwrap_or(&Llsd::Undef)).unwrap();
    assert!(matches!(&request.start, crate::login::LoginStart::Region { name, .. } if name == "Plaza"));
    assert!(request.agrees_to_terms && request.has_read_notice);
    assert_eq!(grid.login(0, &request).await.unwrap().account.agent, ada);
}

#[test]
fn the_thread_that_makes_an_account_reports_its_figures() {
    let recorder = Recorder::start(RecorderConfig::default()).unwrap();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.on_thread_start(move || recorder.thread("http").install()).build().unwrap();
    runtime.block_on(grid(open()).login(0, &request("New", "Person", "secret"))).unwrap();
    let capture = recorder.capture(Duration::MAX);
    assert!(capture.threads.iter().any(|thread| !thread.samples.is_empty()));
}

#[tokio::test]
async fn the_first_login_of_a_process_takes_one_incarnation_and_a_start_takes_none() {
    let first = grid(LoginConfig::default());
    let (one, two) = tokio::join!(first.service.incarnation(), first.service.incarnation());
    let numbers = [one, two, first.service.incarnation().await].map(Result::unwrap);
    assert_eq!(numbers, [Incarnation(1); 3]);
    let started = |store: &Arc<Store>| {
        let passwords = Passwords::start(CHEAP, LoadHint::default(), Arc::new(|| Instant::ZERO)).unwrap();
        LoginService::new(Arc::clone(store), passwords, LoginConfig::default()).unwrap()
    };
    drop(started(&first.store));
    assert_eq!(started(&first.store).incarnation().await, Ok(Incarnation(2)));
}
