package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Hollow is a machine with a real kubelet: a process of its own on a container runtime that only pretends, behind a relay.
type Hollow struct {
	mu       sync.Mutex
	k        *Kubelet
	tmp      string
	relay    *relay
	runtime  *Runtime
	cmd      *exec.Cmd
	launched int
	boot     string
	static   string
}

// relay carries the connections between a kubelet and the API server, and holds back what they say while the link is cut.
type relay struct {
	mu     sync.Mutex
	cond   *sync.Cond
	cut    bool
	target string
	l      net.Listener
}

func newRelay(target string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	r := &relay{target: target, l: l}
	r.cond = sync.NewCond(&r.mu)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(c)
		}
	}()
	return r
}

func (r *relay) set(cut bool) { r.mu.Lock(); r.cut = cut; r.cond.Broadcast(); r.mu.Unlock() }

func (r *relay) wait() {
	r.mu.Lock()
	for r.cut {
		r.cond.Wait()
	}
	r.mu.Unlock()
}

func (r *relay) carry(a net.Conn) {
	r.wait()
	b, err := net.Dial("tcp", r.target)
	if err != nil {
		a.Close()
		return
	}
	copy := func(to, from net.Conn) {
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			r.wait()
			if n > 0 {
				if _, e := to.Write(buf[:n]); e != nil {
					err = e
				}
			}
			if err != nil {
				if err != io.EOF {
					to.Close()
				}
				to.Close()
				from.Close()
				return
			}
		}
	}
	go copy(a, b)
	copy(b, a)
}

// newHollow connects the kubelet with the API server, over a relay where links are cut in this case: through one, an API server that is
// down shows as connections that end, which clients try again, and not as refused ones.
func newHollow(k *Kubelet, tmp, target, static string, isCut bool, pull time.Duration) *Hollow {
	h := &Hollow{k: k, tmp: filepath.Join(tmp, k.name), runtime: newRuntime(k.lat, pull), boot: string(types.UID(fmt.Sprintf("boot-0-%s", k.name)))}
	if fi, err := os.Stat(filepath.Join(static, k.name)); err == nil && fi.IsDir() {
		h.static = filepath.Join(static, k.name)
	}
	must(os.MkdirAll(h.tmp, 0o755))
	if isCut {
		h.relay = newRelay(target)
		target = h.relay.l.Addr().String()
	}
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://%s', insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: {token: tok}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n", target)
	must(os.WriteFile(h.tmp+"/kubeconfig", []byte(kubeconfig), 0o600))
	h.runtime.serve(h.tmp + "/cri.sock")
	return h
}

func (h *Hollow) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil {
		return
	}
	n := h.k.node()
	args := []string{"--name=" + h.k.name, "--kubeconfig=" + h.tmp + "/kubeconfig", "--runtime=unix://" + h.tmp + "/cri.sock", fmt.Sprintf("--root=%s/root-%d", h.tmp, h.launched), "--boot=" + h.boot,
		"--cpu=" + n.Status.Capacity.Cpu().String(), "--memory=" + n.Status.Capacity.Memory().String(), "--pods=" + n.Status.Capacity.Pods().String(), "--ephemeral-storage=" + n.Status.Capacity.StorageEphemeral().String(), "--v=3"}
	labels, taints := []string{}, []string{}
	for a, b := range h.k.labels {
		labels = append(labels, a+"="+b)
	}
	sort.Strings(labels)
	for _, t := range h.k.taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	more := []string{}
	for r, q := range n.Status.Capacity {
		if strings.Contains(string(r), "/") {
			more = append(more, string(r)+"="+q.String())
		}
	}
	args = append(args, "--labels="+strings.Join(labels, ","), "--taints="+strings.Join(taints, ","), "--extended="+strings.Join(more, ","), "--static="+h.static)
	log, _ := os.OpenFile(h.tmp+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	cmd := exec.Command(filepath.Join(*bin, "hollow"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(cmd.Start())
	h.cmd = cmd
	go cmd.Wait()
}

// kill ends the process; a crash of the machine empties it, and the next process finds another boot and an empty folder.
func (h *Hollow) kill(crash bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil {
		h.cmd.Process.Kill()
		h.cmd = nil
	}
	if crash {
		h.launched++
		h.boot = fmt.Sprintf("boot-%d-%s", h.launched, h.k.name)
		h.runtime.crash()
	}
}

func (h *Hollow) fault(kind string, d time.Duration) {
	switch kind {
	case "Crash", "KubeletStop":
		h.kill(kind == "Crash")
		if d > 0 {
			time.AfterFunc(d, h.start)
		}
	case "Partition":
		h.relay.set(true)
		if d > 0 {
			time.AfterFunc(d, func() { h.relay.set(false) })
		}
	default:
		panic("hollow kubelets know no " + kind)
	}
}
