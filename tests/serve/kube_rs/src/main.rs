//! What an operator does that is written with kube-rs: reflectors that follow a cluster through jumps of its time, writes, refusals.
//! One argument: a kubeconfig.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, EvictParams, GroupVersionKind, ListParams, LogParams, Patch,
    PatchParams, PostParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, Store};
use kube::runtime::wait::{Condition as _, await_condition, conditions};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};

/// How long anything may take that does not take the cluster's time.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("which kubeconfig?")?;
    let mut config =
        Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?;
    // A budget that refuses an eviction is a 429, which it would ask again for a quarter of an hour.
    config.default_retry = false;
    let client = Client::try_from(config)?;
    for strategy in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        eprintln!("a reflector, {strategy:?}");
        follow(&client, strategy).await?;
    }
    eprintln!("writes");
    write(&client).await?;
    eprintln!("refusals");
    be_refused(&client).await?;
    eprintln!("a fault");
    break_something(&client).await?;
    println!("done");
    Ok(())
}

/// Turns the time of the cluster.
async fn jump(client: &Client, how: Value) -> Result<()> {
    let request = http::Request::post("/kubesquall/v1/jump").body(serde_json::to_vec(&how)?)?;
    client.request::<Value>(request).await?;
    Ok(())
}

/// Waits until something is so.
async fn until<F: Future<Output = Result<bool>>>(what: &str, mut is_so: impl FnMut() -> F) -> Result<()> {
    let begun = std::time::Instant::now();
    while !is_so().await? {
        ensure!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// A reflector, whose task runs until it is dropped.
struct Reflected {
    store: Store<Pod>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Reflected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn reflect(pods: Api<Pod>, strategy: watcher::Config) -> Reflected {
    let (store, writer) = reflector::store();
    let stream = watcher(pods, strategy).default_backoff().reflect(writer);
    let task = tokio::spawn(async move {
        let mut stream = pin!(stream);
        while stream.next().await.is_some() {}
    });
    Reflected { store, task }
}

/// A reflector has what a list has: at first, after a jump forward, and after one back, which its watch is refused for.
async fn follow(client: &Client, strategy: watcher::Config) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    let reflected = reflect(pods.clone(), strategy);
    tokio::time::timeout(PATIENCE, reflected.store.wait_until_ready()).await??;
    eprintln!("it has listed");
    for how in [json!({"by": "30s"}), json!({"by": "5m"}), json!({"to": "30s"}), json!({"to": "0s"})] {
        eprintln!("jump {how}");
        jump(client, how.clone()).await?;
        until(&format!("the reflector has what the list has, after {how}"), || async {
            let told: BTreeSet<_> = reflected
                .store
                .state()
                .iter()
                .map(|pod| (pod.name_any(), pod.status.clone().and_then(|s| s.phase)))
                .collect();
            let listed = pods.list(&ListParams::default()).await?;
            let listed: BTreeSet<_> =
                listed.iter().map(|pod| (pod.name_any(), pod.status.clone().and_then(|s| s.phase))).collect();
            Ok(!listed.is_empty() && told == listed)
        })
        .await?;
    }
    Ok(())
}

/// Creates, applies, scales, cordons, waits and deletes.
async fn write(client: &Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "kube-rs"}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "kube-rs");
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "w"}},
            "template": {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
        },
    });
    let apply = PatchParams::apply("kube-rs");
    let first = deployments.patch("w", &apply, &Patch::Apply(&deployment)).await?;
    let again = deployments.patch("w", &apply, &Patch::Apply(&deployment)).await?;
    ensure!(first.resource_version() == again.resource_version(), "what changes nothing is no new version");
    let is_rolled_out = await_condition(deployments.clone(), "w", conditions::is_deployment_completed());
    jump(client, json!({"by": "1m"})).await?;
    tokio::time::timeout(PATIENCE, is_rolled_out).await??;
    let scale =
        deployments.patch_scale("w", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 3}}))).await?;
    ensure!(scale.spec.and_then(|spec| spec.replicas) == Some(3), "a scale of three");
    jump(client, json!({"by": "1m"})).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "kube-rs");
    let page = pods.list(&ListParams::default().labels("app=w").limit(2)).await?;
    let token = page.metadata.continue_.clone().filter(|token| !token.is_empty()).context("a second page")?;
    let rest = pods.list(&ListParams::default().labels("app=w").limit(2).continue_token(&token)).await?;
    ensure!((page.items.len(), rest.items.len()) == (2, 1), "two pages of three pods");
    let running = page.items.iter().chain(&rest.items).filter(|pod| conditions_hold(pod)).count();
    ensure!(running == 3, "{running} of 3 pods are Ready");
    let nodes: Api<Node> = Api::all(client.clone());
    ensure!(nodes.cordon("n-1").await?.spec.and_then(|spec| spec.unschedulable) == Some(true), "n-1 is cordoned");
    nodes.uncordon("n-1").await?;
    let mut pod_events = pin!(watcher(pods.clone(), watcher::Config::default()).touched_objects());
    deployments.delete("w", &DeleteParams::foreground()).await?;
    jump(client, json!({"by": "2m"})).await?;
    until("all pods are gone", || async { Ok(pods.list(&ListParams::default()).await?.items.is_empty()) }).await?;
    // The watch began when all was over: nothing is told but an empty list.
    let told = tokio::time::timeout(Duration::from_millis(500), pod_events.try_next()).await;
    ensure!(told.is_err(), "told of what had been before: {told:?}");
    namespaces.delete("kube-rs", &DeleteParams::default()).await?;
    Ok(())
}

fn conditions_hold(pod: &Pod) -> bool {
    conditions::is_pod_running().matches_object(Some(pod))
        && pod
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten())
            .any(|c| c.type_ == "Ready" && c.status == "True")
}

/// Refusals have the code and the reason of the API server.
async fn be_refused(client: &Client) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    let web = pods.list(&ListParams::default().labels("app=web")).await?;
    let name = web.items.first().context("a pod")?.name_any();
    refused(pods.evict(&name, &EvictParams::default()).await, 429, "TooManyRequests")?;
    refused(pods.get("nobody").await, 404, "NotFound")?;
    refused(pods.create(&PostParams::default(), &Pod::default()).await, 422, "Invalid")?;
    refused(pods.logs(&name, &LogParams::default()).await, 501, "NotImplemented")?;
    let nodes: Api<Node> = Api::all(client.clone());
    let mut old = nodes.get("n-0").await?;
    let labelled = json!({"metadata": {"labels": {"kube": "rs"}}});
    nodes.patch("n-0", &PatchParams::default(), &Patch::Merge(&labelled)).await?;
    old.labels_mut().insert("kube".to_owned(), "late".to_owned());
    refused(nodes.replace("n-0", &PostParams::default(), &old).await, 409, "Conflict")
}

fn refused<T>(answer: kube::Result<T>, code: u16, reason: &str) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == code && status.reason == reason => Ok(()),
        Err(error) => bail!("{code} {reason} is expected, not {error:?}"),
        Ok(_) => bail!("{code} {reason} is expected, and it was done"),
    }
}

/// A fault as an object without a type of its own, and what comes of it.
async fn break_something(client: &Client) -> Result<()> {
    let faults = ApiResource::from_gvk(&GroupVersionKind::gvk("kubesquall.sim", "v1alpha1", "Fault"));
    let faults: Api<DynamicObject> = Api::all_with(client.clone(), &faults);
    let fault = json!({
        "apiVersion": "kubesquall.sim/v1alpha1", "kind": "Fault", "metadata": {"name": "rs"},
        "spec": {"kind": "Crash", "nodes": {"names": ["n-2"]}},
    });
    faults.create(&PostParams::default(), &serde_json::from_value(fault)?).await?;
    jump(client, json!({"by": "2m"})).await?;
    let node = Api::<Node>::all(client.clone()).get("n-2").await?;
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    let ready =
        conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| condition.status.as_str());
    ensure!(ready == Some("Unknown"), "n-2 is {ready:?}");
    faults.delete("rs", &DeleteParams::default()).await?;
    Ok(())
}
