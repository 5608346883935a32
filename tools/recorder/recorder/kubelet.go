package main

import (
	"context"
	"encoding/json"
	"math/rand"
	"strconv"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Kubelet stands in for the kubelet of one node.
type Kubelet struct {
	mu       sync.Mutex
	c        kubernetes.Interface
	name     string
	labels   map[string]string
	capacity map[string]string
	taints   []core.Taint
	lat      Latency

	up, connected bool
	unready       bool
	epoch         int
	pods          map[types.UID]*podState
	cache         func() []*core.Pod
	postedReady   string
	hollow        *Hollow // where it is set, a real kubelet, and nothing of the stand-in
}

type Latency struct{ start, stop, ready time.Duration }

type podState struct {
	pod      *core.Pod
	starting bool
	running  bool
	ready    bool
	killing  bool
	dead     bool
	done     core.PodPhase
	code     int32
	started  meta.Time
	finished meta.Time
	posted   string
}

var bg = context.Background()

func (k *Kubelet) node() *core.Node {
	rl := core.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110"), "ephemeral-storage": resource.MustParse("100Gi")}
	for n, v := range k.capacity {
		rl[core.ResourceName(n)] = resource.MustParse(v)
	}
	labels := map[string]string{"kubernetes.io/hostname": k.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}
	for a, b := range k.labels {
		labels[a] = b
	}
	return &core.Node{ObjectMeta: meta.ObjectMeta{Name: k.name, Labels: labels}, Spec: core.NodeSpec{Taints: k.taints}, Status: core.NodeStatus{Capacity: rl, Allocatable: rl}}
}

func (k *Kubelet) conditions(old []core.NodeCondition) []core.NodeCondition {
	now := meta.Now()
	ready, reason := core.ConditionTrue, "KubeletReady"
	if k.unready {
		ready, reason = core.ConditionFalse, "KubeletNotReady"
	}
	var out []core.NodeCondition
	add := func(t core.NodeConditionType, s core.ConditionStatus, r string) {
		at := now
		for _, o := range old {
			if o.Type == t && o.Status == s {
				at = o.LastTransitionTime
			}
		}
		out = append(out, core.NodeCondition{Type: t, Status: s, Reason: r, LastHeartbeatTime: now, LastTransitionTime: at})
	}
	add(core.NodeMemoryPressure, core.ConditionFalse, "KubeletHasSufficientMemory")
	add(core.NodeDiskPressure, core.ConditionFalse, "KubeletHasNoDiskPressure")
	add(core.NodePIDPressure, core.ConditionFalse, "KubeletHasSufficientPID")
	add(core.NodeReady, ready, reason)
	return out
}

func (k *Kubelet) postNode() bool {
	n, err := k.c.CoreV1().Nodes().Get(bg, k.name, meta.GetOptions{ResourceVersion: "0"})
	if errors.IsNotFound(err) {
		return false
	}
	if err != nil {
		return false
	}
	old := n.Status.Conditions
	n = n.DeepCopy()
	n.Status.Conditions = k.conditions(old)
	p := map[string]any{"status": map[string]any{"conditions": n.Status.Conditions, "capacity": k.node().Status.Capacity, "allocatable": k.node().Status.Allocatable}}
	b, _ := json.Marshal(p)
	_, err = k.c.CoreV1().Nodes().Patch(bg, k.name, types.StrategicMergePatchType, b, meta.PatchOptions{}, "status")
	return err == nil
}

func (k *Kubelet) register() {
	n := k.node()
	for {
		_, err := k.c.CoreV1().Nodes().Create(bg, n, meta.CreateOptions{})
		if err == nil || errors.IsAlreadyExists(err) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for !k.postNode() {
		time.Sleep(200 * time.Millisecond)
	}
}

func (k *Kubelet) renew() {
	now := meta.NewMicroTime(time.Now())
	secs := int32(40)
	for i := 0; i < 5; i++ {
		l, err := k.c.CoordinationV1().Leases("kube-node-lease").Get(bg, k.name, meta.GetOptions{})
		if errors.IsNotFound(err) {
			_, err = k.c.CoordinationV1().Leases("kube-node-lease").Create(bg, &coordination.Lease{ObjectMeta: meta.ObjectMeta{Name: k.name, Namespace: "kube-node-lease"},
				Spec: coordination.LeaseSpec{HolderIdentity: &k.name, LeaseDurationSeconds: &secs, RenewTime: &now}}, meta.CreateOptions{})
		} else if err == nil {
			l.Spec.RenewTime = &now
			_, err = k.c.CoordinationV1().Leases("kube-node-lease").Update(bg, l, meta.UpdateOptions{})
		}
		if err == nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (k *Kubelet) alive() bool { k.mu.Lock(); defer k.mu.Unlock(); return k.up && k.connected }

// state says whether the process of that epoch still runs, and whether its calls arrive.
func (k *Kubelet) state(epoch int) (goesOn, connected bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.up && k.epoch == epoch, k.connected
}

func (k *Kubelet) run(first bool) {
	k.mu.Lock()
	k.up, k.connected = true, true
	k.epoch++
	epoch := k.epoch
	if k.pods == nil {
		k.pods = map[types.UID]*podState{}
	}
	k.mu.Unlock()
	if first {
		k.register()
		k.renew()
	}
	go func() {
		// as the lease controller: at once (done by the caller), then every 100 to 104 % of the interval
		time.Sleep(time.Duration(float64(10*time.Second) * (1 + 0.04*rand.Float64())))
		for {
			goesOn, connected := k.state(epoch)
			if !goesOn {
				return
			}
			if connected {
				k.renew()
			}
			time.Sleep(time.Duration(float64(10*time.Second) * (1 + 0.04*rand.Float64())))
		}
	}()
	go func() {
		for {
			time.Sleep(10 * time.Second)
			goesOn, connected := k.state(epoch)
			if !goesOn {
				return
			}
			if connected {
				n, err := k.c.CoreV1().Nodes().Get(bg, k.name, meta.GetOptions{ResourceVersion: "0"})
				if errors.IsNotFound(err) {
					continue // kubelets do not register again
				}
				if err == nil {
					want := core.ConditionTrue
					if k.unready {
						want = core.ConditionFalse
					}
					for _, c := range n.Status.Conditions {
						if c.Type == core.NodeReady && c.Status != want {
							k.postNode()
						}
					}
				}
			}
		}
	}()
}

func (k *Kubelet) crash() {
	k.mu.Lock()
	k.up, k.connected = false, false
	k.epoch++
	for _, s := range k.pods {
		s.running, s.ready, s.starting, s.killing = false, false, false, false
	}
	k.mu.Unlock()
}

func (k *Kubelet) partition() { k.mu.Lock(); k.connected = false; k.mu.Unlock() }

func (k *Kubelet) back(crashed bool) {
	if crashed {
		k.run(false)
	} else {
		k.mu.Lock()
		k.connected = true
		k.mu.Unlock()
	}
	if crashed {
		k.register() // a new process registers its node where there is none
	}
	k.renew()
	k.postNode()
	k.mu.Lock()
	live := map[types.UID]*core.Pod{}
	for _, p := range k.cache() {
		if p.Spec.NodeName == k.name {
			live[p.UID] = p
		}
	}
	for uid := range k.pods {
		if live[uid] == nil {
			delete(k.pods, uid)
		}
	}
	for uid, p := range live {
		s := k.pods[uid]
		if s == nil || p.Status.Phase == core.PodFailed || p.Status.Phase == core.PodSucceeded {
			continue
		}
		s.pod = p
		if p.DeletionTimestamp != nil {
			continue
		}
		if crashed {
			if s.done != "" {
				continue
			}
			s.starting, s.ready = true, false
			go k.post(s)
			k.begin(s, 2*time.Second)
		} else {
			time.AfterFunc(time.Second, func() { k.mu.Lock(); defer k.mu.Unlock(); s.posted = ""; go k.post(s) })
		}
	}
	k.mu.Unlock()
	for _, p := range live {
		k.see(p)
	}
}

// begin: with the lock held.
func (k *Kubelet) begin(s *podState, after time.Duration) {
	s.starting = true
	epoch := k.epoch
	time.AfterFunc(after, func() {
		k.mu.Lock()
		if k.epoch != epoch || s.killing || s.dead || !k.up {
			k.mu.Unlock()
			return
		}
		s.starting, s.running = false, true
		s.started = meta.Now()
		s.ready = k.lat.ready == 0
		if k.lat.ready > 0 {
			time.AfterFunc(k.lat.ready, func() {
				k.mu.Lock()
				if k.epoch == epoch && s.running && !s.killing {
					s.ready = true
				}
				k.mu.Unlock()
				k.post(s)
			})
		}
		if d, ok := s.pod.Annotations["kubesquall.sim/run-for"]; ok {
			code, _ := strconv.Atoi(s.pod.Annotations["kubesquall.sim/exit-code"])
			time.AfterFunc(dur(d), func() {
				k.mu.Lock()
				if k.epoch != epoch || s.killing || !s.running {
					k.mu.Unlock()
					return
				}
				s.running, s.ready = false, false
				s.finished = meta.Now()
				s.code = int32(code)
				s.done = core.PodSucceeded
				if code != 0 {
					s.done = core.PodFailed
				}
				k.mu.Unlock()
				k.post(s)
			})
		}
		k.mu.Unlock()
		k.post(s)
	})
}

// see is told of each change of a pod bound to this node.
func (k *Kubelet) see(p *core.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.up || !k.connected || k.hollow != nil {
		return
	}
	s := k.pods[p.UID]
	terminal := p.Status.Phase == core.PodFailed || p.Status.Phase == core.PodSucceeded
	if s == nil {
		s = &podState{pod: p}
		k.pods[p.UID] = s
		if p.DeletionTimestamp == nil && !terminal {
			k.begin(s, k.lat.start)
		}
	}
	s.pod = p
	if terminal && s.done == "" {
		s.done = p.Status.Phase
		s.running, s.ready = false, false
	}
	if p.DeletionTimestamp != nil && !s.killing {
		s.killing = true
		wait := k.lat.stop
		if p.DeletionGracePeriodSeconds != nil && time.Duration(*p.DeletionGracePeriodSeconds)*time.Second < wait {
			wait = time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
		}
		epoch := k.epoch
		time.AfterFunc(wait, func() { k.finish(s, epoch) })
	}
}

func (k *Kubelet) finish(s *podState, epoch int) {
	k.mu.Lock()
	if !k.up || k.epoch != epoch {
		k.mu.Unlock()
		return
	}
	s.running, s.ready = false, false
	job := false
	for _, o := range s.pod.OwnerReferences {
		job = job || o.Kind == "Job"
	}
	p := s.pod
	if job && s.done == "" {
		s.done, s.code, s.finished = core.PodFailed, 137, meta.Now()
	}
	k.mu.Unlock()
	for !k.alive() {
		time.Sleep(100 * time.Millisecond)
		k.mu.Lock()
		gone := !k.up
		k.mu.Unlock()
		if gone {
			return
		}
	}
	if job {
		k.post(s)
	}
	zero := int64(0)
	for i := 0; i < 20; i++ {
		err := k.c.CoreV1().Pods(p.Namespace).Delete(bg, p.Name, meta.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &meta.Preconditions{UID: &p.UID}})
		if err == nil || errors.IsNotFound(err) || errors.IsConflict(err) {
			break
		}
		time.Sleep(300 * time.Millisecond)
	}
	k.mu.Lock()
	s.dead = true
	k.mu.Unlock()
}

// post writes the pod's status.
func (k *Kubelet) post(s *podState) {
	for i := 0; i < 50; i++ {
		k.mu.Lock()
		if !k.up || s.dead {
			k.mu.Unlock()
			return
		}
		if !k.connected {
			k.mu.Unlock()
			return
		}
		p := s.pod
		ready, running, done, started, code, fin := s.ready, s.running, s.done, s.started, s.code, s.finished
		k.mu.Unlock()
		cur, err := k.c.CoreV1().Pods(p.Namespace).Get(bg, p.Name, meta.GetOptions{})
		if errors.IsNotFound(err) || (err == nil && cur.UID != p.UID) {
			return
		}
		if err != nil {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		st := cur.Status.DeepCopy()
		now := meta.Now()
		set := func(t core.PodConditionType, v bool, reason string) {
			val := core.ConditionFalse
			if v {
				val = core.ConditionTrue
			}
			for i := range st.Conditions {
				if st.Conditions[i].Type == t {
					if st.Conditions[i].Status != val {
						st.Conditions[i].LastTransitionTime = now
					}
					st.Conditions[i].Status, st.Conditions[i].Reason, st.Conditions[i].Message = val, reason, ""
					return
				}
			}
			st.Conditions = append(st.Conditions, core.PodCondition{Type: t, Status: val, Reason: reason, LastTransitionTime: now})
		}
		reason := ""
		if !ready {
			reason = "ContainersNotReady"
		}
		if done == core.PodSucceeded {
			reason = "PodCompleted"
		}
		if done == core.PodFailed {
			reason = "PodFailed"
		}
		set(core.PodInitialized, true, "")
		set(core.PodReady, ready, reason)
		set(core.ContainersReady, ready, reason)
		if st.StartTime == nil {
			st.StartTime = &now
		}
		st.ContainerStatuses = nil
		for _, c := range cur.Spec.Containers {
			cs := core.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: "x", Ready: ready}
			b := running
			cs.Started = &b
			switch {
			case done != "":
				cs.State.Terminated = &core.ContainerStateTerminated{ExitCode: code, StartedAt: started, FinishedAt: fin, Reason: "Completed"}
				if code != 0 {
					cs.State.Terminated.Reason = "Error"
				}
			case running:
				cs.State.Running = &core.ContainerStateRunning{StartedAt: started}
			default:
				cs.State.Waiting = &core.ContainerStateWaiting{Reason: "ContainerCreating"}
			}
			st.ContainerStatuses = append(st.ContainerStatuses, cs)
		}
		switch {
		case done != "":
			st.Phase = done
		case running || cur.Status.Phase == core.PodRunning:
			st.Phase = core.PodRunning
		}
		cur = cur.DeepCopy()
		cur.Status = *st
		_, err = k.c.CoreV1().Pods(p.Namespace).UpdateStatus(bg, cur, meta.UpdateOptions{})
		if err == nil || errors.IsNotFound(err) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
