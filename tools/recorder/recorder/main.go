// recorder plays a scenario on a real control plane and records what a watching client sees.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var (
	bin    = flag.String("bin", "bin", "directory of etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl")
	dir    = flag.String("case", "", "directory with setup.yaml and its manifests; the recording is written there")
	base   = flag.Int("port", 16400, "first of five ports of 127.0.0.1")
	settle = flag.Duration("settle", 20*time.Second, "from the manifests to t=0")
)

type process struct {
	name string
	args []string
	cmd  *exec.Cmd
	mu   sync.Mutex
}

func (p *process) start(tmp string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, _ := os.OpenFile(filepath.Join(tmp, p.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	p.cmd = exec.Command(filepath.Join(*bin, p.name), p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		panic(err)
	}
	go p.cmd.Wait()
}

func (p *process) kill() { p.mu.Lock(); defer p.mu.Unlock(); p.cmd.Process.Kill() }

type recorder struct {
	mu        sync.Mutex
	zero      time.Time
	pods      map[types.UID]*pod
	order     []*pod
	nodes     []map[string]any
	lastNode  map[string]string
	events    []map[string]any
	eventSeen map[types.UID]int32
	workloads []map[string]any
	budgets   []map[string]any
	kubectl   []map[string]any
	detail    []map[string]any
	noted     map[string]string
}

type pod struct {
	Namespace, Name string
	Owner           any
	created         time.Time
	scheduled       time.Time
	node            string
	started         time.Time
	ready           [][2]any
	readyAt         []time.Time
	deletion        time.Time
	cause           any
	finished        time.Time
	phase           string
	gone            time.Time
}

func at(r *recorder, t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return math.Round(t.Sub(r.zero).Seconds()*1000) / 1000
}

func (r *recorder) podSeen(p *core.Pod, gone bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.pods[p.UID]
	if x == nil {
		x = &pod{Namespace: p.Namespace, Name: p.Name, created: now}
		for _, o := range p.OwnerReferences {
			if o.Controller != nil && *o.Controller {
				x.Owner = o.Kind + "/" + o.Name
			}
		}
		r.pods[p.UID] = x
		r.order = append(r.order, x)
	}
	x.Owner = nil
	for _, o := range p.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			x.Owner = o.Kind + "/" + o.Name
		}
	}
	if p.Spec.NodeName != "" && x.scheduled.IsZero() {
		x.scheduled, x.node = now, p.Spec.NodeName
	}
	for _, c := range p.Status.Conditions {
		switch c.Type {
		case core.PodReady:
			last := ""
			if n := len(x.ready); n > 0 {
				last = x.ready[n-1][1].(string)
			}
			if string(c.Status) != last && (last != "" || c.Status == core.ConditionTrue) {
				x.ready = append(x.ready, [2]any{nil, string(c.Status)})
				x.readyAt = append(x.readyAt, now)
			}
		case core.DisruptionTarget:
			if c.Status == core.ConditionTrue {
				x.cause = c.Reason
			}
		}
	}
	if p.Status.Phase == core.PodRunning && x.started.IsZero() {
		x.started = now
	}
	if (p.Status.Phase == core.PodFailed || p.Status.Phase == core.PodSucceeded) && x.finished.IsZero() {
		x.finished = now
	}
	x.phase = string(p.Status.Phase)
	if p.DeletionTimestamp != nil && x.deletion.IsZero() {
		x.deletion = now
	}
	if gone {
		x.gone = now
		if x.deletion.IsZero() {
			x.deletion = now
		}
	}
}

func (r *recorder) nodeSeen(n *core.Node) {
	now := time.Now()
	ready := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == core.NodeReady {
			ready = string(c.Status)
		}
	}
	taints := []string{}
	for _, t := range n.Spec.Taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	sort.Strings(taints)
	key := fmt.Sprint(ready, n.Spec.Unschedulable, taints)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastNode[n.Name] == key {
		return
	}
	r.lastNode[n.Name] = key
	r.nodes = append(r.nodes, map[string]any{"t": now, "node": n.Name, "ready": ready, "unschedulable": n.Spec.Unschedulable, "taints": taints})
}

func (r *recorder) eventSee(e *core.Event) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	count := e.Count
	if e.Series != nil {
		count = e.Series.Count
	}
	if old, ok := r.eventSeen[e.UID]; ok && old == count {
		return
	}
	r.eventSeen[e.UID] = count
	c := e.Source.Component
	if c == "" {
		c = e.ReportingController
	}
	r.events = append(r.events, map[string]any{"t": now, "component": c, "type": e.Type, "reason": e.Reason, "kind": e.InvolvedObject.Kind,
		"namespace": e.InvolvedObject.Namespace, "name": e.InvolvedObject.Name, "message": e.Message})
}

func (r *recorder) other(kind string, o any) {
	now := time.Now()
	b, _ := json.Marshal(o)
	var m struct {
		Metadata struct{ Namespace, Name string }
		Spec     struct{ Replicas *int }
		Status   map[string]any
	}
	json.Unmarshal(b, &m)
	delete(m.Status, "conditions")
	r.mu.Lock()
	defer r.mu.Unlock()
	row := map[string]any{"t": now, "kind": kind, "name": m.Metadata.Namespace + "/" + m.Metadata.Name, "replicas": m.Spec.Replicas, "status": m.Status}
	if kind == "PodDisruptionBudget" {
		r.budgets = append(r.budgets, row)
	} else {
		r.workloads = append(r.workloads, row)
	}
}

// Which of the ports a process of the control plane answers on.
var ports = map[string]int{"kube-apiserver": 0, "kube-controller-manager": 3, "kube-scheduler": 4}

// Writes down when a process that was killed serves again: the scenario's `for:` lasts until then.
func noteService(path, process string, port int, killed time.Time) {
	began := time.Since(killed)
	health := map[bool]string{true: "readyz", false: "healthz"}[process == "kube-apiserver"]
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for time.Since(killed) < began+time.Minute {
		ask, err := http.NewRequest("GET", fmt.Sprintf("https://127.0.0.1:%d/%s", port, health), nil)
		must(err)
		ask.Header.Set("Authorization", "Bearer tok")
		if answer, err := client.Do(ask); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				break
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(err)
	defer file.Close()
	fmt.Fprintf(file, "%s started after %.2f s, serves after %.2f s\n", process, began.Seconds(), time.Since(killed).Seconds())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	flag.Parse()
	s, err := load(filepath.Join(*dir, "setup.yaml"))
	must(err)
	tmp, err := os.MkdirTemp("", "recorder")
	must(err)
	fmt.Println("logs", tmp)
	key, _ := rsa.GenerateKey(rand.Reader, 2048)
	must(os.WriteFile(tmp+"/sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	must(os.WriteFile(tmp+"/tokens.csv", []byte("tok,admin,admin,system:masters\n"), 0o600))
	port := *base
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '%s', insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: {token: tok}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n", url)
	must(os.WriteFile(tmp+"/kubeconfig", []byte(kubeconfig), 0o600))
	etcd := &process{name: "etcd", args: []string{tmp + "/etcd", fmt.Sprintf("http://127.0.0.1:%d", port+1), fmt.Sprintf("http://127.0.0.1:%d", port+2)}}
	api := &process{name: "kube-apiserver", args: append([]string{"--etcd-servers=" + fmt.Sprintf("http://127.0.0.1:%d", port+1), fmt.Sprintf("--secure-port=%d", port), "--bind-address=127.0.0.1", "--cert-dir=" + tmp + "/certs",
		"--token-auth-file=" + tmp + "/tokens.csv", "--authorization-mode=AlwaysAllow", "--service-account-issuer=https://x", "--service-account-key-file=" + tmp + "/sa.key",
		"--service-account-signing-key-file=" + tmp + "/sa.key", "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24", "--v=0"}, flags(s.Spec.ControlPlane.KubeApiserver)...)}
	kcm := &process{name: "kube-controller-manager", args: append([]string{"--kubeconfig=" + tmp + "/kubeconfig", "--authentication-kubeconfig=" + tmp + "/kubeconfig", "--authorization-kubeconfig=" + tmp + "/kubeconfig",
		fmt.Sprintf("--secure-port=%d", port+3), "--bind-address=127.0.0.1", "--cert-dir=" + tmp + "/kcmcerts", "--leader-elect=false", "--v=3"}, flags(s.Spec.ControlPlane.KubeControllerManager)...)}
	sched := &process{name: "kube-scheduler", args: append([]string{"--kubeconfig=" + tmp + "/kubeconfig", "--authentication-kubeconfig=" + tmp + "/kubeconfig", "--authorization-kubeconfig=" + tmp + "/kubeconfig",
		fmt.Sprintf("--secure-port=%d", port+4), "--bind-address=127.0.0.1", "--cert-dir=" + tmp + "/schedcerts", "--leader-elect=false", "--v=3"}, flags(s.Spec.ControlPlane.KubeScheduler)...)}
	etcd.start(tmp)
	time.Sleep(time.Second)
	api.start(tmp)
	cfg := &rest.Config{Host: url, BearerToken: "tok", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 1000}
	c, err := kubernetes.NewForConfig(cfg)
	must(err)
	for i := 0; ; i++ {
		if _, err := c.CoreV1().Namespaces().Get(bg, "default", meta.GetOptions{}); err == nil {
			break
		} else if i > 600 {
			panic(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	kcm.start(tmp)
	sched.start(tmp)
	for i := 0; i < 600; i++ {
		if _, err := c.CoreV1().ServiceAccounts("default").Get(bg, "default", meta.GetOptions{}); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println("control plane is up")

	r := &recorder{pods: map[types.UID]*pod{}, lastNode: map[string]string{}, eventSeen: map[types.UID]int32{}, noted: map[string]string{}}
	kubelets := map[string]*Kubelet{}
	var kmu sync.Mutex
	f := informers.NewSharedInformerFactory(c, 0)
	isHollow := s.Metadata.Annotations["kubelets"] == "hollow"
	// Stand-ins see what an informer sees, and so does their recording, unless the case has it follow: informers are blind for up to a minute after
	// the API server was away.
	var pods *follower
	on := func(informer func() cache.SharedIndexInformer, client rest.Interface, resource string, h cache.ResourceEventHandlerFuncs) {
		if isHollow || s.Metadata.Annotations["see"] == "follow" {
			seen := follow(cache.NewListWatchFromClient(client, resource, "", fields.Everything()), h)
			if resource == "pods" {
				pods = seen
			}
		} else {
			informer().AddEventHandler(h)
		}
	}
	all := func() []*core.Pod {
		var out []*core.Pod
		if pods != nil {
			for _, o := range pods.list() {
				out = append(out, o.(*core.Pod))
			}
			return out
		}
		for _, o := range f.Core().V1().Pods().Informer().GetStore().List() {
			out = append(out, o.(*core.Pod))
		}
		return out
	}
	tell := func(p *core.Pod) {
		kmu.Lock()
		k := kubelets[p.Spec.NodeName]
		kmu.Unlock()
		if k != nil {
			k.see(p)
		}
	}
	on(f.Core().V1().Pods().Informer, c.CoreV1().RESTClient(), "pods", cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.podSeen(o.(*core.Pod), false); r.podDetail(o.(*core.Pod)); tell(o.(*core.Pod)) },
		UpdateFunc: func(_, o any) { r.podSeen(o.(*core.Pod), false); r.podDetail(o.(*core.Pod)); tell(o.(*core.Pod)) },
		DeleteFunc: func(o any) {
			if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = d.Obj
			}
			r.podSeen(o.(*core.Pod), true)
			if p := o.(*core.Pod); true {
				r.note("pod", p.Namespace+"/"+p.Name+" "+string(p.UID)[:4]+" @"+p.Spec.NodeName, "gone")
			}
		}})
	on(f.Core().V1().Nodes().Informer, c.CoreV1().RESTClient(), "nodes", cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { r.nodeSeen(o.(*core.Node)); r.nodeDetail(o.(*core.Node)) }, UpdateFunc: func(_, o any) { r.nodeSeen(o.(*core.Node)); r.nodeDetail(o.(*core.Node)) },
		DeleteFunc: func(o any) {
			if n, ok := o.(*core.Node); ok {
				r.mu.Lock()
				taints := []string{}
				for _, t := range n.Spec.Taints {
					taints = append(taints, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
				}
				sort.Strings(taints)
				r.nodes = append(r.nodes, map[string]any{"t": time.Now(), "node": n.Name, "ready": "Absent", "unschedulable": n.Spec.Unschedulable, "taints": taints})
				delete(r.lastNode, n.Name)
				r.mu.Unlock()
			}
		}})
	on(f.Coordination().V1().Leases().Informer, c.CoordinationV1().RESTClient(), "leases", cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { r.leaseDetail(o.(*coordination.Lease)) }, UpdateFunc: func(_, o any) { r.leaseDetail(o.(*coordination.Lease)) }})
	on(f.Core().V1().Events().Informer, c.CoreV1().RESTClient(), "events", cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { r.eventSee(o.(*core.Event)) }, UpdateFunc: func(_, o any) { r.eventSee(o.(*core.Event)) }})
	apps, batch, policy := c.AppsV1().RESTClient(), c.BatchV1().RESTClient(), c.PolicyV1().RESTClient()
	for _, k := range []struct {
		kind, resource string
		informer       func() cache.SharedIndexInformer
		client         rest.Interface
	}{
		{"Deployment", "deployments", f.Apps().V1().Deployments().Informer, apps}, {"ReplicaSet", "replicasets", f.Apps().V1().ReplicaSets().Informer, apps},
		{"StatefulSet", "statefulsets", f.Apps().V1().StatefulSets().Informer, apps}, {"DaemonSet", "daemonsets", f.Apps().V1().DaemonSets().Informer, apps},
		{"Job", "jobs", f.Batch().V1().Jobs().Informer, batch}, {"CronJob", "cronjobs", f.Batch().V1().CronJobs().Informer, batch},
		{"PodDisruptionBudget", "poddisruptionbudgets", f.Policy().V1().PodDisruptionBudgets().Informer, policy},
	} {
		on(k.informer, k.client, k.resource, cache.ResourceEventHandlerFuncs{AddFunc: func(o any) { r.other(k.kind, o) }, UpdateFunc: func(_, o any) { r.other(k.kind, o) }})
	}
	f.Start(nil)
	f.WaitForCacheSync(nil)

	isCut := false
	for _, t := range s.Spec.Timeline {
		isCut = isCut || t.Fault != nil && t.Fault.Kind == "Partition"
	}
	lat := Latency{start: dur(s.Spec.Latency["podStart"].Constant), stop: dur(s.Spec.Latency["podStop"].Constant), ready: dur(s.Spec.Latency["podReady"].Constant)}
	counts := map[string]int{}
	join := func(pool string, n int) {
		for _, p := range s.Spec.Cluster.NodePools {
			if p.Name != pool {
				continue
			}
			for i := 0; i < n; i++ {
				k := &Kubelet{c: c, name: fmt.Sprintf("%s-%d", pool, counts[pool]), labels: map[string]string{"pool": pool}, capacity: p.Capacity, lat: lat, cache: all}
				for a, b := range p.Labels {
					k.labels[a] = b
				}
				if len(p.Zones) > 0 {
					k.labels["topology.kubernetes.io/zone"] = p.Zones[counts[pool]%len(p.Zones)]
				}
				for a, b := range p.Template.Metadata.Labels {
					k.labels[a] = b
				}
				if len(p.Template.Status.Allocatable) > 0 {
					k.capacity = p.Template.Status.Allocatable
				}
				for _, t := range append(p.Taints, p.Template.Spec.Taints...) {
					k.taints = append(k.taints, core.Taint{Key: t["key"], Value: t["value"], Effect: core.TaintEffect(t["effect"])})
				}
				counts[pool]++
				kmu.Lock()
				kubelets[k.name] = k
				kmu.Unlock()
				if isHollow {
					k.hollow = newHollow(k, tmp, fmt.Sprintf("127.0.0.1:%d", port), filepath.Join(*dir, "static"), isCut, dur(s.Spec.Latency["imagePull"].Constant))
					k.hollow.start()
					continue
				}
				go k.run(true)
			}
		}
	}
	for _, p := range s.Spec.Cluster.NodePools {
		join(p.Name, p.Count)
	}
	kc := func(line string, log bool) {
		start := time.Now()
		args := append([]string{"--kubeconfig=" + tmp + "/kubeconfig"}, shell(line)...)
		cmd := exec.Command(filepath.Join(*bin, "kubectl"), args...)
		cmd.Dir = *dir
		cmd.Env = append(os.Environ(), "HOME="+tmp, "KUBECONFIG="+tmp+"/kubeconfig")
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		must(cmd.Start())
		done := make(chan struct{})
		go func() { cmd.Wait(); close(done) }()
		<-done
		lines := func(b bytes.Buffer) []string {
			t := strings.TrimRight(b.String(), "\n")
			if t == "" {
				return []string{}
			}
			return strings.Split(t, "\n")
		}
		if !log {
			fmt.Print(o.String(), e.String())
			return
		}
		r.mu.Lock()
		r.kubectl = append(r.kubectl, map[string]any{"at": start, "done": time.Now(), "command": line, "exit": cmd.ProcessState.ExitCode(), "stdout": lines(o), "stderr": lines(e)})
		r.mu.Unlock()
	}
	time.Sleep(3 * time.Second)
	for _, m := range s.Spec.Cluster.Manifests {
		kc("apply -f "+m, false)
	}
	time.Sleep(*settle)
	// The newest time stamp of a dump says when it was taken.
	_, err = c.CoreV1().Namespaces().Create(bg, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "taken-now"}}, meta.CreateOptions{})
	must(err)
	os.Remove(*dir + "/outages.txt")
	out, err := exec.Command(filepath.Join(*bin, "kubectl"), "--kubeconfig="+tmp+"/kubeconfig", "get", "-A", "-o", "json",
		"nodes,pods,deployments,replicasets,statefulsets,daemonsets,jobs,cronjobs,pdb,controllerrevisions,namespaces,services,pvc,pv,storageclasses,priorityclasses,resourcequotas,limitranges,hpa").Output()
	must(err)
	r.mu.Lock()
	r.zero = time.Now()
	initial := map[*pod]bool{}
	for _, p := range r.order {
		if p.gone.IsZero() {
			initial[p] = true
		}
	}
	r.mu.Unlock()
	must(os.WriteFile(*dir+"/snapshot.json", out, 0o644))
	fmt.Println("t=0")

	groups := map[string][]int{}
	var keys []string
	for i, t := range s.Spec.Timeline {
		if groups[t.At] == nil {
			keys = append(keys, t.At)
		}
		groups[t.At] = append(groups[t.At], i)
	}
	for _, g := range keys {
		go func() {
			time.Sleep(time.Until(r.zero.Add(dur(g))))
			for _, i := range groups[g] {
				t := s.Spec.Timeline[i]
				switch {
				case t.Kubectl != "":
					kc(t.Kubectl, true)
				case t.AddNodes != nil:
					join(t.AddNodes.Pool, t.AddNodes.Count)
				case t.Fault != nil:
					fault(t.Fault, map[string]*process{"kube-apiserver": api, "kube-controller-manager": kcm, "kube-scheduler": sched, "etcd": etcd}, tmp, func() []*Kubelet {
						kmu.Lock()
						defer kmu.Unlock()
						var ks []*Kubelet
						for _, k := range kubelets {
							in := false
							for _, n := range t.Fault.Nodes.Names {
								in = in || n == k.name
							}
							for _, p := range t.Fault.Nodes.Pools {
								in = in || k.labels["pool"] == p
							}
							if t.Fault.Nodes.Pool != "" {
								in = k.labels["pool"] == t.Fault.Nodes.Pool
							}
							if t.Fault.Nodes.Zone != "" {
								in = k.labels["topology.kubernetes.io/zone"] == t.Fault.Nodes.Zone
							}
							if in {
								ks = append(ks, k)
							}
						}
						return ks
					})
				}
			}
		}()
	}
	time.Sleep(time.Until(r.zero.Add(dur(s.Spec.Duration))))
	r.write(*dir+"/recording.json", dur(s.Spec.Duration), initial)
	for _, k := range kubelets {
		if k.hollow != nil {
			k.hollow.kill(false)
		}
	}
	for _, p := range []*process{sched, kcm, api, etcd} {
		p.kill()
	}
	time.Sleep(200 * time.Millisecond)
	fmt.Println("done")
}

func fault(f *Fault, ps map[string]*process, tmp string, nodes func() []*Kubelet) {
	d := dur(f.For)
	for _, k := range nodes() {
		if k.hollow != nil {
			k.hollow.fault(f.Kind, d)
			continue
		}
		switch f.Kind {
		case "Crash":
			k.crash()
		case "Partition":
			k.partition()
		case "NotReady":
			k.mu.Lock()
			k.unready = true
			k.mu.Unlock()
			go k.postNode()
		}
		if d > 0 {
			time.AfterFunc(d, func() {
				switch f.Kind {
				case "NotReady":
					k.mu.Lock()
					k.unready = false
					k.mu.Unlock()
					k.postNode()
				default:
					k.back(f.Kind == "Crash")
				}
			})
		}
	}
	for _, c := range f.Components {
		p := ps[c]
		p.kill()
		if d > 0 {
			killed := time.Now()
			time.AfterFunc(d, func() {
				p.start(tmp)
				noteService(*dir+"/outages.txt", c, *base+ports[c], killed)
			})
		}
	}
}

func (r *recorder) write(path string, d time.Duration, initial map[*pod]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pods := []map[string]any{}
	for _, p := range r.order {
		if !p.gone.IsZero() && p.gone.Before(r.zero) {
			continue
		}
		ready := [][2]any{}
		for i, x := range p.ready {
			ready = append(ready, [2]any{at(r, p.readyAt[i]), x[1]})
		}
		var node any
		if p.node != "" {
			node = p.node
		}
		pods = append(pods, map[string]any{"namespace": p.Namespace, "name": p.Name, "owner": p.Owner, "initial": initial[p], "created_s": at(r, p.created),
			"scheduled_s": at(r, p.scheduled), "node": node, "started_s": at(r, p.started), "ready": ready, "deletion_s": at(r, p.deletion), "cause": p.cause,
			"finished_s": at(r, p.finished), "phase": p.phase, "gone_s": at(r, p.gone)})
	}
	stamp := func(rows []map[string]any, from bool) []map[string]any {
		out := []map[string]any{}
		for _, x := range rows {
			t := x["t"].(time.Time)
			if from && t.Before(r.zero) {
				continue
			}
			x["time_s"] = at(r, t)
			delete(x, "t")
			out = append(out, x)
		}
		return out
	}
	kubectl := []map[string]any{}
	for _, k := range r.kubectl {
		k["at_s"], k["done_s"] = at(r, k["at"].(time.Time)), at(r, k["done"].(time.Time))
		delete(k, "at")
		delete(k, "done")
		kubectl = append(kubectl, k)
	}
	sort.SliceStable(kubectl, func(i, j int) bool { return kubectl[i]["at_s"].(float64) < kubectl[j]["at_s"].(float64) })
	b, err := json.Marshal(map[string]any{"pods": pods, "nodes": stamp(r.nodes, false), "events": stamp(r.events, true), "workloads": stamp(r.workloads, false),
		"budgets": stamp(r.budgets, false), "duration_s": d.Seconds(), "kubernetes": "v1.36.2", "kubectl": kubectl})
	must(err)
	must(os.WriteFile(path, b, 0o644))
	r.writeDetail(strings.TrimSuffix(path, "recording.json") + "detail.jsonl")
}
