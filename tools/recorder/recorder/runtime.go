package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runtime is the container runtime of one machine, as a kubelet sees it: containers start after a while, stop after a while, and end
// as the annotations of their pod say. It outlives its kubelet's process, and is emptied by a crash of the machine; images stay.
type Runtime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
	mu         sync.Mutex
	lat        Latency
	boot       int
	made       int64
	sandboxes  map[string]*sandbox
	containers map[string]*container
	images     map[string]bool
	pull       time.Duration
}

type sandbox struct {
	cri.PodSandbox
	config *cri.PodSandboxConfig
}

type container struct {
	cri.ContainerStatus
	sandbox  string
	config   *cri.ContainerConfig
	pod      map[string]string // its pod's annotations
	starting bool
	ended    chan struct{}
}

func newRuntime(lat Latency, pull time.Duration) *Runtime {
	return &Runtime{lat: lat, pull: pull, sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, images: map[string]bool{}}
}

func (r *Runtime) serve(socket string) *grpc.Server {
	os.Remove(socket)
	l, err := net.Listen("unix", socket)
	must(err)
	s := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(s, r)
	cri.RegisterImageServiceServer(s, r)
	go s.Serve(l)
	return s
}

// crash empties the machine.
func (r *Runtime) crash() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.boot++
	for _, c := range r.containers {
		c.end(255)
	}
	r.sandboxes, r.containers = map[string]*sandbox{}, map[string]*container{}
}

// of is the pod's annotation, as a length of time, or what is otherwise the case.
func of(pod map[string]string, name string, otherwise time.Duration) time.Duration {
	if d, ok := pod["kubesquall.sim/"+name]; ok {
		return dur(d)
	}
	return otherwise
}

// end is called with the lock held.
func (c *container) end(code int32) {
	if c.State == cri.ContainerState_CONTAINER_EXITED {
		return
	}
	c.State, c.FinishedAt, c.ExitCode, c.starting = cri.ContainerState_CONTAINER_EXITED, time.Now().UnixNano(), code, false
	switch code {
	case 0:
		c.Reason = "Completed"
	default:
		c.Reason = "Error"
	}
	close(c.ended)
}

func (r *Runtime) after(c *container, d time.Duration, do func()) {
	boot := r.boot
	time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.boot == boot {
			do()
		}
	})
}

func (r *Runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "fakeRuntime", RuntimeVersion: "0.1.0", RuntimeApiVersion: "v1"}, nil
}

func (r *Runtime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}}}, nil
}

func (r *Runtime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	return &cri.RuntimeConfigResponse{}, nil
}

func (r *Runtime) UpdateRuntimeConfig(context.Context, *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (r *Runtime) RunPodSandbox(_ context.Context, q *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := q.Config.Metadata
	id := fmt.Sprintf("%s_%s_%s_%d_%d", m.Name, m.Namespace, m.Uid, m.Attempt, r.boot)
	r.sandboxes[id] = &sandbox{config: q.Config, PodSandbox: cri.PodSandbox{Id: id, Metadata: m, State: cri.PodSandboxState_SANDBOX_READY, CreatedAt: r.now(), Labels: q.Config.Labels,
		Annotations: q.Config.Annotations, RuntimeHandler: q.RuntimeHandler}}
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, nil
}

// now tells apart what is made within one tick of the clock.
func (r *Runtime) now() int64 {
	n := time.Now().UnixNano()
	if n <= r.made {
		n = r.made + 1
	}
	r.made = n
	return n
}

func (r *Runtime) StopPodSandbox(_ context.Context, q *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[q.PodSandboxId]; s != nil {
		s.State = cri.PodSandboxState_SANDBOX_NOTREADY
	}
	for _, c := range r.containers {
		if c.sandbox == q.PodSandboxId {
			c.end(137)
		}
	}
	return &cri.StopPodSandboxResponse{}, nil
}

func (r *Runtime) RemovePodSandbox(_ context.Context, q *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, c := range r.containers {
		if c.sandbox == q.PodSandboxId {
			c.end(137)
			delete(r.containers, id)
		}
	}
	delete(r.sandboxes, q.PodSandboxId)
	return &cri.RemovePodSandboxResponse{}, nil
}

func (r *Runtime) PodSandboxStatus(_ context.Context, q *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[q.PodSandboxId]
	if s == nil {
		return nil, fmt.Errorf("pod sandbox %q not found", q.PodSandboxId)
	}
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt, Network: &cri.PodSandboxNetworkStatus{Ip: "192.168.192.168"},
		Linux: &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}}, Labels: s.Labels, Annotations: s.Annotations, RuntimeHandler: s.RuntimeHandler}}, nil
}

func labelled(want, have map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func (r *Runtime) ListPodSandbox(_ context.Context, q *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListPodSandboxResponse{}
	for _, s := range r.sandboxes {
		f := q.Filter
		if f != nil && (f.Id != "" && f.Id != s.Id || f.State != nil && f.State.State != s.State || !labelled(f.LabelSelector, s.Labels)) {
			continue
		}
		out.Items = append(out.Items, &cri.PodSandbox{Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt, Labels: s.Labels, Annotations: s.Annotations, RuntimeHandler: s.RuntimeHandler})
	}
	return out, nil
}

func (r *Runtime) CreateContainer(_ context.Context, q *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[q.PodSandboxId]
	if s == nil || s.State != cri.PodSandboxState_SANDBOX_READY {
		return nil, fmt.Errorf("pod sandbox %q is not ready", q.PodSandboxId)
	}
	m := q.Config.Metadata
	id := fmt.Sprintf("%s_%s_%d", q.PodSandboxId, m.Name, m.Attempt)
	r.containers[id] = &container{sandbox: q.PodSandboxId, config: q.Config, pod: s.Annotations, ended: make(chan struct{}), ContainerStatus: cri.ContainerStatus{Id: id, Metadata: m, State: cri.ContainerState_CONTAINER_CREATED,
		CreatedAt: r.now(), Image: q.Config.Image, ImageRef: q.Config.Image.Image, ImageId: q.Config.Image.Image, Labels: q.Config.Labels, Annotations: q.Config.Annotations}}
	return &cri.CreateContainerResponse{ContainerId: id}, nil
}

// StartContainer takes as long as the start of the application; init containers and sidecars (init…, side… by name) are there at once.
func (r *Runtime) StartContainer(_ context.Context, q *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	r.mu.Lock()
	c := r.containers[q.ContainerId]
	if c == nil {
		r.mu.Unlock()
		return nil, fmt.Errorf("container %q not found", q.ContainerId)
	}
	name := c.Metadata.Name
	isInit, isSide := strings.HasPrefix(name, "init"), strings.HasPrefix(name, "side")
	start := of(c.pod, "start", r.lat.start)
	if isInit || isSide {
		start = 0
	}
	boot := r.boot
	c.starting = true
	r.mu.Unlock()
	select {
	case <-time.After(start):
	case <-c.ended:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boot != boot || c.State != cri.ContainerState_CONTAINER_CREATED {
		return nil, fmt.Errorf("container %q was stopped before it started", q.ContainerId)
	}
	c.State, c.StartedAt, c.starting = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano(), false
	code := func(name string) int32 { n, _ := strconv.Atoi(c.pod["kubesquall.sim/"+name]); return int32(n) }
	switch {
	case isInit:
		r.after(c, of(c.pod, "init", 0), func() { c.end(code("init-exit-code")) })
	case isSide:
	case c.pod["kubesquall.sim/run-for"] != "":
		r.after(c, of(c.pod, "run-for", 0), func() { c.end(code("exit-code")) })
	}
	return &cri.StartContainerResponse{}, nil
}

// StopContainer: the application ends in its own time, with 0, or with 143 if it had something to finish (init containers, those of Jobs); or it is
// killed when the timeout is over.
func (r *Runtime) StopContainer(_ context.Context, q *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	r.mu.Lock()
	c := r.containers[q.ContainerId]
	if c == nil {
		r.mu.Unlock()
		return &cri.StopContainerResponse{}, nil
	}
	if c.State == cri.ContainerState_CONTAINER_CREATED {
		c.end(137)
	}
	takes, code, timeout := of(c.pod, "stop", r.lat.stop), int32(0), time.Duration(q.Timeout)*time.Second
	if s := r.sandboxes[c.sandbox]; strings.HasPrefix(c.Metadata.Name, "init") || s != nil && s.Labels["batch.kubernetes.io/job-name"] != "" {
		code = 143
	}
	if takes > timeout {
		takes, code = timeout, 137
	}
	r.after(c, takes, func() { c.end(code) })
	r.mu.Unlock()
	<-c.ended
	return &cri.StopContainerResponse{}, nil
}

func (r *Runtime) RemoveContainer(_ context.Context, q *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[q.ContainerId]; c != nil {
		c.end(137)
		delete(r.containers, q.ContainerId)
	}
	return &cri.RemoveContainerResponse{}, nil
}

func (r *Runtime) ListContainers(_ context.Context, q *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListContainersResponse{}
	for _, c := range r.containers {
		f := q.Filter
		if f != nil && (f.Id != "" && f.Id != c.Id || f.PodSandboxId != "" && f.PodSandboxId != c.sandbox || f.State != nil && f.State.State != c.State || !labelled(f.LabelSelector, c.Labels)) {
			continue
		}
		out.Containers = append(out.Containers, &cri.Container{Id: c.Id, PodSandboxId: c.sandbox, Metadata: c.Metadata, State: c.State, CreatedAt: c.CreatedAt, Image: c.Image, ImageRef: c.ImageRef, ImageId: c.ImageId, Labels: c.Labels, Annotations: c.Annotations})
	}
	return out, nil
}

func (r *Runtime) ContainerStatus(_ context.Context, q *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[q.ContainerId]
	if c == nil {
		return nil, fmt.Errorf("container %q not found", q.ContainerId)
	}
	return &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{Id: c.Id, Metadata: c.Metadata, State: c.State, CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt, ExitCode: c.ExitCode,
		Image: c.Image, ImageRef: c.ImageRef, ImageId: c.ImageId, Reason: c.Reason, Labels: c.Labels, Annotations: c.Annotations}}, nil
}

// ExecSync knows `sleep N` (for hooks), and probes: `live` passes until the application falls silent, anything else from when it is ready.
func (r *Runtime) ExecSync(_ context.Context, q *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	if len(q.Cmd) == 2 && q.Cmd[0] == "sleep" {
		n, _ := strconv.ParseFloat(q.Cmd[1], 64)
		r.mu.Lock()
		c := r.containers[q.ContainerId]
		r.mu.Unlock()
		if c != nil {
			select {
			case <-time.After(time.Duration(n * float64(time.Second))):
			case <-c.ended:
				return &cri.ExecSyncResponse{ExitCode: 137}, nil
			}
		}
		return &cri.ExecSyncResponse{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[q.ContainerId]
	if c == nil || c.State != cri.ContainerState_CONTAINER_RUNNING {
		return nil, fmt.Errorf("container %q is not running", q.ContainerId)
	}
	up := time.Since(time.Unix(0, c.StartedAt))
	ok := up >= of(c.pod, "ready", r.lat.ready)
	if len(q.Cmd) > 0 && q.Cmd[0] == "live" {
		ok = true
	}
	if h := of(c.pod, "healthy-for", 0); h > 0 && up >= h {
		ok = false
	}
	if !ok {
		return &cri.ExecSyncResponse{ExitCode: 1}, nil
	}
	return &cri.ExecSyncResponse{}, nil
}

func (r *Runtime) UpdateContainerResources(context.Context, *cri.UpdateContainerResourcesRequest) (*cri.UpdateContainerResourcesResponse, error) {
	return &cri.UpdateContainerResourcesResponse{}, nil
}

func (r *Runtime) ReopenContainerLog(context.Context, *cri.ReopenContainerLogRequest) (*cri.ReopenContainerLogResponse, error) {
	return &cri.ReopenContainerLogResponse{}, nil
}

func (r *Runtime) ListContainerStats(context.Context, *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	return &cri.ListContainerStatsResponse{}, nil
}

func (r *Runtime) ListPodSandboxStats(context.Context, *cri.ListPodSandboxStatsRequest) (*cri.ListPodSandboxStatsResponse, error) {
	return &cri.ListPodSandboxStatsResponse{}, nil
}

func (r *Runtime) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListImagesResponse{}
	for i := range r.images {
		out.Images = append(out.Images, &cri.Image{Id: i, RepoTags: []string{i}, Size: 1 << 20})
	}
	return out, nil
}

func (r *Runtime) ImageStatus(_ context.Context, q *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := q.Image.Image; r.images[i] {
		return &cri.ImageStatusResponse{Image: &cri.Image{Id: i, RepoTags: []string{i}, Size: 1 << 20}}, nil
	}
	return &cri.ImageStatusResponse{}, nil
}

// PullImage takes no time for what is there; who asked can give up, and a crash leaves nothing of it.
func (r *Runtime) PullImage(ctx context.Context, q *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	r.mu.Lock()
	wait, boot := r.pull, r.boot
	if r.images[q.Image.Image] {
		wait = 0
	}
	r.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boot != boot {
		return nil, fmt.Errorf("the machine went down")
	}
	r.images[q.Image.Image] = true
	return &cri.PullImageResponse{ImageRef: q.Image.Image}, nil
}

func (r *Runtime) RemoveImage(_ context.Context, q *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.images, q.Image.Image)
	return &cri.RemoveImageResponse{}, nil
}

func (r *Runtime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, nil
}
