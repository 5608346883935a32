package main

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// follower tells of each change of one kind of object. Unlike an informer it does not back off: after an outage of the API server it sees
// again at once, so that what is recorded are the server's times and not those of a client that is blind for half a minute.
type follower struct {
	lw   cache.ListerWatcher
	tell cache.ResourceEventHandlerFuncs
	mu   sync.Mutex
	have map[string]runtime.Object
}

func (f *follower) list() []runtime.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []runtime.Object{}
	for _, o := range f.have {
		out = append(out, o)
	}
	return out
}

func (f *follower) see(kind watch.EventType, o runtime.Object) {
	m, err := meta.Accessor(o)
	if err != nil {
		return
	}
	key := m.GetNamespace() + "/" + m.GetName() + "/" + string(m.GetUID())
	f.mu.Lock()
	old := f.have[key]
	if kind == watch.Deleted {
		delete(f.have, key)
	} else {
		f.have[key] = o
	}
	f.mu.Unlock()
	switch {
	case kind == watch.Deleted:
		if f.tell.DeleteFunc != nil {
			f.tell.DeleteFunc(o)
		}
	case old == nil:
		f.tell.AddFunc(o)
	default:
		if f.tell.UpdateFunc != nil {
			f.tell.UpdateFunc(old, o)
		}
	}
}

// follow lists, returns, and watches from then on.
func follow(lw cache.ListerWatcher, tell cache.ResourceEventHandlerFuncs) *follower {
	f := &follower{lw: lw, tell: tell, have: map[string]runtime.Object{}}
	version := f.relist()
	go func() {
		for {
			for version == "" {
				time.Sleep(100 * time.Millisecond)
				version = f.relist()
			}
			version = f.watch(version)
		}
	}()
	return f
}

func (f *follower) relist() string {
	l, err := f.lw.List(metav1.ListOptions{})
	if err != nil {
		return ""
	}
	all, _ := meta.ExtractList(l)
	there := map[string]bool{}
	for _, o := range all {
		m, _ := meta.Accessor(o)
		there[m.GetNamespace()+"/"+m.GetName()+"/"+string(m.GetUID())] = true
	}
	for _, o := range f.list() {
		m, _ := meta.Accessor(o)
		if !there[m.GetNamespace()+"/"+m.GetName()+"/"+string(m.GetUID())] {
			f.see(watch.Deleted, o)
		}
	}
	for _, o := range all {
		f.see(watch.Modified, o)
	}
	m, _ := meta.ListAccessor(l)
	return m.GetResourceVersion()
}

// watch goes on until the connection breaks; what it returns is where to go on, nothing if that is not to be had any more.
func (f *follower) watch(version string) string {
	w, err := f.lw.Watch(metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return ""
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return ""
		}
		f.see(e.Type, e.Object)
		if m, err := meta.Accessor(e.Object); err == nil {
			version = m.GetResourceVersion()
		}
	}
	return version
}
