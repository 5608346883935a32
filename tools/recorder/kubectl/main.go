// kubectl with the commands of runbooks that change something.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/autoscale"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/drain"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/replace"
	"k8s.io/kubectl/pkg/cmd/rollout"
	"k8s.io/kubectl/pkg/cmd/scale"
	"k8s.io/kubectl/pkg/cmd/set"
	"k8s.io/kubectl/pkg/cmd/taint"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/wait"
)

func main() {
	root := &cobra.Command{Use: "kubectl", SilenceUsage: true}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50.0)
	flags.AddFlags(root.PersistentFlags())
	mv := cmdutil.NewMatchVersionFlags(flags)
	mv.AddFlags(root.PersistentFlags())
	f := cmdutil.NewFactory(mv)
	s := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	root.AddCommand(annotate.NewCmdAnnotate("kubectl", f, s), apply.NewCmdApply("kubectl", f, s), autoscale.NewCmdAutoscale(f, s), create.NewCmdCreate(f, s),
		delete.NewCmdDelete(f, s), drain.NewCmdDrain(f, s), drain.NewCmdCordon(f, s), drain.NewCmdUncordon(f, s), get.NewCmdGet("kubectl", f, s),
		label.NewCmdLabel(f, s), patch.NewCmdPatch(f, s), replace.NewCmdReplace(f, s), rollout.NewCmdRollout("kubectl", f, s), scale.NewCmdScale(f, s),
		set.NewCmdSet(f, s), taint.NewCmdTaint(f, s), wait.NewCmdWait(flags, s))
	os.Exit(cli.Run(root))
}
