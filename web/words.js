// What rows say, in words: the one table from which the stories of this page and those of `explain` are made. It is JSON, as the program
// reads it, too (src/report/words.rs); the patterns and templates are explained there.

export const WORDS = {
  "deletions": {
    "TaintManagerEviction": "Evicted by the taint eviction controller",
    "EvictionByEvictionAPI": "Evicted through the eviction API, as drains do",
    "DeletionByPodGC": "Deleted by the pod garbage collector, as its node is gone",
    "PreemptionByScheduler": "Preempted by the scheduler for a pod of higher priority",
    "TerminationByKubelet": "Ended by its kubelet",
    "NodePressure": "Evicted by its kubelet for lack of resources",
    "ScaleDown": "Deleted by its controller, which was to have fewer pods",
    "RollingUpdate": "Deleted by its controller for a pod of the new template",
    "DaemonSetController": "Deleted by the DaemonSet controller",
    "OwnerDeleted": "Deleted by the garbage collector, as its owner is gone",
    "Kubectl": "Deleted by kubectl",
    "Completed": "Deleted after it had ended",
    "Failed": "Failed",
    "PodKill": "Killed by a fault",
    "": "Gone"
  },
  "taint": { "+": "tainted", "-": "rid of" },
  "forms": [
    { "row": "conditions changed", "says": "" },
    { "row": "nominated", "says": "" },
    { "row": "Ready=True", "says": "Ready" },
    { "row": "Ready=False", "says": "No longer Ready", "no_news": "" },
    { "row": "conditions changed, Ready={status}", "says": "Its condition Ready became {status}", "no_news": "Its other conditions changed" },
    { "row": "bound to {node}", "says": "Bound to {object:node/node} by the scheduler" },
    { "row": "marked for deletion ({cause})", "says": "{deletion:cause}" },
    { "row": "PodScheduled=False ({reason}): {message}", "says": "No node takes it: {obstacle:message}" },
    { "row": "waits: CrashLoopBackOff ({container})", "says": "Its container {container} has ended too often, and is not started for now: CrashLoopBackOff" },
    { "row": "waits: {reason} ({image})", "says": "The image {image} is not pulled: {reason}" },
    { "row": "is Running, its containers wait: CrashLoopBackOff ({container})", "says": "Its container {container} has ended too often, and is not started for now: CrashLoopBackOff" },
    { "row": "is Running, its containers wait: {reason} ({image})", "says": "Others of its containers run; the image {image} is not pulled: {reason}" },
    { "row": "is Running", "says": "Its containers run" },
    { "row": "is Failed ({reason})", "says": "Ended as Failed ({reason})" },
    { "row": "is Failed", "says": "Ended as Failed" },
    { "row": "is Succeeded", "says": "Ended as Succeeded" },
    { "row": "had a container that {how}", "says": "Its container {how}" },
    { "row": "had an init container that {how}", "says": "Its init container {how}" },
    { "row": "changed, replicas: {count}", "says": "Its spec changed; it asks for {count} replicas" },
    { "row": "changed", "says": "Its spec changed" },
    { "row": "allows 0", "says": "Allows no disruption" },
    { "row": "allows 1", "says": "Allows 1 disruption" },
    { "row": "allows {count}", "says": "Allows {count} disruptions" },
    { "row": "has 1 ready endpoints", "says": "Has 1 ready endpoint" },
    { "row": "eviction refused by {budget}", "says": "Its eviction was refused by {key:budget}" },
    { "row": "eviction refused {times} times, the last at {last}, by {budget}", "says": "Its eviction was refused {times} times, the last at {last}, by {key:budget}" },
    { "row": "gone", "says": "Its object left the API" },
    { "row": "deleted", "says": "Its object was deleted" }
  ]
};
