package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

type Scenario struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		Duration string
		Cluster  struct {
			NodePools []struct {
				Name     string
				Count    int
				Zones    []string
				Labels   map[string]string
				Capacity map[string]string
				Taints   []map[string]string
				Template struct {
					Metadata struct{ Labels map[string]string }
					Spec     struct{ Taints []map[string]string }
					Status   struct{ Allocatable map[string]string }
				}
			}
			Manifests []string
		}
		ControlPlane struct {
			KubeControllerManager map[string]any
			KubeApiserver         map[string]any
			KubeScheduler         map[string]any
		}
		Latency  map[string]struct{ Constant string }
		Timeline []struct {
			At       string
			Kubectl  string
			Fault    *Fault
			AddNodes *struct {
				Pool  string
				Count int
			}
		}
	}
}

type Fault struct {
	Kind  string
	Nodes struct {
		Names []string
		Zone  string
		Pools []string
		Pool  string
	}
	Components []string
	For        string
}

func load(path string) (*Scenario, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Scenario{}
	return s, yaml.Unmarshal(b, s)
}

func dur(s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", s, err))
	}
	return d
}

func flags(m map[string]any) []string {
	var out []string
	for k, v := range m {
		var t string
		switch x := v.(type) {
		case float64:
			t = strconv.FormatFloat(x, 'f', -1, 64)
		default:
			t = fmt.Sprint(x)
		}
		out = append(out, "--"+k+"="+t)
	}
	return out
}

// shell splits a line as a shell would: single and double quotes.
func shell(line string) []string {
	var out []string
	var cur strings.Builder
	in, q := false, rune(0)
	for _, c := range line {
		switch {
		case q != 0:
			if c == q {
				q = 0
			} else {
				cur.WriteRune(c)
			}
		case c == '\'' || c == '"':
			q, in = c, true
		case c == ' ':
			if in {
				out = append(out, cur.String())
				cur.Reset()
				in = false
			}
		default:
			in = true
			cur.WriteRune(c)
		}
	}
	if in {
		out = append(out, cur.String())
	}
	return out
}
