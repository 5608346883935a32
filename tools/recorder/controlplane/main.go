// The programs of the control plane in one binary, told apart by the name that it is called by.
package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	sched "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	var cmd *cobra.Command
	switch filepath.Base(os.Args[0]) {
	case "kube-apiserver":
		cmd = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		cmd = kcm.NewControllerManagerCommand()
	case "kube-scheduler":
		cmd = sched.NewSchedulerCommand()
	default:
		panic(os.Args[0])
	}
	os.Exit(cli.Run(cmd))
}
