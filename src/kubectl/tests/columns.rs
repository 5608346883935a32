//! Tables of `get`.

use super::*;

/// A line prints these words of these objects, wherever they stand.
#[track_caller]
fn check(line: &str, objects: &[&str], expected: &[&str]) {
    let mut desk = Desk::new(line);
    for text in objects {
        let value = serde_saphyr::from_str(text).expect("YAML");
        desk.create(Object::from_any(value).expect("an object").expect("a valid one"));
    }
    let (exit, out, err) = desk.printed(600.0);
    assert_eq!(exit, 0, "{err:?}");
    // Columns are at least two spaces apart; no cell of these is empty but where two bars stand.
    let cells = |line: &String| {
        let mut cells = Vec::new();
        let starts = out[0].char_indices().filter(|(at, _)| *at == 0 || out[0][..*at].ends_with("   "));
        let starts: Vec<usize> = starts.filter(|(_, letter)| *letter != ' ').map(|(at, _)| at).collect();
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(line.len()).min(line.len());
            cells.push(line[(*start).min(end)..end].trim_end().to_owned());
        }
        cells.join("|")
    };
    assert_eq!(out.iter().map(cells).collect::<Vec<_>>(), expected, "{line}");
}

const PODS: &str = "spec: {containers: [{name: c, image: nginx}, {name: d, image: envoy}]";

#[test]
fn workloads_show_their_containers_and_selectors() {
    let selector = "selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [b, a]}]}";
    let spec = format!("{{{selector}, template: {{metadata: {{labels: {{app: web, tier: a}}}}, {PODS}}}}}}}");
    let of = |kind: &str| {
        format!("{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: web, namespace: default}}, spec: {spec}}}")
    };
    let usual = "NAME|READY|UP-TO-DATE|AVAILABLE|AGE";
    check("get deploy", &[&of("Deployment")], &[usual, "web|0/1|0|0|0s"]);
    let wide = format!("{usual}|CONTAINERS|IMAGES|SELECTOR");
    check("get deploy -o wide", &[&of("Deployment")], &[&wide, "web|0/1|0|0|0s|c,d|nginx,envoy|app=web,tier in (a,b)"]);
    let wide = "NAME|DESIRED|CURRENT|READY|AGE|CONTAINERS|IMAGES|SELECTOR";
    check("get rs -o wide", &[&of("ReplicaSet")], &[wide, "web|1|0|0|0s|c,d|nginx,envoy|app=web,tier in (a,b)"]);
    check(
        "get sts -o wide",
        &[&of("StatefulSet")],
        &["NAME|READY|AGE|CONTAINERS|IMAGES", "web|0/1|0s|c,d|nginx,envoy"],
    );
    let daemon = of("DaemonSet").replace(PODS, &format!("{PODS}, nodeSelector: {{disk: ssd, a: b}}"));
    check(
        "get ds",
        &[&daemon],
        &["NAME|DESIRED|CURRENT|READY|UP-TO-DATE|AVAILABLE|NODE SELECTOR|AGE", "web|0|0|0|0|0|a=b,disk=ssd|0s"],
    );
    let cron = format!(
        "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: tick, namespace: default}}, spec: {{schedule: '@daily', \
         jobTemplate: {{spec: {{template: {{{PODS}, restartPolicy: Never}}}}}}}}}}}}"
    );
    check(
        "get cj -o wide",
        &[&cron],
        &[
            "NAME|SCHEDULE|TIMEZONE|SUSPEND|ACTIVE|LAST SCHEDULE|AGE|CONTAINERS|IMAGES|SELECTOR",
            "tick|@daily|<none>|False|0|<none>|0s|c,d|nginx,envoy|<none>",
        ],
    );
}

#[test]
fn services_show_their_ports_and_addresses() {
    let of = |spec: &str| {
        format!("{{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: default}}, spec: {{{spec}}}}}")
    };
    let usual = "NAME|TYPE|CLUSTER-IP|EXTERNAL-IP|PORT(S)|AGE";
    let two = "type: NodePort, clusterIP: 10.0.0.7, selector: {b: c, a: b}, ports: [{port: 80, nodePort: 30080}, {port: 53, protocol: UDP}]";
    let row = "web|NodePort|10.0.0.7|<none>|80:30080/TCP,53/UDP|0s";
    check("get svc", &[&of(two)], &[usual, row]);
    check("get svc -o wide", &[&of(two)], &[&format!("{usual}|SELECTOR"), &format!("{row}|a=b,b=c")]);
    let balancer = of("type: LoadBalancer, ports: [{port: 80}]");
    check("get svc", &[&balancer], &[usual, "web|LoadBalancer|<none>|<pending>|80/TCP|0s"]);
    check("get svc", &[&of("clusterIP: None")], &[usual, "web|ClusterIP|None|<none>|<none>|0s"]);
    let away = of("type: ExternalName, externalName: db.example.com");
    check("get svc", &[&away], &[usual, "web|ExternalName|<none>|db.example.com|<none>|0s"]);
}

#[test]
fn storage_shows_what_it_holds() {
    let class = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast, annotations: \
                 {storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: p, allowVolumeExpansion: true}";
    let volume = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 8192Mi}, \
                  accessModes: [ReadOnlyMany, ReadWriteOnce], storageClassName: fast, \
                  claimRef: {namespace: default, name: data, uid: u}, hostPath: {path: /x}}}";
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default, uid: u, \
                 annotations: {pv.kubernetes.io/bind-completed: 'yes'}}, spec: {storageClassName: fast, volumeName: pv, accessModes: [ReadWriteOnce], \
                 resources: {requests: {storage: 5Gi}}}}";
    let all = [class, volume, claim];
    check(
        "get sc",
        &all,
        &[
            "NAME|PROVISIONER|RECLAIMPOLICY|VOLUMEBINDINGMODE|ALLOWVOLUMEEXPANSION|AGE",
            "fast (default)|p|Delete|Immediate|true|<unknown>",
        ],
    );
    check(
        "get pv -o wide",
        &all,
        &[
            "NAME|CAPACITY|ACCESS MODES|RECLAIM POLICY|STATUS|CLAIM|STORAGECLASS|VOLUMEATTRIBUTESCLASS|REASON|AGE|VOLUMEMODE",
            "pv|8Gi|RWO,ROX|Retain|Bound|default/data|fast|<unset>||0s|Filesystem",
        ],
    );
    let columns = "NAME|STATUS|VOLUME|CAPACITY|ACCESS MODES|STORAGECLASS|VOLUMEATTRIBUTESCLASS|AGE";
    check("get pvc", &all, &[columns, "data|Bound|pv|8Gi|RWO,ROX|fast|<unset>|0s"]);
    let (wanted, unmarked) =
        (&["data|Pending|pv|0||fast|<unset>|0s"], ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}");
    check("get pvc", &[class, &claim.replace(unmarked, "")], &[columns, wanted[0]]);
    check("get pvc", &[&claim.replace(", volumeName: pv", "")], &[columns, "data|Pending||||fast|<unset>|0s"]);
}

#[test]
fn stored_kinds_have_their_columns() {
    let of = |api: &str, kind: &str, rest: &str| {
        format!("{{apiVersion: {api}, kind: {kind}, metadata: {{name: x, namespace: default}}, {rest}}}")
    };
    let rules = "spec: {ingressClassName: nginx, tls: [{}], rules: [{host: a}, {host: b}, {host: c}, {host: d}]}";
    let ingress = of("networking.k8s.io/v1", "Ingress", rules);
    check("get ing", &[&ingress], &["NAME|CLASS|HOSTS|ADDRESS|PORTS|AGE", "x|nginx|a,b,c + 1 more...||80, 443|0s"]);
    let subjects = "roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}, {kind: User, name: v}, \
                    {kind: ServiceAccount, name: s, namespace: home}]";
    let binding = of("rbac.authorization.k8s.io/v1", "RoleBinding", subjects);
    check(
        "get rolebinding -o wide",
        &[&binding],
        &["NAME|ROLE|AGE|USERS|GROUPS|SERVICEACCOUNTS", "x|Role/r|0s|u, v||home/s"],
    );
    let role = of("rbac.authorization.k8s.io/v1", "Role", "rules: []");
    check("get roles", &[&role], &["NAME|CREATED AT", "x|1970-01-01T00:00:00Z"]);
    let policy = of("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {matchLabels: {a: b}}}");
    check("get netpol", &[&policy], &["NAME|POD-SELECTOR|AGE", "x|a=b|0s"]);
    let slice = "addressType: IPv4, ports: [{port: 80}, {name: web}], endpoints: [{addresses: [1.1.1.1, 1.1.1.2]}]";
    let slice = of("discovery.k8s.io/v1", "EndpointSlice", slice);
    let columns = "NAME|ADDRESSTYPE|PORTS|ENDPOINTS|AGE";
    check("get endpointslices", &[&slice], &[columns, "x|IPv4|80,web|1.1.1.1,1.1.1.2|0s"]);
    let class = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}";
    let columns = "NAME|VALUE|GLOBAL-DEFAULT|AGE|PREEMPTIONPOLICY";
    check("get pc", &[class], &[columns, "high|7|false|0s|PreemptLowerPriority"]);
    let lease = of("coordination.k8s.io/v1", "Lease", "spec: {holderIdentity: me}");
    check("get lease", &[&lease], &["NAME|HOLDER|AGE", "x|me|0s"]);
}

#[test]
fn nodes_show_their_roles_and_amounts_in_their_own_form() {
    let node = "{apiVersion: v1, kind: Node, metadata: {name: x, creationTimestamp: '1970-01-01T00:00:00Z', labels: \
                {kubernetes.io/role: infra, node-role.kubernetes.io/worker: '', node-role.kubernetes.io/db: ''}}, \
                status: {capacity: {cpu: 3500m, memory: 8388608Ki, hugepages-2Mi: 64Mi}, allocatable: \
                {cpu: '4', memory: 16393220Ki}, conditions: [{type: Ready, status: 'True'}]}}";
    check(
        "get node x -o wide",
        &[node],
        &[
            "NAME|STATUS|ROLES|AGE|VERSION|INTERNAL-IP|EXTERNAL-IP|OS-IMAGE|KERNEL-VERSION|CONTAINER-RUNTIME",
            "x|Ready|db,infra,worker|0s||<none>|<none>|<unknown>|<unknown>|<unknown>",
        ],
    );
    let path = "'{.status.capacity.cpu} {.status.capacity.memory} {.status.capacity.hugepages-2Mi} {.status.allocatable.memory}'";
    check(&format!("get node x -o jsonpath={path}"), &[node], &["3500m 8Gi 64Mi 16393220Ki"]);
}

#[test]
fn names_have_their_kind_where_more_than_one_is_answered() {
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: \
                  {maxUnavailable: 1, selector: {matchLabels: {a: b}}}}";
    let columns = "NAME|MIN AVAILABLE|MAX UNAVAILABLE|ALLOWED DISRUPTIONS|AGE";
    check("get pdb", &[budget], &[columns, "web|N/A|1|0|0s"]);
    // Of Jobs comes a table without rows.
    check("get jobs,pdb", &[budget], &[columns, "poddisruptionbudget.policy/web|N/A|1|0|0s"]);
    check("get jobs,pdb --no-headers", &[budget], &["poddisruptionbudget.policy/web|N/A|1|0|0s"]);
    // Of a Job that is not there comes none.
    let mut desk = Desk::new("get job/no pdb/web");
    desk.create(object(budget));
    let (exit, stdout, _) = desk.printed(600.0);
    assert_eq!((exit, stdout[1].starts_with("web ")), (1, true), "{stdout:?}");
    Desk::new("get pods,pv").check(0, &[], &["No resources found"]);
    Desk::new("get pods,pvc").check(0, &[], &["No resources found in default namespace."]);
}
