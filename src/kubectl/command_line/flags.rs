//! Which flags each command has, and how they are read: as kubectl's own library reads them.
//!
//! # Source
//! kubectl's commands and `kubectl options`; pflag: `--flag value`, `--flag=value`, `-nvalue`, `-n=value`, `-it`, `--`.

use std::collections::VecDeque;
use std::str::FromStr;

use super::{CommandLineError, Stop, error};

/// What every command takes; most of it means nothing where there is one cluster.
const GLOBAL: &str = "as= as-group= as-uid= as-user-extra= cache-dir= certificate-authority= client-certificate= \
     client-key= cluster= context= disable-compression! help,h! insecure-skip-tls-verify! kubeconfig= kuberc= \
     log-flush-frequency= match-server-version! namespace,n= password= profile= profile-output= request-timeout= \
     server,s= tls-server-name= token= user= username= v,v= vmodule= warnings-as-errors!";
const PRINT: &str = "output,o= template= allow-missing-template-keys! show-managed-fields!";
const DRY: &str = "dry-run?";
const FILES: &str = "filename,f= kustomize,k= recursive,R!";
const WRITE: &str = "field-manager= validate? record!";
const NODES: &str = "selector,l= dry-run?";
const CREATE: &str = "save-config!";
const SET: &str = "all! local! selector,l= record! field-manager=";
const ROLLOUT: &str = "selector,l= field-manager=";
const CONTAINER: &str = "container,c= pod-running-timeout= quiet,q! stdin,i! tty,t! filename,f=";

/// The flags of a command, by its words. `!` takes no value, `=` does, `?` does with `=` only.
///
/// # Source
/// kubectl 1.36, the commands' own lists.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "apply",
        &[
            FILES,
            PRINT,
            DRY,
            WRITE,
            "all! applyset= cascade? force! force-conflicts! grace-period= openapi-patch! overwrite! prune! \
             prune-allowlist= selector,l= server-side! subresource= timeout= wait!",
        ],
    ),
    ("apply edit-last-applied", &[FILES, PRINT, "field-manager= windows-line-endings!"]),
    ("apply set-last-applied", &[FILES, PRINT, DRY, "create-annotation!"]),
    ("apply view-last-applied", &[FILES, "all! output,o= selector,l="]),
    ("create", &[FILES, PRINT, DRY, WRITE, CREATE, "edit! raw= selector,l= windows-line-endings!"]),
    (
        "create clusterrole",
        &[PRINT, DRY, WRITE, CREATE, "aggregation-rule= non-resource-url= resource= resource-name= verb="],
    ),
    ("create clusterrolebinding", &[PRINT, DRY, WRITE, CREATE, "clusterrole= group= serviceaccount= user="]),
    ("create configmap", &[PRINT, DRY, WRITE, CREATE, "append-hash! from-env-file= from-file= from-literal="]),
    ("create cronjob", &[PRINT, DRY, WRITE, CREATE, "image= restart= schedule="]),
    ("create deployment", &[PRINT, DRY, WRITE, CREATE, "image= port= replicas,r="]),
    ("create ingress", &[PRINT, DRY, WRITE, CREATE, "annotation= class= default-backend= rule="]),
    ("create job", &[PRINT, DRY, WRITE, CREATE, "from= image="]),
    ("create namespace", &[PRINT, DRY, WRITE, CREATE]),
    ("create poddisruptionbudget", &[PRINT, DRY, WRITE, CREATE, "max-unavailable= min-available= selector="]),
    ("create priorityclass", &[PRINT, DRY, WRITE, CREATE, "description= global-default! preemption-policy= value="]),
    ("create quota", &[PRINT, DRY, WRITE, CREATE, "hard= scopes="]),
    ("create role", &[PRINT, DRY, WRITE, CREATE, "resource= resource-name= verb="]),
    ("create rolebinding", &[PRINT, DRY, WRITE, CREATE, "clusterrole= group= role= serviceaccount= user="]),
    (
        "create secret docker-registry",
        &[
            PRINT,
            DRY,
            WRITE,
            CREATE,
            "append-hash! docker-email= docker-password= docker-server= docker-username= from-file=",
        ],
    ),
    (
        "create secret generic",
        &[PRINT, DRY, WRITE, CREATE, "append-hash! from-env-file= from-file= from-literal= type="],
    ),
    ("create secret tls", &[PRINT, DRY, WRITE, CREATE, "append-hash! cert= key="]),
    ("create service clusterip", &[PRINT, DRY, WRITE, CREATE, "clusterip= tcp="]),
    ("create service externalname", &[PRINT, DRY, WRITE, CREATE, "external-name= tcp="]),
    ("create service loadbalancer", &[PRINT, DRY, WRITE, CREATE, "tcp="]),
    ("create service nodeport", &[PRINT, DRY, WRITE, CREATE, "node-port= tcp="]),
    ("create serviceaccount", &[PRINT, DRY, WRITE, CREATE]),
    ("create token", &[PRINT, "audience= bound-object-kind= bound-object-name= bound-object-uid= duration="]),
    (
        "delete",
        &[
            FILES,
            DRY,
            "all! all-namespaces,A! cascade? field-selector= force! grace-period= ignore-not-found! interactive,i! now! \
             output,o= raw= selector,l= timeout= wait!",
        ],
    ),
    ("scale", &[FILES, PRINT, DRY, "all! current-replicas= record! replicas= resource-version= selector,l= timeout="]),
    (
        "label",
        &[
            FILES,
            PRINT,
            DRY,
            WRITE,
            "all! all-namespaces,A! field-selector= list! local! overwrite! resource-version= selector,l=",
        ],
    ),
    (
        "annotate",
        &[
            FILES,
            PRINT,
            DRY,
            WRITE,
            "all! all-namespaces,A! field-selector= list! local! overwrite! resource-version= selector,l=",
        ],
    ),
    ("taint", &[PRINT, DRY, WRITE, "all! overwrite! selector,l="]),
    ("cordon", &[NODES]),
    ("uncordon", &[NODES]),
    (
        "drain",
        &[
            NODES,
            "chunk-size= delete-emptydir-data! disable-eviction! force! grace-period= ignore-daemonsets! pod-selector= \
             skip-wait-for-delete-timeout= timeout=",
        ],
    ),
    ("rollout restart", &[FILES, PRINT, ROLLOUT]),
    ("rollout pause", &[FILES, PRINT, ROLLOUT]),
    ("rollout resume", &[FILES, PRINT, ROLLOUT]),
    ("rollout undo", &[FILES, PRINT, DRY, ROLLOUT, "to-revision="]),
    ("rollout status", &[FILES, ROLLOUT, "revision= timeout= watch,w!"]),
    ("rollout history", &[FILES, PRINT, ROLLOUT, "revision="]),
    ("set image", &[FILES, PRINT, DRY, SET]),
    ("set env", &[FILES, PRINT, DRY, SET, "containers,c= env,e= from= keys= list! overwrite! prefix= resolve!"]),
    ("set resources", &[FILES, PRINT, DRY, SET, "containers,c= limits= requests="]),
    ("set selector", &[FILES, PRINT, DRY, "all! field-manager= local! record! resource-version="]),
    ("set serviceaccount", &[FILES, PRINT, DRY, "all! field-manager= local! record!"]),
    ("set subject", &[FILES, PRINT, DRY, SET, "group= serviceaccount= user="]),
    ("patch", &[FILES, PRINT, DRY, "field-manager= local! patch,p= patch-file= record! subresource= type="]),
    ("replace", &[FILES, PRINT, DRY, WRITE, CREATE, "cascade? force! grace-period= raw= subresource= timeout= wait!"]),
    (
        "run",
        &[
            FILES,
            PRINT,
            DRY,
            "annotations= attach! command! detach-keys= env= expose! field-manager= grace-period= image= image-pull-policy= \
             labels,l= leave-stdin-open! override-type= overrides= pod-running-timeout= port= privileged! quiet,q! record! \
             restart= rm! save-config! stdin,i! timeout= tty,t! wait! cascade? force!",
        ],
    ),
    (
        "expose",
        &[
            FILES,
            PRINT,
            DRY,
            "cluster-ip= external-ip= field-manager= labels,l= load-balancer-ip= name= override-type= overrides= port= \
             protocol= record! save-config! selector= session-affinity= target-port= type=",
        ],
    ),
    (
        "autoscale",
        &[FILES, PRINT, DRY, "cpu= cpu-percent= field-manager= max= memory= min= name= record! save-config!"],
    ),
    ("wait", &[FILES, PRINT, "all! all-namespaces,A! field-selector= for= local! selector,l= timeout="]),
    (
        "get",
        &[
            FILES,
            PRINT,
            "all-namespaces,A! chunk-size= field-selector= ignore-not-found! label-columns,L= no-headers! \
             output-watch-events! raw= selector,l= server-print! show-kind! show-labels! sort-by= subresource= watch,w! \
             watch-only!",
        ],
    ),
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
        &["accept-hosts= accept-paths= address= api-prefix= append-server-path! disable-filter! keepalive= port,p= \
               reject-methods= reject-paths= unix-socket,u= www,w= www-prefix,P="],
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
        "edit",
        &[
            FILES,
            PRINT,
            "field-manager= output-patch! record! save-config! subresource= validate? windows-line-endings!",
        ],
    ),
    ("certificate", &[FILES, PRINT, "force!"]),
    (
        "kustomize",
        &["as-current-user! enable-alpha-plugins! enable-helm! env,e= helm-command= load-restrictor= mount= network! \
                   network-name= output,o= reorder="],
    ),
    ("completion", &[]),
    ("plugin", &["name-only!"]),
    ("options", &[]),
    ("help", &[]),
];

/// Other names of commands.
const ALIASES: [(&str, &str); 16] = [
    ("create cm", "create configmap"),
    ("create cj", "create cronjob"),
    ("create deploy", "create deployment"),
    ("create ing", "create ingress"),
    ("create ns", "create namespace"),
    ("create pdb", "create poddisruptionbudget"),
    ("create pc", "create priorityclass"),
    ("create resourcequota", "create quota"),
    ("create sa", "create serviceaccount"),
    ("create svc", "create service"),
    ("set sa", "set serviceaccount"),
    ("rollout hist", "rollout history"),
    ("top no", "top node"),
    ("top po", "top pod"),
    ("top nodes", "top node"),
    ("top pods", "top pod"),
];

/// Flags that kubectl had once: what a runbook of old has, kubectl refuses.
const REMOVED: [&str; 9] = [
    "delete-local-data",
    "export",
    "generator",
    "show-all",
    "include-uninitialized",
    "heapster-namespace",
    "container-port",
    "use-openapi-print-columns",
    "pod-name",
];

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// With `=` only.
    Joined,
}

#[derive(Copy, Clone, Debug)]
struct Flag {
    name: &'static str,
    short: Option<char>,
    takes: Takes,
}

fn flags(list: &'static str) -> impl Iterator<Item = Flag> {
    list.split_whitespace().map(|text| {
        let (text, takes) = match text.as_bytes()[text.len() - 1] {
            b'=' => (&text[..text.len() - 1], Takes::Value),
            b'?' => (&text[..text.len() - 1], Takes::Joined),
            _ => (text.trim_end_matches('!'), Takes::Nothing),
        };
        let (name, short) = text.split_once(',').unwrap_or((text, ""));
        Flag { name, short: short.chars().next(), takes }
    })
}

/// The flags of a command and those that all have; the command's own come first.
fn flags_of(path: &str) -> impl Iterator<Item = Flag> {
    let own = COMMANDS.iter().find(|(name, _)| *name == path).map_or(&[][..], |(_, lists)| lists);
    own.iter().copied().chain([GLOBAL]).flat_map(flags)
}

/// The first words of all commands.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter_map(|(name, _)| name.split(' ').next())
}

/// What can follow a word of a command, such as `rollout`.
pub(super) fn subcommands(path: &str) -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter_map(move |(name, _)| name.strip_prefix(path)?.strip_prefix(' ')?.split(' ').next())
}

/// A flag that any command has.
fn is_known_elsewhere(name: &str) -> bool {
    COMMANDS.iter().flat_map(|(_, lists)| lists.iter()).flat_map(|list| flags(list)).any(|flag| flag.name == name)
}

/// Words and flags of one command.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    /// The command's own words: `rollout restart`.
    pub path: String,
    /// What is no flag, without the command's own words.
    pub words: Vec<String>,
    /// What stands after `--`.
    pub rest: Vec<String>,
    flags: Vec<(&'static str, Option<String>)>,
}

/// Splits off the command's words; flags may stand before and between them.
///
/// # Source
/// cobra, `Command.Find` and `stripFlags`.
fn command(words: Vec<String>) -> Result<(String, Vec<String>), CommandLineError> {
    let mut path = String::new();
    let mut others = Vec::new();
    let mut words: VecDeque<String> = words.into();
    while let Some(word) = words.pop_front() {
        if word == "--" {
            others.push(word);
            break;
        }
        if word.starts_with('-') && word.len() > 1 {
            let is_joined = word.contains('=') || (!word.starts_with("--") && word.len() > 2);
            let name = word.trim_start_matches('-');
            let is = |flag: &Flag| flag.name == name || (flag.short.is_some() && flag.short == name.chars().next());
            let takes = flags_of(&path).find(is).map_or(Takes::Value, |flag| flag.takes);
            others.push(word);
            if !is_joined && takes == Takes::Value {
                others.extend(words.pop_front());
            }
            continue;
        }
        let longer = if path.is_empty() { word.clone() } else { format!("{path} {word}") };
        let longer = ALIASES.iter().find(|(alias, _)| *alias == longer).map_or(longer, |(_, name)| (*name).to_owned());
        let has = |name: &str| {
            COMMANDS.iter().any(|(command, _)| {
                *command == name || command.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '))
            })
        };
        if has(&longer) {
            path = longer;
        } else if path.is_empty() {
            return Err(unknown_command(&word));
        } else {
            others.push(word);
            break;
        }
    }
    others.extend(words);
    Ok((path, others))
}

fn unknown_command(word: &str) -> CommandLineError {
    let nearest = crate::diagnostics::suggest::nearest(word, verbs());
    CommandLineError {
        message: format!("kubectl {word} cannot be played"),
        word: word.to_owned(),
        help: nearest.map(|verb| format!("the nearest command is `{verb}`")),
    }
}

impl Arguments {
    /// Splits what follows `kubectl`.
    pub(super) fn split(all: Vec<String>) -> Result<Self, Stop> {
        let (path, others) = command(all)?;
        let mut arguments = Self { path, words: Vec::new(), rest: Vec::new(), flags: Vec::new() };
        let mut others: VecDeque<String> = others.into();
        while let Some(word) = others.pop_front() {
            if word == "--" {
                arguments.rest = others.into();
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                arguments.long(long, &mut others)?;
            } else if word.len() > 1 && word.starts_with('-') {
                arguments.short(&word, &mut others)?;
            } else {
                arguments.words.push(word);
                // What a program in a container is given is not kubectl's.
                if arguments.path == "exec" && arguments.words.len() > 1 {
                    arguments.rest = others.into();
                    break;
                }
            }
        }
        Ok(arguments)
    }

    fn long(&mut self, text: &str, rest: &mut VecDeque<String>) -> Result<(), Stop> {
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let Some(flag) = flags_of(&self.path).find(|flag| flag.name == name) else {
            return Err(self.unknown(&format!("--{name}"), name, &format!("unknown flag: --{name}")));
        };
        let value = match (joined, flag.takes) {
            (Some(value), _) => Some(value),
            (None, Takes::Value) => match rest.pop_front() {
                Some(value) => Some(value),
                None => return Err(error(&format!("--{name}"), format!("flag needs an argument: --{name}")).into()),
            },
            (None, _) => None,
        };
        self.flags.push((flag.name, value));
        Ok(())
    }

    /// `-n value`, `-nvalue`, `-n=value`, and several at once: `-it`.
    fn short(&mut self, word: &str, rest: &mut VecDeque<String>) -> Result<(), Stop> {
        let mut letters = word[1..].chars();
        while let Some(letter) = letters.next() {
            let Some(flag) = flags_of(&self.path).find(|flag| flag.short == Some(letter)) else {
                let part: String = std::iter::once(letter).chain(letters).collect();
                let elsewhere = COMMANDS
                    .iter()
                    .flat_map(|(_, lists)| lists.iter())
                    .flat_map(|list| flags(list))
                    .find(|flag| flag.short == Some(letter));
                let name = elsewhere.map_or("", |flag| flag.name);
                return Err(self.unknown(word, name, &format!("unknown shorthand flag: '{letter}' in -{part}")));
            };
            if flag.takes != Takes::Value {
                let joined = letters.as_str().strip_prefix('=').map(str::to_owned);
                let ends = joined.is_some();
                self.flags.push((flag.name, joined));
                if ends {
                    break;
                }
                continue;
            }
            let joined = letters.as_str();
            let value = match joined.strip_prefix('=').unwrap_or(joined) {
                "" => rest.pop_front(),
                value => Some(value.to_owned()),
            };
            let Some(value) = value else {
                return Err(error(word, format!("flag needs an argument: '{letter}' in {word}")).into());
            };
            self.flags.push((flag.name, Some(value)));
            break;
        }
        Ok(())
    }

    /// kubectl refuses what only another of its commands takes, or it itself once took; anything else is a typing error.
    fn unknown(&self, word: &str, name: &str, message: &str) -> Stop {
        if !name.is_empty() && (is_known_elsewhere(name) || REMOVED.contains(&name)) {
            return Stop::refused(&[
                &format!("error: {message}"),
                &format!("See 'kubectl {} --help' for usage.", self.path),
            ]);
        }
        let plain = word.trim_start_matches('-');
        let known: Vec<&str> = flags_of(&self.path).map(|flag| flag.name).collect();
        let nearest = crate::diagnostics::suggest::nearest(plain, known);
        Stop::Unplayable(CommandLineError {
            message: format!("unknown flag of kubectl {}: {word}", self.path),
            word: word.to_owned(),
            help: nearest.map(|flag| format!("the nearest flag is `--{flag}`")),
        })
    }

    /// Whether a flag is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(flag, _)| *flag == name)
    }

    /// The same without one of the flags.
    pub(super) fn without(&self, name: &str) -> Self {
        let mut others = self.clone();
        others.flags.retain(|(flag, _)| *flag != name);
        others
    }

    /// The value of a flag; of several the last.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(flag, _)| *flag == name).and_then(|(_, value)| value.as_deref())
    }

    /// The values of a flag that can be given several times.
    pub(super) fn texts(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.flags.iter().filter(move |(flag, _)| *flag == name).filter_map(|(_, value)| value.as_deref())
    }

    /// The values of a flag whose values may also stand in one, with commas.
    pub(super) fn list(&self, name: &'static str) -> Vec<String> {
        self.texts(name).flat_map(|value| value.split(',')).map(str::to_owned).collect()
    }

    /// A flag without a value, or with `=true` or `=false`.
    pub(super) fn switch(&self, name: &str, default: bool) -> Result<bool, CommandLineError> {
        if !self.has(name) {
            return Ok(default);
        }
        match self.text(name) {
            None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            Some(value) => Err(error(value, format!("--{name} takes true or false, not `{value}`"))),
        }
    }

    /// A flag with a number.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, CommandLineError> {
        self.text(name)
            .map(|value| value.parse().map_err(|_| error(value, format!("--{name} takes a number, not `{value}`"))))
            .transpose()
    }
}
