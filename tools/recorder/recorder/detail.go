package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
)

// detail keeps what recording.json leaves out: each change of a pod's phase, conditions and containers, of a node's conditions, each renewal of a lease.
func (r *recorder) note(kind, name, what string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := kind + " " + name; r.noted[key] != what {
		r.noted[key] = what
		r.detail = append(r.detail, map[string]any{"t": now, "kind": kind, "name": name, "what": what})
	}
}

func (r *recorder) podDetail(p *core.Pod) {
	var b strings.Builder
	fmt.Fprint(&b, p.Status.Phase)
	if p.Status.Reason != "" {
		fmt.Fprintf(&b, " reason=%s (%s)", p.Status.Reason, p.Status.Message)
	}
	if p.DeletionTimestamp != nil {
		fmt.Fprintf(&b, " deleting(%d)", *p.DeletionGracePeriodSeconds)
	}
	for _, c := range p.Status.Conditions {
		if c.Status != core.ConditionTrue || c.Type == core.PodReady || c.Type == core.DisruptionTarget {
			fmt.Fprintf(&b, " %s=%s", c.Type, c.Status)
			if c.Reason != "" {
				fmt.Fprintf(&b, "(%s)", c.Reason)
			}
		}
	}
	for _, c := range append(append([]core.ContainerStatus{}, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...) {
		fmt.Fprintf(&b, " | %s", c.Name)
		switch {
		case c.State.Running != nil:
			fmt.Fprint(&b, " running")
		case c.State.Terminated != nil:
			fmt.Fprintf(&b, " ended %d %s", c.State.Terminated.ExitCode, c.State.Terminated.Reason)
		case c.State.Waiting != nil:
			fmt.Fprintf(&b, " waits %s", c.State.Waiting.Reason)
		}
		if c.Ready {
			fmt.Fprint(&b, " ready")
		}
		if c.Started != nil && *c.Started {
			fmt.Fprint(&b, " started")
		}
		if c.RestartCount > 0 {
			fmt.Fprintf(&b, " x%d", c.RestartCount)
		}
		if t := c.LastTerminationState.Terminated; t != nil {
			fmt.Fprintf(&b, " last %d %s", t.ExitCode, t.Reason)
		}
	}
	r.note("pod", p.Namespace+"/"+p.Name+" "+string(p.UID)[:4]+" @"+p.Spec.NodeName, b.String())
}

func (r *recorder) nodeDetail(n *core.Node) {
	var out []string
	for _, c := range n.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s(%s) beat %s since %s", c.Type, c.Status, c.Reason, c.LastHeartbeatTime.Format("04:05"), c.LastTransitionTime.Format("04:05")))
	}
	for _, t := range n.Spec.Taints {
		out = append(out, t.Key+":"+string(t.Effect))
	}
	sort.Strings(out)
	r.note("node", n.Name, fmt.Sprintf("boot %s cordoned %v %s", n.Status.NodeInfo.BootID, n.Spec.Unschedulable, strings.Join(out, "; ")))
}

func (r *recorder) leaseDetail(l *coordination.Lease) {
	if l.Namespace == "kube-node-lease" && l.Spec.RenewTime != nil {
		r.note("lease", l.Name, l.Spec.RenewTime.UTC().Format("15:04:05.000"))
	}
}

func (r *recorder) writeDetail(path string) {
	f, err := os.Create(path)
	must(err)
	defer f.Close()
	fmt.Fprintf(f, "{\"zero\":%q}\n", r.zero.UTC().Format("15:04:05.000"))
	for _, x := range r.detail {
		x["time_s"] = at(r, x["t"].(time.Time))
		delete(x, "t")
		b, _ := json.Marshal(x)
		f.Write(append(b, '\n'))
	}
}
