"""What a program does that is written with the Python client. Arguments: a kubeconfig, and the address of the server."""

import json
import sys
import threading
import time
import urllib.request

from kubernetes import client, config, watch

config.load_kube_config(sys.argv[1])
core, apps, custom = client.CoreV1Api(), client.AppsV1Api(), client.CustomObjectsApi()


def turn(what, body):
    request = urllib.request.Request(f"{sys.argv[2]}/kubesquall/v1/{what}", data=json.dumps(body).encode())
    return json.load(urllib.request.urlopen(request))


def refused(call):
    try:
        call()
    except client.ApiException as error:
        return error.status, json.loads(error.body)["reason"]
    raise AssertionError("it was not refused")


assert len(core.list_node().items) == 4
pods = core.list_namespaced_pod("shop", label_selector="app=web").items
assert len(pods) == 4
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="py")))
template = client.V1PodTemplateSpec(
    metadata=client.V1ObjectMeta(labels={"a": "p"}),
    spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="x")]),
)
spec = client.V1DeploymentSpec(
    replicas=2, selector=client.V1LabelSelector(match_labels={"a": "p"}), template=template
)
apps.create_namespaced_deployment("py", client.V1Deployment(metadata=client.V1ObjectMeta(name="p"), spec=spec))

told = []


def listen():
    for event in watch.Watch().stream(core.list_namespaced_pod, "py", timeout_seconds=3):
        told.append((event["type"], int(event["object"].metadata.resource_version)))


listener = threading.Thread(target=listen)
listener.start()
time.sleep(0.5)
turn("jump", {"by": "20s"})
listener.join()
assert told[0][0] == "ADDED" and len(told) >= 6, told
assert [version for _, version in told] == sorted(version for _, version in told), told

apps.patch_namespaced_deployment_scale("p", "py", {"spec": {"replicas": 3}})
assert apps.read_namespaced_deployment_scale("p", "py").spec.replicas == 3
name = pods[0].metadata.name
eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=name))
assert refused(lambda: core.create_namespaced_pod_eviction(name, "shop", eviction)) == (429, "TooManyRequests")
old = apps.read_namespaced_deployment("p", "py")
old.spec.replicas = 1
apps.replace_namespaced_deployment("p", "py", old)
assert refused(lambda: apps.replace_namespaced_deployment("p", "py", old)) == (409, "Conflict")
fault = {
    "apiVersion": "kubesquall.sim/v1alpha1",
    "kind": "Fault",
    "metadata": {"name": "py"},
    "spec": {"kind": "KubeletStop", "nodes": {"names": ["n-3"]}},
}
custom.create_cluster_custom_object("kubesquall.sim", "v1alpha1", "faults", fault)
faults = custom.list_cluster_custom_object("kubesquall.sim", "v1alpha1", "faults")["items"]
assert [fault["status"]["phase"] for fault in faults] == ["Active"], faults
turn("jump", {"by": "2m"})
ready = {
    node.metadata.name: condition.status
    for node in core.list_node().items
    for condition in node.status.conditions
    if condition.type == "Ready"
}
assert ready["n-3"] == "Unknown", ready
custom.delete_cluster_custom_object("kubesquall.sim", "v1alpha1", "faults", "py")
turn("jump", {"by": "2m"})
core.delete_namespaced_pod(core.list_namespaced_pod("py").items[0].metadata.name, "py")
core.delete_namespace("py")
turn("jump", {"by": "2m"})
assert refused(lambda: core.read_namespace("py")) == (404, "NotFound")
print("done")
