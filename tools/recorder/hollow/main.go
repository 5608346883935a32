// hollow is a real kubelet without a machine: what it asks of hardware and mounts is made up, its container runtime is the recorder's.
package main

import (
	"context"
	"flag"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
	"go.opentelemetry.io/otel/trace/noop"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	remote "k8s.io/cri-client/pkg"
	"k8s.io/klog/v2"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/csi"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// machine answers for the hardware.
type machine struct {
	name, boot string
	cores      int
	memory     uint64
	disk       uint64
}

func (m *machine) Start() error { return nil }
func (m *machine) ContainerInfoV2(string, cadvisorapiv2.RequestOptions) (map[string]cadvisorapiv2.ContainerInfo, error) {
	return map[string]cadvisorapiv2.ContainerInfo{}, nil
}
func (m *machine) GetRequestedContainersInfo(string, cadvisorapiv2.RequestOptions) (map[string]*cadvisorapi.ContainerInfo, error) {
	return map[string]*cadvisorapi.ContainerInfo{}, nil
}
func (m *machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{NumCores: m.cores, InstanceID: cadvisorapi.InstanceID(m.name), MemoryCapacity: m.memory, BootID: m.boot}, nil
}
func (m *machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: "6.1.0", ContainerOsVersion: "hollow"}, nil
}
func (m *machine) fs() cadvisorapiv2.FsInfo {
	return cadvisorapiv2.FsInfo{Capacity: m.disk, Available: m.disk}
}
func (m *machine) ImagesFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) { return m.fs(), nil }
func (m *machine) RootFsInfo() (cadvisorapiv2.FsInfo, error)                  { return m.fs(), nil }
func (m *machine) ContainerFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) {
	return m.fs(), nil
}
func (m *machine) GetDirFsInfo(string) (cadvisorapiv2.FsInfo, error) { return m.fs(), nil }

// system keeps the runtime's part of the kubelet from the disk: logs and links to them.
type system struct{ kubecontainer.RealOS }

func (system) MkdirAll(string, os.FileMode) error         { return nil }
func (system) Symlink(string, string) error               { return nil }
func (system) Remove(string) error                        { return nil }
func (system) RemoveAll(string) error                     { return nil }
func (system) Chmod(string, os.FileMode) error            { return nil }
func (system) Chtimes(string, time.Time, time.Time) error { return nil }
func (system) ReadDir(string) ([]os.DirEntry, error)      { return nil, nil }
func (system) Glob(string) ([]string, error)              { return nil, nil }
func (system) Rename(string, string) error                { return nil }

func must(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}

// address is one of this machine's that is not its own loop.
func address() string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

func main() {
	name := flag.String("name", "", "of the node")
	kubeconfig := flag.String("kubeconfig", "", "")
	endpoint := flag.String("runtime", "", "the CRI endpoint")
	root := flag.String("root", "", "the kubelet's folder")
	boot := flag.String("boot", "", "the machine's boot ID")
	cpu := flag.String("cpu", "1", "")
	memory := flag.String("memory", "3932160Ki", "")
	disk := flag.String("ephemeral-storage", "0", "")
	pods := flag.Int("pods", 110, "")
	labels := flag.String("labels", "", "a=b,…")
	taints := flag.String("taints", "", "a=b:NoSchedule,…")
	extended := flag.String("extended", "", "extended resources: a.b/c=1,…")
	static := flag.String("static", "", "folder of static pods")
	klog.InitFlags(nil)
	flag.Parse()
	ctx := context.Background()
	pairs := func(s string) map[string]string {
		out := map[string]string{}
		for _, p := range strings.Split(s, ",") {
			if a, b, ok := strings.Cut(p, "="); ok {
				out[a] = b
			}
		}
		return out
	}

	must(os.MkdirAll(*root, 0o755))
	f := options.NewKubeletFlags()
	f.RootDirectory, f.CertDirectory = *root, *root+"/pki"
	f.HostnameOverride = *name
	f.NodeIP = address() // else the name is looked up, for as long as that takes
	f.MinimumGCAge = meta.Duration{Duration: time.Minute}
	f.MaxContainerCount = 100
	f.MaxPerPodContainerCount = 2
	f.NodeLabels = map[string]string{}
	for a, b := range pairs(*labels) {
		f.NodeLabels[a] = b
	}
	c, err := options.NewKubeletConfiguration()
	must(err)
	c.EnableServer, c.ReadOnlyPort = false, 0
	c.StaticPodPath = *static
	c.NodeStatusUpdateFrequency.Duration = 10 * time.Second
	c.NodeStatusReportFrequency.Duration = 5 * time.Minute
	c.MaxPods = int32(*pods)
	c.EvictionHard = map[string]string{}
	c.ClusterDNS, c.ClusterDomain = []string{"10.0.0.10"}, "cluster.local"
	c.ProviderID = "kubemark://" + *name
	c.CgroupsPerQOS = false
	c.EnforceNodeAllocatable = nil
	c.EnableControllerAttachDetach = false
	c.HairpinMode = kubeletconfig.HairpinVeth
	c.ProtectKernelDefaults = false
	c.PodLogsDir = *root + "/pod-logs"
	c.RegisterNode = true
	c.LocalStorageCapacityIsolation = true
	for _, t := range strings.Split(*taints, ",") {
		if kv, effect, ok := strings.Cut(t, ":"); ok {
			k, v, _ := strings.Cut(kv, "=")
			c.RegisterWithTaints = append(c.RegisterWithTaints, core.Taint{Key: k, Value: v, Effect: core.TaintEffect(effect)})
		}
	}

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(err)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.QPS, config.Burst = float32(c.KubeAPIQPS), int(c.KubeAPIBurst)
	config.UserAgent = "hollow-kubelet"
	client := clientset.NewForConfigOrDie(config)
	beat := *config
	beat.Timeout, beat.QPS = c.NodeStatusUpdateFrequency.Duration, -1
	events := *config
	events.QPS, events.Burst = float32(c.EventRecordQPS), int(c.EventBurst)

	runtime, err := remote.NewRemoteRuntimeService(ctx, *endpoint, c.RuntimeRequestTimeout.Duration, noop.NewTracerProvider(), false)
	must(err)
	images, err := remote.NewRemoteImageService(ctx, *endpoint, c.RuntimeRequestTimeout.Duration, noop.NewTracerProvider(), false)
	must(err)
	cores := resource.MustParse(*cpu)
	mem := resource.MustParse(*memory)
	size := resource.MustParse(*disk)
	manager := cm.NewStubContainerManager()
	if *extended != "" {
		more := core.ResourceList{}
		for a, b := range pairs(*extended) {
			more[core.ResourceName(a)] = resource.MustParse(b)
		}
		manager = cm.NewStubContainerManagerWithDevicePluginResource(more)
	}
	plugins := []volume.VolumePlugin{}
	for _, p := range [][]volume.VolumePlugin{emptydir.ProbeVolumePlugins(), hostpath.ProbeVolumePlugins(volume.VolumeConfig{}), secret.ProbeVolumePlugins(), downwardapi.ProbeVolumePlugins(), configmap.ProbeVolumePlugins(), projected.ProbeVolumePlugins(), csi.ProbeVolumePlugins()} {
		plugins = append(plugins, p...)
	}
	deps := &kubelet.Dependencies{
		KubeClient:                client,
		HeartbeatClient:           clientset.NewForConfigOrDie(&beat),
		EventClient:               v1core.NewForConfigOrDie(&events),
		RemoteRuntimeService:      runtime,
		RemoteImageService:        images,
		CAdvisorInterface:         &machine{name: *name, boot: *boot, cores: int(cores.Value()), memory: uint64(mem.Value()), disk: uint64(size.Value())},
		OSInterface:               system{},
		ContainerManager:          manager,
		VolumePlugins:             plugins,
		OOMAdjuster:               oom.NewFakeOOMAdjuster(),
		Mounter:                   &mount.FakeMounter{},
		Subpather:                 &subpath.FakeSubpath{},
		HostUtil:                  hostutil.NewFakeHostUtil(nil),
		PodStartupLatencyTracker:  kubeletutil.NewPodStartupLatencyTracker(),
		NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(),
		TracerProvider:            noop.NewTracerProvider(),
	}
	klog.InfoS("Starting", "node", *name, "pid", strconv.Itoa(os.Getpid()))
	must(kubeletapp.RunKubelet(ctx, &options.KubeletServer{KubeletFlags: *f, KubeletConfiguration: *c}, deps))
	select {}
}
