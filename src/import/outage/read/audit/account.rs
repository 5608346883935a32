//! Who asks: parts of the control plane, kubelets, or people and their tools.

use crate::arena::Symbol;
use crate::evidence::DeletedBy;

/// Whose account a request came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account<'a> {
    /// The kubelet of that node.
    Kubelet(&'a str),
    Scheduler,
    /// A loop of kube-controller-manager or of the cloud's, by its service account; empty if only the process is known.
    Controller(&'a str),
    /// Another part of Kubernetes itself.
    ControlPlane,
    /// A program with a service account: an operator, an autoscaler, a deployer.
    Tool,
    Person,
}

const KUBE_SYSTEM: &str = "system:serviceaccount:kube-system:";

/// Service accounts of kube-controller-manager's loops and of the cloud's controllers.
///
/// # Source
/// `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go` of Kubernetes.
const CONTROLLERS: [&str; 40] = [
    "attachdetach-controller",
    "certificate-controller",
    "cloud-controller-manager",
    "cloud-provider",
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemon-set-controller",
    "deployment-controller",
    "device-taint-eviction-controller",
    "disruption-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "endpointslicemirroring-controller",
    "ephemeral-volume-controller",
    "expand-controller",
    "generic-garbage-collector",
    "horizontal-pod-autoscaler",
    "job-controller",
    "legacy-service-account-token-cleaner",
    "namespace-controller",
    "node-controller",
    "persistent-volume-binder",
    "pod-garbage-collector",
    "pv-protection-controller",
    "pvc-protection-controller",
    "replicaset-controller",
    "replication-controller",
    "resource-claim-controller",
    "resourcequota-controller",
    "root-ca-cert-publisher",
    "route-controller",
    "selinux-warning-controller",
    "service-account-controller",
    "service-controller",
    "statefulset-controller",
    "storage-version-migrator-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
    "ttl-controller",
    "validatingadmissionpolicy-status-controller",
];

impl<'a> Account<'a> {
    /// The account of a user. Where all loops of kube-controller-manager share one, the end of the user agent names the loop.
    pub(super) fn of(user: &'a str, user_agent: &'a str) -> Self {
        if let Some(node) = user.strip_prefix("system:node:") {
            return Self::Kubelet(node);
        }
        if let Some(name) = user.strip_prefix(KUBE_SYSTEM) {
            return match CONTROLLERS.contains(&name) {
                true => Self::Controller(name),
                false if name == "kube-scheduler" => Self::Scheduler,
                false => Self::Tool,
            };
        }
        match user {
            "system:kube-scheduler" => Self::Scheduler,
            "system:kube-controller-manager" => {
                let last = user_agent.rsplit('/').next().unwrap_or_default();
                Self::Controller(last.strip_prefix(KUBE_SYSTEM).unwrap_or_default())
            }
            "system:cloud-controller-manager" => Self::Controller("cloud-controller-manager"),
            // Accounts that come with a cluster, and that people use.
            "system:admin" | "system:masters" | "system:anonymous" | "system:unsecured" => Self::Person,
            _ if user.starts_with("system:serviceaccount:") => Self::Tool,
            _ if user.starts_with("system:") => Self::ControlPlane,
            _ => Self::Person,
        }
    }

    /// Whether Kubernetes itself asks, as a play of it does, too.
    pub(super) fn is_of_kubernetes(self) -> bool {
        !matches!(self, Self::Tool | Self::Person)
    }

    /// Who a pod is deleted by if this account deletes it.
    pub(super) fn deletes_as(self) -> DeletedBy {
        match self {
            Self::Controller("node-controller" | "taint-eviction-controller") => DeletedBy::TaintManager,
            Self::Controller("pod-garbage-collector") => DeletedBy::PodGC,
            Self::Controller("") | Self::ControlPlane => DeletedBy::Unknown,
            Self::Controller(_) => DeletedBy::Workload,
            Self::Scheduler => DeletedBy::Preemption,
            Self::Kubelet(_) => DeletedBy::Kubelet,
            Self::Tool | Self::Person => DeletedBy::Operator,
        }
    }
}

/// The program of a user agent: `kubectl` of `kubectl/v1.30.1 (linux/amd64) kubernetes/6911225`.
pub(super) fn program(user_agent: &str) -> Symbol {
    // Its library comes first.
    if user_agent.contains("Terraform/") {
        return Symbol::new("terraform");
    }
    let end = user_agent.find(['/', ' ']).unwrap_or(user_agent.len());
    Symbol::new(&user_agent[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_told_by_user_and_agent() {
        #[track_caller]
        fn check(user: &str, agent: &str, expected: Account<'_>) {
            assert_eq!(Account::of(user, agent), expected, "{user}");
        }
        check("system:node:worker-1", "kubelet/v1.30.0", Account::Kubelet("worker-1"));
        check("system:kube-scheduler", "", Account::Scheduler);
        check("system:serviceaccount:kube-system:node-controller", "", Account::Controller("node-controller"));
        let agent = "kube-controller-manager/v1.30.0 (linux/amd64) kubernetes/7c48c2b/system:serviceaccount:kube-system:node-controller";
        check("system:kube-controller-manager", agent, Account::Controller("node-controller"));
        check(
            "system:kube-controller-manager",
            "kube-controller-manager/v1.30.0 (linux/amd64) kubernetes/7c48c2b/shared-informers",
            Account::Controller(""),
        );
        check("system:serviceaccount:kube-system:cluster-autoscaler", "", Account::Tool);
        check("system:serviceaccount:argocd:argocd-application-controller", "", Account::Tool);
        check("system:apiserver", "", Account::ControlPlane);
        check("system:admin", "kubectl/v1.30.0", Account::Person);
        check("kubernetes-admin", "", Account::Person);
        check("minikube-user", "", Account::Person);
    }

    #[test]
    fn programs_are_the_heads_of_agents() {
        for (agent, expected) in [
            ("kubectl/v1.30.1 (linux/amd64) kubernetes/6911225", "kubectl"),
            ("Helm/3.15.1", "Helm"),
            ("HashiCorp/1.0 Terraform/1.8.4", "terraform"),
            ("curl", "curl"),
            ("", ""),
        ] {
            assert_eq!(program(agent), expected);
        }
    }
}
