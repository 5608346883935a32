//! Evictions, and the budgets that they ask.

use super::*;

#[test]
fn an_eviction_takes_from_the_budget_and_leaves_a_condition() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let (a, b) = (api.running("a", true), api.running("b", true));
    api.evict(a).expect("an eviction");
    let pod = api.get(a);
    assert_eq!(pod.deletion.map(|d| d.cause), Some(DeletionCause::EvictionByEvictionApi));
    assert_eq!(pod.disruption_target.map(|t| t.reason.as_str()), Some("EvictionByEvictionAPI"));
    let status = &api.store.budgets[budget].status;
    assert_eq!(status.disruptions_allowed, 0);
    assert!(status.disrupted_pods.contains_key("a"));
    assert_eq!(status.condition.as_ref().map(|c| (c.0, c.1.as_str())), Some((false, "InsufficientPods")));
    let error = api.evict(b).expect_err("no room");
    assert_eq!(error.reason, ErrorReason::TooManyRequests);
    assert_eq!(error.retry_after, None);
    assert_eq!(error.message, "Cannot evict pod as it would violate the pod's disruption budget.");
}

/// Evicts one pod under a budget: the cause of a refusal, or nothing.
#[track_caller]
fn check_eviction(policy: &str, status: (i32, i32, i32), is_ready: bool, refusal: Option<&str>) {
    let mut api = Api::new();
    let spec =
        if policy.is_empty() { APP_A.to_owned() } else { format!("{APP_A}, unhealthyPodEvictionPolicy: {policy}") };
    let budget = api.budget(&spec, status);
    let pod = api.running("p", is_ready);
    let answer = api.evict(pod);
    let found = answer.err().map(|error| error.detail.unwrap_or(error.message));
    assert_eq!(found.as_deref(), refusal, "{policy} {status:?} ready {is_ready}");
    if refusal.is_none() && !is_ready {
        assert!(api.store.budgets[budget].status.disrupted_pods.is_empty(), "the budget is not touched");
    }
}

#[test]
fn unhealthy_pods_pass_when_the_healthy_are_enough_or_always() {
    let needs = |desired: i32, has: i32| {
        format!("The disruption budget b needs {desired} healthy pods and has {has} currently")
    };
    check_eviction("", (0, 0, 0), false, Some(&needs(0, 0)));
    check_eviction("IfHealthyBudget", (0, 0, 0), false, Some(&needs(0, 0)));
    check_eviction("", (0, 2, 2), true, Some(&needs(2, 2)));
    check_eviction("IfHealthyBudget", (0, 2, 2), false, None);
    check_eviction("", (0, 2, 2), false, None);
    check_eviction("IfHealthyBudget", (0, 1, 2), false, Some(&needs(2, 1)));
    check_eviction("AlwaysAllow", (0, 1, 2), false, None);
    check_eviction("AlwaysAllow", (0, 1, 2), true, Some(&needs(2, 1)));
    check_eviction("", (-1, 1, 2), true, Some("pdb disruptions allowed is negative"));
}

#[test]
fn pods_that_never_ran_or_have_ended_or_go_already_ask_no_budget() {
    for phase in [PodPhase::Pending, PodPhase::Succeeded, PodPhase::Failed] {
        let mut api = Api::new();
        let budget = api.budget(APP_A, (0, 0, 0));
        let pod = api.running("p", false);
        let patch = PodStatusPatch { phase: Some(phase), ..PodStatusPatch::default() };
        api.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
        api.evict(pod).expect("an eviction");
        assert!(api.store.budgets[budget].status.disrupted_pods.is_empty());
    }
    let mut api = Api::new();
    let budget = api.budget(APP_A, (0, 2, 2));
    let pod = api.running("p", true);
    delete(&mut api, pod, None).expect("a deletion");
    let deletion = api.get(pod).deletion;
    api.evict(pod).expect("an eviction");
    assert_eq!(api.get(pod).deletion, deletion);
    assert!(api.store.budgets[budget].status.disrupted_pods.is_empty());
}

#[test]
fn the_selector_says_which_pods_a_budget_protects() {
    let check = |selector: &str, is_protected: bool| {
        let mut api = Api::new();
        api.budget(&format!("{selector} minAvailable: 1"), (0, 1, 1));
        let pod = api.running("p", true);
        assert_eq!(api.evict(pod).is_err(), is_protected, "{selector}");
    };
    check("selector: {matchLabels: {app: a}},", true);
    check("selector: {matchLabels: {app: b}},", false);
    check("selector: {},", true);
    check("", false);
}

#[test]
fn two_budgets_on_one_pod_are_an_error_of_the_server() {
    let mut api = Api::new();
    for name in ["b1", "b2"] {
        let text = format!("{{metadata: {{name: {name}, namespace: default}}, spec: {{{APP_A}}}}}");
        let budget: model::PodDisruptionBudget = serde_saphyr::from_str(&text).expect("a budget");
        api.create(Object::PodDisruptionBudget(Box::new(budget))).expect("a new budget");
        let id = api.store.budgets.ids().last().expect("the budget");
        api.set_budget(id, |old| PodDisruptionBudgetStatus { disruptions_allowed: 5, ..old });
    }
    let pod = api.running("p", true);
    let (reason, message) = api.refusal(Request::EvictPod { pod, grace_s: None, dry_run: false });
    assert_eq!(reason, ErrorReason::InternalError);
    assert_eq!(
        message,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    );
}

#[test]
fn a_budget_that_was_changed_asks_for_ten_seconds_of_patience() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { observed_generation: 0, ..old });
    let pod = api.running("p", true);
    let error = api.evict(pod).expect_err("a refusal");
    assert_eq!(error.reason, ErrorReason::TooManyRequests);
    assert_eq!(error.retry_after, Some(SimDuration::from_secs(10)));
    assert_eq!(error.detail.as_deref(), Some("The disruption budget b is still being processed by the server."));
}

#[test]
fn a_dry_run_asks_the_budget_and_changes_nothing() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let pod = api.running("p", true);
    let dry = Request::EvictPod { pod, grace_s: None, dry_run: true };
    api.ask(dry.clone()).expect("room");
    assert!(api.get(pod).deletion.is_none() && api.get(pod).disruption_target.is_none());
    assert_eq!(api.store.budgets[budget].status.disruptions_allowed, 1);
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { disruptions_allowed: 0, ..old });
    assert_eq!(api.refusal(dry).0, ErrorReason::TooManyRequests);
}

#[test]
fn more_than_2000_unconfirmed_evictions_are_too_many() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 5000, 1));
    let disrupted: BTreeMap<Arc<str>, SimTime> =
        (0..2001).map(|i| (Arc::from(format!("x{i}")), SimTime::ZERO)).collect();
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { disrupted_pods: disrupted.into_iter().collect(), ..old });
    let pod = api.running("p", true);
    let (reason, _) = api.refusal(Request::EvictPod { pod, grace_s: None, dry_run: false });
    assert_eq!(reason, ErrorReason::Forbidden);
}

#[test]
fn three_evictions_at_once_and_room_for_one() {
    let mut api = Api::new();
    api.budget(APP_A, (1, 3, 2));
    let pods = ["a", "b", "c"].map(|name| api.running(name, true));
    let granted = pods.into_iter().filter(|&pod| api.evict(pod).is_ok()).count();
    assert_eq!(granted, 1);
}

/// Why an eviction was refused: the reason, the text, and after how many seconds to ask again.
type Refusal = (ErrorReason, String, Option<u64>);

/// Evictions that are under way together, and what happens to the cluster meanwhile.
struct Overlap<'a> {
    api: &'a mut Api,
    /// What follows when; equal times in the order in which they were begun.
    queue: BTreeMap<(SimTime, usize), Box<Eviction>>,
    begun: usize,
    /// Each pod's answer, with the seconds it took.
    answers: Vec<(PodId, f64, Answer)>,
    began_at: SimTime,
}

impl<'a> Overlap<'a> {
    /// They all arrive at once.
    fn new(api: &'a mut Api, pods: &[PodId]) -> Self {
        let began_at = api.now;
        let mut overlap = Self { api, queue: BTreeMap::new(), begun: 0, answers: Vec::new(), began_at };
        for &pod in pods {
            let request = Request::EvictPod { pod, grace_s: None, dry_run: false };
            let Api { api, store, config, now, changed } = &mut *overlap.api;
            let served = api.serve(store, config, &Streams::new(7), *now, request, changed);
            overlap.took(pod, served);
        }
        overlap
    }

    fn took(&mut self, pod: PodId, served: Served) {
        match served {
            Served::Continues(after, rest) => {
                self.begun += 1;
                self.queue.insert((self.api.now + after, self.begun), rest);
            }
            Served::Answered(answer) => {
                let took = self.api.now.saturating_since(self.began_at).as_secs_f64();
                self.answers.push((pod, took, answer));
            }
        }
    }

    /// The next step that is due; false if all have been answered. `before` is what others do just before it.
    fn step(&mut self, before: &mut dyn FnMut(&mut Api)) -> bool {
        let Some(((at, _), rest)) = self.queue.pop_first() else { return false };
        self.api.now = at;
        before(self.api);
        let pod = rest.pod();
        let Api { api, store, config, now, changed } = &mut *self.api;
        let served = api.resume(store, config, &Streams::new(7), *now, rest, changed);
        self.took(pod, served);
        true
    }

    fn play(&mut self) {
        while self.step(&mut |_| {}) {}
    }

    /// The one answer, and what it took.
    #[track_caller]
    fn only(&self) -> (f64, Result<(), Refusal>) {
        let [(_, took, answer)] = self.answers.as_slice() else { panic!("{:?}", self.answers) };
        let error = |e: &crate::component::ApiError| {
            let text = e.detail.clone().unwrap_or_else(|| e.message.clone());
            (e.reason, text, e.retry_after.map(SimDuration::as_secs))
        };
        (*took, answer.as_ref().map(|_| ()).map_err(error))
    }
}

#[test]
fn of_evictions_at_once_under_a_budget_with_room_one_goes_and_the_others_half_a_second_later() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (2, 4, 2));
    let pods = ["a", "b"].map(|name| api.running(name, true));
    let mut overlap = Overlap::new(&mut api, &pods);
    overlap.play();
    let took: Vec<f64> =
        overlap.answers.iter().map(|(_, took, answer)| *answer.as_ref().map(|_| took).expect("room")).collect();
    assert!(took[0] < 0.1 && (0.5..0.65).contains(&took[1]), "{took:?}");
    let status = &api.store.budgets[budget].status;
    assert_eq!((status.disruptions_allowed, status.disrupted_pods.len()), (0, 2));
}

#[test]
fn evictions_whose_reads_and_writes_do_not_overlap_do_not_wait() {
    let mut api = Api::new();
    api.budget(APP_A, (2, 4, 2));
    for name in ["a", "b"] {
        let pod = api.running(name, true);
        let mut overlap = Overlap::new(&mut api, &[pod]);
        overlap.play();
        let (took, answer) = overlap.only();
        assert!(answer.is_ok() && took < 0.1, "{took} {answer:?}");
    }
}

#[test]
fn of_three_evictions_at_once_and_room_for_one_two_are_refused_when_they_look_again() {
    let mut api = Api::new();
    api.budget(APP_A, (1, 3, 2));
    let pods = ["a", "b", "c"].map(|name| api.running(name, true));
    let mut overlap = Overlap::new(&mut api, &pods);
    overlap.play();
    let refused: Vec<_> = overlap.answers.iter().filter(|(_, _, answer)| answer.is_err()).collect();
    assert_eq!((overlap.answers.len(), refused.len()), (3, 2));
    for (_, took, answer) in refused {
        let error = answer.as_ref().expect_err("a refusal");
        assert_eq!((error.reason, error.retry_after), (ErrorReason::TooManyRequests, None));
        assert!((0.5..0.65).contains(took), "{took}");
    }
}

#[test]
fn a_budget_that_somebody_else_always_writes_first_is_given_up_after_twenty_tries() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 3, 2));
    let pod = api.running("p", true);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let mut writes = 0;
    while overlap.step(&mut |api| {
        writes += 1;
        api.set_budget(budget, |old| PodDisruptionBudgetStatus { expected_pods: writes, ..old });
    }) {}
    let (took, answer) = overlap.only();
    let text = "Operation cannot be fulfilled on poddisruptionbudgets.policy \"b\": the object has been modified; please apply \
                your changes to the latest version and try again";
    assert_eq!(answer, Err((ErrorReason::Conflict, text.to_owned(), None)));
    // Nineteen pauses of 0.5 to 0.55 s.
    assert!((9.5..11.0).contains(&took), "{took}");
    assert!(api.get(pod).deletion.is_none());
}

#[test]
fn an_unready_pod_that_changes_before_it_is_deleted_is_to_be_asked_for_again() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (0, 2, 2));
    let pod = api.running("p", false);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let ready = PodStatusPatch { ready: Some(Status::True), ..PodStatusPatch::default() };
    while overlap.step(&mut |api| api.patch(pod, ready.clone())) {}
    let text = "The disruption budget b is still being processed by the server.";
    assert_eq!(overlap.only().1, Err((ErrorReason::TooManyRequests, text.to_owned(), Some(10))));
    assert!(api.get(pod).deletion.is_none());
    assert!(api.store.budgets[budget].status.disrupted_pods.is_empty());
}

fn pending(api: &mut Api) -> PodId {
    api.pod(&format!("{{metadata: {{name: p, labels: {{app: a}}}}, spec: {{nodeName: n, {ONE}}}}}"))
}

#[test]
fn a_pending_pod_that_comes_to_run_before_it_is_deleted_is_judged_by_its_budget() {
    let check = |allowed: i32, refusal: Option<&str>| {
        let mut api = Api::new();
        let budget = api.budget(APP_A, (allowed, 0, 0));
        let pod = pending(&mut api);
        let mut overlap = Overlap::new(&mut api, &[pod]);
        let running = PodStatusPatch { phase: Some(PodPhase::Running), ..PodStatusPatch::default() };
        while overlap.step(&mut |api| api.patch(pod, running.clone())) {}
        let (took, answer) = overlap.only();
        assert!((0.5..0.6).contains(&took), "it is read again after the pause: {took}");
        assert_eq!(answer.err().map(|(_, text, _)| text).as_deref(), refusal);
        assert_eq!(api.store.budgets[budget].status.disrupted_pods.contains_key("p"), allowed > 0);
    };
    check(0, Some("The disruption budget b needs 0 healthy pods and has 0 currently"));
    check(1, None);
}

#[test]
fn a_pending_pod_that_changes_once_is_deleted_at_the_second_try() {
    let mut api = Api::new();
    api.budget(APP_A, (0, 0, 0));
    let pod = pending(&mut api);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let mut is_first = true;
    while overlap.step(&mut |api| {
        if std::mem::take(&mut is_first) {
            let started = PodStatusPatch { started: Some(api.now), ..PodStatusPatch::default() };
            api.patch(pod, started);
        }
    }) {}
    let (took, answer) = overlap.only();
    assert!(answer.is_ok() && (0.5..0.6).contains(&took), "{took} {answer:?}");
    assert!(api.get(pod).deletion.is_some());
}

#[test]
fn a_pending_pod_that_changes_all_the_time_is_given_up_after_twenty_tries() {
    let mut api = Api::new();
    let pod = pending(&mut api);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let mut restarts = 0;
    while overlap.step(&mut |api| {
        restarts += 1;
        let container = crate::state::ContainerStatus { restarts, ..Default::default() };
        api.patch(
            pod,
            PodStatusPatch { containers: Some([container].into_iter().collect()), ..PodStatusPatch::default() },
        );
    }) {}
    let (took, answer) = overlap.only();
    let (reason, text, _) = answer.expect_err("a conflict");
    assert_eq!(reason, ErrorReason::Conflict);
    assert!(
        text.starts_with("Operation cannot be fulfilled on Pod \"p\": the ResourceVersion in the precondition"),
        "{text}"
    );
    assert!((9.5..11.0).contains(&took), "{took}");
    assert!(api.get(pod).deletion.is_none() && api.get(pod).disruption_target.is_none());
}

#[test]
fn a_pod_or_budget_that_goes_meanwhile_is_not_found() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let (a, b) = (api.running("a", true), api.running("b", true));
    let mut overlap = Overlap::new(&mut api, &[a]);
    while overlap.step(&mut |api| {
        delete(api, a, Some(0)).ok();
    }) {}
    assert_eq!(overlap.only().1.err().map(|(reason, ..)| reason), Some(ErrorReason::NotFound));
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { disruptions_allowed: 1, ..old });
    let mut overlap = Overlap::new(&mut api, &[b]);
    let mut steps = 0;
    while overlap.step(&mut |api| {
        steps += 1;
        if steps == 2 {
            let (namespace, name) = (Symbol::new("default"), Symbol::new("b"));
            api.ask(Request::DeleteOther { kind: ObjectKind::PodDisruptionBudget.into(), namespace, name })
                .expect("a deletion");
        }
    }) {}
    assert_eq!(overlap.only().1.err().map(|(reason, ..)| reason), Some(ErrorReason::NotFound));
    assert!(api.get(b).deletion.is_none());
}

#[test]
fn a_refusal_says_why_as_far_as_its_version_knows() {
    let check = |minor: u32, condition: (&'static str, &str), healthy: i32, expected: &str| {
        let version = format!("1.{minor}").parse().expect("a version");
        let mut api = Api::of_version(version);
        let budget = api.budget(APP_A, (0, healthy, 2));
        let (reason, message) = condition;
        api.set_budget(budget, |old| PodDisruptionBudgetStatus {
            condition: Some((false, reason.into(), Arc::from(message))),
            ..old
        });
        let pod = api.running("p", true);
        let (_, detail) = api.refusal(Request::EvictPod { pod, grace_s: None, dry_run: false });
        assert_eq!(detail, format!("The disruption budget b {expected}"), "1.{minor} {condition:?}");
    };
    check(36, ("SyncFailed", "e"), 2, "does not allow evicting pods currently because it failed sync: e");
    check(36, ("r", "m"), 3, "does not allow evicting pods currently (r): m");
    check(36, ("InsufficientPods", ""), 2, "needs 2 healthy pods and has 2 currently");
    check(36, ("InsufficientPods", ""), 3, "does not allow evicting pods currently");
    check(34, ("SyncFailed", "e"), 3, "needs 2 healthy pods and has 3 currently");
}

#[test]
fn the_grace_of_an_eviction_is_the_one_asked_for() {
    let mut api = Api::new();
    let (a, b) = (api.running("a", true), api.running("b", true));
    api.ask(Request::EvictPod { pod: a, grace_s: Some(5), dry_run: false }).expect("an eviction");
    assert_eq!(api.get(a).deletion.map(|d| d.grace), Some(SimDuration::from_secs(5)));
    api.ask(Request::EvictPod { pod: b, grace_s: Some(0), dry_run: false }).expect("an eviction");
    assert!(api.store.pod(b).is_none());
    assert_eq!(api.evict(b).expect_err("gone").reason, ErrorReason::NotFound);
}
