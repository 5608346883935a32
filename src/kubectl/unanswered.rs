//! Commands that change nothing in the cluster, or nothing that is modelled, and whose output is not simulated.

use super::CommandPlan;
use super::command_line::{Arguments, DRY, FILES, PRINT, Selection, Stop, Words};
use super::verb::{Scene, Verb};

const CONTAINER: &str = "container,c= pod-running-timeout= quiet,q! stdin,i! tty,t! filename,f=";

/// Such a command, as it is named when it is said that it has no output.
#[derive(Clone, Debug)]
pub struct Unanswered(pub String);

impl Verb for Unanswered {
    const COMMANDS: &'static [Words] = &[
        ("apply view-last-applied", &[FILES, "all! output,o= selector,l="]),
        ("create token", &[PRINT, "audience= bound-object-kind= bound-object-name= bound-object-uid= duration="]),
        ("describe", &[FILES, "all-namespaces,A! chunk-size= selector,l= show-events!"]),
        (
            "logs",
            &[
                "all-containers! all-pods! container,c= follow,f! ignore-errors! insecure-skip-tls-verify-backend! limit-bytes= \
                 max-log-requests= pod-running-timeout= prefix! previous,p! selector,l= since= since-time= tail= timestamps!",
            ],
        ),
        ("exec", &[CONTAINER]),
        ("attach", &["container,c= pod-running-timeout= quiet,q! stdin,i! tty,t!"]),
        ("cp", &["container,c= no-preserve! retries="]),
        ("port-forward", &["address= pod-running-timeout="]),
        (
            "proxy",
            &[
                "accept-hosts= accept-paths= address= api-prefix= append-server-path! disable-filter! keepalive= port,p= \
                   reject-methods= reject-paths= unix-socket,u= www,w= www-prefix,P=",
            ],
        ),
        ("top node", &["no-headers! selector,l= show-capacity! show-swap! sort-by= use-protocol-buffers!"]),
        (
            "top pod",
            &[
                "all-namespaces,A! containers! field-selector= no-headers! selector,l= show-swap! sort-by= sum! use-protocol-buffers!",
            ],
        ),
        ("events", &[PRINT, "all-namespaces,A! chunk-size= for= no-headers! types= watch,w!"]),
        ("explain", &["api-version= output= recursive!"]),
        ("version", &["client! output,o="]),
        ("cluster-info", &[PRINT, "all-namespaces,A! namespaces= output-directory="]),
        (
            "api-resources",
            &["api-group= cached! categories= namespaced! no-headers! output,o= show-managed-fields! sort-by= verbs="],
        ),
        ("api-versions", &[]),
        (
            "config",
            &[
                PRINT,
                "auth-provider= auth-provider-arg= certificate-authority= current! embed-certs! exec-api-version= exec-arg= \
              exec-command= exec-env= flatten! minify! no-headers! proxy-url= raw! server= set-raw-bytes! tls-server-name=",
            ],
        ),
        (
            "auth",
            &[
                FILES,
                PRINT,
                DRY,
                "all-namespaces,A! list! no-headers! quiet,q! remove-extra-permissions! \
                  remove-extra-subjects! subresource=",
            ],
        ),
        (
            "debug",
            &[
                "arguments-only! attach! container,c= copy-to= custom= env= filename,f= image= image-pull-policy= keep-annotations! \
              keep-init-containers! keep-labels! keep-liveness! keep-readiness! keep-startup! profile= quiet,q! replace! \
              same-node! set-image= share-processes! stdin,i! target= tty,t!",
            ],
        ),
        (
            "diff",
            &[
                FILES,
                "concurrency= field-manager= force-conflicts! prune! prune-allowlist= selector,l= server-side! show-managed-fields!",
            ],
        ),
        (
            "kustomize",
            &[
                "as-current-user! enable-alpha-plugins! enable-helm! env,e= helm-command= load-restrictor= mount= network! \
                       network-name= output,o= reorder=",
            ],
        ),
        ("completion", &[]),
        ("plugin", &["name-only!"]),
        ("options", &[]),
        ("help", &[]),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("top no", "top node"), ("top po", "top pod"), ("top nodes", "top node"), ("top pods", "top pod")];
    const IS_ANSWERED: bool = false;

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        Err(arguments.unanswered())
    }

    fn selection(&self) -> Option<&Selection> {
        None
    }

    fn only_looks(&self) -> bool {
        true
    }

    fn plan(&self, _scene: &Scene<'_>, out: &mut CommandPlan) {
        out.warnings.push(format!("kubesquall: the output of `kubectl {}` is not simulated", self.0));
    }
}
