"""packaging/kubernetes: every object has the fields that Kubernetes 1.28 and the MPI operator's v2beta1 know, and no
others; names that one object uses, another one has; the images are those of scripts/package; and the programs take the
configurations and command lines in them.

    kubernetes_test.py BUILD-FOLDER

kubectl reads them, too, where it is installed: its dry run asks a server which kinds there are, here the test itself.
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "packaging"), str(ROOT / "scripts")]

import images  # noqa: E402
import oci  # noqa: E402
from tributary.cases import Cases, Skip, wanted  # noqa: E402

FOLDER = ROOT / "packaging" / "kubernetes"
# Types: a class; [type]: a list; {"": type}: a map with any keys; {field: type}: an object, and "!" ends the name of a field
# that it must have; a name: of TYPES.
TEXT, NUMBER, TRUTH = str, int, bool
TEXTS, WORDS = [str], {"": str}
TYPES = {
    "Metadata": {"name!": TEXT, "namespace": TEXT, "labels": WORDS, "annotations": WORDS},
    "PodMetadata": {"labels": WORDS, "annotations": WORDS},
    "Selector": {"matchLabels!": WORDS},
    "Template": {"metadata": "PodMetadata", "spec!": "Pod"},
    "Pod": {
        "containers!": ["Container"], "initContainers": ["Container"], "volumes": ["Volume"], "nodeSelector": WORDS,
        "hostNetwork": TRUTH, "hostPID": TRUTH, "dnsPolicy": TEXT, "automountServiceAccountToken": TRUTH, "restartPolicy": TEXT,
        "priorityClassName": TEXT, "terminationGracePeriodSeconds": NUMBER, "affinity": "Affinity",
        "securityContext": {"runAsNonRoot": TRUTH, "runAsUser": NUMBER, "runAsGroup": NUMBER, "fsGroup": NUMBER,
                            "seccompProfile": {"type!": TEXT}},
    },
    "Affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey!": TEXT, "labelSelector": "Selector"}]}},
    "Container": {
        "name!": TEXT, "image!": TEXT, "command": TEXTS, "args": TEXTS, "workingDir": TEXT,
        "env": [{"name!": TEXT, "value": TEXT, "valueFrom": {"fieldRef": {"fieldPath!": TEXT}}}],
        "ports": [{"name": TEXT, "containerPort!": NUMBER, "protocol": TEXT}],
        "resources": {"requests": WORDS, "limits": WORDS}, "readinessProbe": "Probe", "livenessProbe": "Probe",
        "volumeMounts": [{"name!": TEXT, "mountPath!": TEXT, "readOnly": TRUTH, "subPath": TEXT}],
        "securityContext": {
            "runAsUser": NUMBER, "runAsGroup": NUMBER, "runAsNonRoot": TRUTH, "allowPrivilegeEscalation": TRUTH,
            "readOnlyRootFilesystem": TRUTH, "capabilities": {"add": TEXTS, "drop": TEXTS}, "seccompProfile": {"type!": TEXT}},
    },
    "Probe": {
        "exec": {"command!": TEXTS}, "tcpSocket": {"port!": NUMBER}, "httpGet": {"path": TEXT, "port!": TEXT, "scheme": TEXT},
        "periodSeconds": NUMBER, "timeoutSeconds": NUMBER, "failureThreshold": NUMBER},
    "Volume": {
        "name!": TEXT, "configMap": {"name!": TEXT}, "emptyDir": {}, "hostPath": {"path!": TEXT, "type": TEXT},
        "secret": {"secretName!": TEXT, "defaultMode": NUMBER}, "persistentVolumeClaim": {"claimName!": TEXT}},
    "Replica": {"replicas!": NUMBER, "template!": "Template"},
}  # fmt: skip
KINDS = {
    "v1 Namespace": {},
    "v1 ConfigMap": {"data!": WORDS},
    "v1 PersistentVolumeClaim": {"spec!": {"accessModes!": TEXTS, "resources!": {"requests!": WORDS}}},
    "v1 Service": {"spec!": {"selector!": WORDS, "ports!": [{"name": TEXT, "port!": NUMBER, "targetPort": TEXT}]}},
    "apps/v1 DaemonSet": {"spec!": {"selector!": "Selector", "updateStrategy": {"type!": TEXT}, "template!": "Template"}},
    "apps/v1 Deployment": {
        "spec!": {"replicas": NUMBER, "strategy": {"type!": TEXT}, "selector!": "Selector", "template!": "Template"}},
    "batch/v1 Job": {"spec!": {"completions": NUMBER, "parallelism": NUMBER, "completionMode": TEXT, "backoffLimit": NUMBER,
                               "template!": "Template"}},
    "kubeflow.org/v2beta1 MPIJob": {"spec!": {
        "slotsPerWorker": NUMBER, "sshAuthMountPath": TEXT, "runPolicy": {"cleanPodPolicy": TEXT},
        "mpiReplicaSpecs!": {"Launcher!": "Replica", "Worker!": "Replica"}}},
}  # fmt: skip
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
KUBECTL = "kubectl"  # of a cluster's own release: no list has it
# Secrets are their administrators', who make them as the pages say.
SECRETS = {"tributary-manager-tls", "tributary-switch-tls", "reduce", "sums"}


def wrong(value, kind, place):
    """What differs from the type, each with its place."""
    if isinstance(kind, str):
        kind = TYPES[kind]
    if isinstance(kind, type):
        fits = type(value) is kind
        return [] if fits else [f"{place}: {value!r} is not of type {kind.__name__}"]
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{place}: {value!r} is not a list"]
        return [text for number, each in enumerate(value) for text in wrong(each, kind[0], f"{place}[{number}]")]
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is not an object"]
    if "" in kind:
        return [text for key, each in value.items() for text in wrong(each, kind[""], f"{place}.{key}")]
    fields = {name.rstrip("!"): each for name, each in kind.items()}
    found = [f"{place}: lacks {name[:-1]}" for name in kind if name.endswith("!") and name[:-1] not in value]
    for key, each in value.items():
        found += wrong(each, fields[key], f"{place}.{key}") if key in fields else [f"{place}: has no field {key}"]
    return found


def objects():
    """[(file, object)] of all manifests."""
    try:
        import yaml
    except ImportError:
        raise Skip("python3-yaml is not installed: scripts/setup") from None
    return [(path.name, each) for path in sorted(FOLDER.glob("*.yaml")) if path.name != "kustomization.yaml"
            for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def problems_of(each, file):
    kind = f"{each.get('apiVersion')} {each.get('kind')}"
    if kind not in KINDS:
        return [f"{file}: unknown kind {kind}"]
    place = f"{file}: {each['kind']} {each.get('metadata', {}).get('name')}"
    return wrong(each, {"apiVersion!": TEXT, "kind!": TEXT, "metadata!": "Metadata", **KINDS[kind]}, place)


def pods(each):
    """(labels, pod) of the templates in an object."""
    spec = each.get("spec", {})
    found = [holder["template"] for holder in (spec, *spec.get("mpiReplicaSpecs", {}).values()) if "template" in holder]
    return [(template.get("metadata", {}).get("labels", {}), template["spec"]) for template in found]


def containers(pod):
    return [*pod.get("initContainers", []), *pod["containers"]]


def every_field_is_known():
    found = [text for file, each in objects() for text in problems_of(each, file)]
    assert not found, "\n".join(found)
    assert {each["kind"] for _, each in objects()} == {kind.split()[1] for kind in KINDS}


def a_wrong_field_is_found():
    _, job = next(one for one in objects() if one[1]["kind"] == "Job")
    changed = json.loads(json.dumps(job))
    changed["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    changed["spec"]["completions"] = "4"
    del changed["spec"]["template"]["spec"]["volumes"][0]["hostPath"]["path"]
    found = problems_of(changed, "job.yaml")
    assert len(found) == 3 and any("imagePolicy" in text for text in found), found


def names_that_are_used_are_there():
    all_of_them = objects()
    there = {(each["kind"], each["metadata"]["name"]) for _, each in all_of_them}
    there |= {("Secret", name) for name in SECRETS}
    for file, each in all_of_them:
        assert NAME.fullmatch(each["metadata"]["name"]), each["metadata"]
        for labels, pod in pods(each):
            selected = each["spec"].get("selector", {}).get("matchLabels", {})
            assert selected.items() <= labels.items(), f"{file}: the selector does not select its own pods"
            used = {("ConfigMap", volume["configMap"]["name"]) for volume in pod.get("volumes", []) if "configMap" in volume}
            used |= {("Secret", volume["secret"]["secretName"]) for volume in pod.get("volumes", []) if "secret" in volume}
            used |= {("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
                     for volume in pod.get("volumes", []) if "persistentVolumeClaim" in volume}
            assert used <= there, f"{file}: {used - there}"
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            for container in containers(pod):
                mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
                assert mounted <= volumes, f"{file}: {container['name']} mounts {mounted - volumes}"
    services = [each for _, each in all_of_them if each["kind"] == "Service"]
    for service in services:
        ports = {port.get("name") for _, each in all_of_them for labels, pod in pods(each)
                 if service["spec"]["selector"].items() <= labels.items()
                 for container in pod["containers"] for port in container.get("ports", [])}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports, (service, ports)


def images_are_those_that_are_made():
    made = {f"{images.PREFIX}-{kind}" for kind in images.KINDS}
    used = {container["image"] for _, each in objects() for _, pod in pods(each) for container in containers(pod)}
    assert used == made, used ^ made
    kustomization = (FOLDER / "kustomization.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"- name: (\S+)", kustomization)) == made
    version = re.match(r"\S+ \(([^)]*)\)", (ROOT / "debian" / "changelog").read_text(encoding="utf-8")).group(1)
    assert set(re.findall(r"newTag: (\S+)", kustomization)) == {oci.tag_of(f"{version}~deb12")}
    listed = set(re.findall(r"^  - (\S+\.yaml)$", kustomization, re.MULTILINE))
    assert listed == {"namespace.yaml", "manager.yaml", "switch.yaml", "hostd.yaml"}


def users_have_no_privilege():
    """Root are the switch and the host agent alone, with the capabilities of their systemd units."""
    privileged = {}
    for file, each in objects():
        for _, pod in pods(each):
            of_all = pod.get("securityContext", {})
            for container in containers(pod):
                own = {**of_all, **container.get("securityContext", {})}
                assert own["allowPrivilegeEscalation"] is False and own["capabilities"]["drop"] == ["ALL"], (file, container["name"])
                if own.get("runAsUser", 0) == 0:
                    privileged[container["name"]] = {f"CAP_{name}" for name in own["capabilities"].get("add", [])}
                else:
                    assert "add" not in own["capabilities"], (file, container["name"])
            if file in ("job.yaml", "mpijob.yaml"):
                assert not pod.get("hostNetwork") and not pod.get("hostPID"), file
    for name, unit in (("hostd", "tributary-hostd"), ("switch", "tributary-switch")):
        text = (ROOT / "packaging" / f"{unit}.service.in").read_text(encoding="utf-8")
        bounding = set(re.search(r"^CapabilityBoundingSet=(.*)$", text, re.MULTILINE).group(1).split())
        assert privileged.pop(name) == bounding, (name, bounding)
    assert not privileged, privileged


PROGRAMS = {
    "fabricd.toml": "controlplane/process/tributary-fabricd", "switch.toml": "dataplane/tributary-switch",
    "hostd.toml": "endpoint/hostd/tributary-hostd",
}


def certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"], check=True, capture_output=True)


def programs_take_their_configurations(build):
    checked = set()
    with tempfile.TemporaryDirectory(prefix="tributary-kubernetes-") as place:
        folder = Path(place)
        for name in ("tls", "ca", "n0"):
            certificate(folder, name)
        (folder / "administrator.token").write_text("secret\n")
        for _, each in objects():
            for name, text in each.get("data", {}).items():
                if name in PROGRAMS:
                    (folder / name).write_text(text.replace("@NODE@", "n0").replace("/tls/", f"{folder}/"))
                    done = subprocess.run([build / PROGRAMS[name], "--check-config", "--config", folder / name], capture_output=True,
                                          text=True, check=False)
                    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
                    checked.add(name)
    assert checked == PROGRAMS.keys()


class Discovery(http.server.BaseHTTPRequestHandler):
    """What a cluster that has nothing yet tells kubectl before a dry run: the kinds that it knows."""

    def do_GET(self):
        path = self.path.split("?")[0].strip("/")
        versions = {kind.split()[0] for kind in KINDS}
        groups = [{"name": group, "versions": [{"groupVersion": one, "version": version}],
                   "preferredVersion": {"groupVersion": one, "version": version}}
                  for one in sorted(versions) if "/" in one for group, version in [one.split("/")]]  # fmt: skip
        of_path = path.removeprefix("apis/").removeprefix("api/")
        answer = {"api": {"kind": "APIVersions", "versions": ["v1"]}, "apis": {"kind": "APIGroupList", "apiVersion": "v1",
                                                                               "groups": groups}}.get(path)  # fmt: skip
        if answer is None and of_path in versions:
            kinds = [kind.split()[1] for kind in KINDS if kind.split()[0] == of_path]
            answer = {"kind": "APIResourceList", "groupVersion": of_path, "resources": [
                {"name": f"{kind.lower()}s", "singularName": kind.lower(), "namespaced": kind != "Namespace", "kind": kind,
                 "verbs": ["create", "get", "patch"]} for kind in kinds]}  # fmt: skip
        code = 200 if answer else 404
        body = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                                     "code": 404}).encode()  # fmt: skip
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def kubectl_takes_them():
    program = shutil.which(KUBECTL)
    if program is None:
        raise Skip("kubectl is not installed")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discovery) as server, tempfile.TemporaryDirectory() as home:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kubectl = [program, f"--server=http://127.0.0.1:{server.server_port}", f"--cache-dir={home}"]
        for words in (["-f", FOLDER / "job.yaml", "-f", FOLDER / "mpijob.yaml"], ["-k", FOLDER]):
            done = subprocess.run([*kubectl, "apply", "--dry-run=client", "--validate=false", *words], capture_output=True, text=True,
                                  env={"PATH": os.environ["PATH"], "HOME": home, "KUBECONFIG": "/dev/null"}, check=False)  # fmt: skip
            assert done.returncode == 0, done.stderr
            lines = done.stdout.splitlines()
            assert lines and all(line.endswith("created (dry run)") for line in lines), done.stdout
        server.shutdown()


def main():
    build = Path(sys.argv[1])
    report = Cases("unit/kubernetes")
    for test in (every_field_is_known, a_wrong_field_is_found, names_that_are_used_are_there, images_are_those_that_are_made,
                 users_have_no_privilege, programs_take_their_configurations, kubectl_takes_them):
        if wanted(f"kubernetes.{test.__name__}"):
            with report.case("kubernetes", test.__name__):
                test(build) if test is programs_take_their_configurations else test()
    sys.exit(report.finish())


main()
