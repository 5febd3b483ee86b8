# SPDX-License-Identifier: Apache-2.0
"""The programs of a node: where they come from, and what they are started with."""
import functools
import os
import shutil
import unittest

from harness import containerd, fileio, tools
from harness.wait import TIME_FACTOR

from .pki import NODE, NODE_ADDRESS

KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
_ETCD = "http://127.0.0.1:2379"
_ISSUER = "https://kubernetes.default.svc"


def why_not():
    """Why there can be no node here; None if there can."""
    if os.geteuid() != 0:
        return "needs root: makes namespaces and cgroups"
    missing = [p for p in ("unshare", "nsenter", "ip", "openssl") if not shutil.which(p)]
    if missing:
        return f"not installed: {', '.join(missing)} (deploy/install-deps.sh tests)"
    return containerd.why_not()


@functools.lru_cache(maxsize=None)
def path_of(name):
    """Skips the test with the reason where it cannot be had."""
    if name in KUBERNETES:
        return os.path.join(tools.supplied("kubernetes_build.sh"), name)
    return {"etcd": lambda: tools.supplied("fetch_programs.sh", "etcd"), "kubectl": tools.kubectl,
            "cni": lambda: os.path.dirname(tools.supplied("fetch_programs.sh", "cni"))}.get(name, lambda: name)()


@functools.lru_cache(maxsize=None)
def _why_not_fetched():
    try:
        for name in ("kubectl", "etcd", "cni", "kubelet"):
            path_of(name)
    except unittest.SkipTest as e:
        return str(e)
    return None


def fetch_all():
    """What takes minutes the first time, before a node is started. Skips where it cannot be had, which is asked once."""
    if _why_not_fetched():
        raise unittest.SkipTest(_why_not_fetched())


def arguments(name, node):
    """Of one program of this node."""
    return {"etcd": _etcd, "containerd": _containerd, "kube-apiserver": _apiserver, "kubelet": _kubelet,
            "kube-controller-manager": _controllers, "kube-scheduler": _scheduler, "kubectl": _proxy}[name](node)


def _etcd(_):
    """In memory: it waits for the disk at each write, which on a busy one makes 15 s of the API server's 4."""
    peer = "http://127.0.0.1:2380"
    return ["--name", NODE, "--data-dir", "/run/etcd", "--listen-client-urls", _ETCD, "--advertise-client-urls",
            _ETCD, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"{NODE}={peer}"]


def _containerd(node):
    return ["-c", node.path("ctrd/config.toml")]


def _apiserver(node):
    pki = node.pki.path
    return [f"--etcd-servers={_ETCD}", "--bind-address=0.0.0.0", "--secure-port=443", "--insecure-port=0",
            f"--advertise-address={NODE_ADDRESS}", "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
            f"--token-auth-file={pki('tokens.csv')}", f"--client-ca-file={pki('ca.crt')}",
            f"--tls-cert-file={pki('apiserver.crt')}", f"--tls-private-key-file={pki('apiserver.key')}",
            f"--kubelet-client-certificate={pki('kubelet-client.crt')}", f"--kubelet-client-key={pki('kubelet-client.key')}",
            "--kubelet-preferred-address-types=InternalIP", f"--service-account-issuer={_ISSUER}",
            f"--service-account-signing-key-file={pki('service-accounts.key')}",
            f"--service-account-key-file={pki('service-accounts.pub')}", f"--api-audiences={_ISSUER}",
            "--endpoint-reconciler-type=lease", "--feature-gates=EphemeralContainers=true"]


def _controllers(node):
    return [f"--kubeconfig={node.pki.path('kube-controller-manager.kubeconfig')}", "--use-service-account-credentials",
            f"--service-account-private-key-file={node.pki.path('service-accounts.key')}",
            f"--root-ca-file={node.pki.path('ca.crt')}", "--leader-elect=false", "--bind-address=127.0.0.1", "--port=0",
            # By default a new node waits up to 5 s to lose its taint, and 4 s for 30 controllers that each ask for 150 ms.
            "--node-monitor-period=1s", "--kube-api-qps=200", "--kube-api-burst=300",
            f"--node-monitor-grace-period={40 * TIME_FACTOR:.0f}s"]  # on an emulated CPU heartbeats are late


def _scheduler(node):
    return [f"--kubeconfig={node.pki.path('kube-scheduler.kubeconfig')}", "--leader-elect=false",
            "--bind-address=127.0.0.1", "--port=0"]


def _kubelet(node):
    return [f"--config={node.path('kubelet.json')}", f"--kubeconfig={node.pki.path('kubelet.kubeconfig')}",
            f"--root-dir={node.path('kubelet')}", f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}",
            "--container-runtime=remote", f"--container-runtime-endpoint=unix://{node.path('ctrd/sock')}"]


def _proxy(node):
    """The API on a socket file, which is the same in every network namespace."""
    return ["--kubeconfig", node.pki.path("admin.kubeconfig"), "proxy", "--unix-socket", node.path("api.sock")]


def kubelet_config(node):
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": node.pki.path("ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": node.pki.path("kubelet.crt"), "tlsPrivateKeyFile": node.pki.path("kubelet.key"),
        "cgroupDriver": "cgroupfs", "cgroupRoot": node.cgroup,
        "failSwapOn": False, "makeIPTablesUtilChains": False, "resolvConf": "",
        "clusterDomain": "cluster.local", "clusterDNS": ["10.96.0.10"],  # nothing answers there; without it each pod has a warning
        # Also the time after which kubelet gives up such a request, up to the lease's duration, and sends it again.
        "nodeStatusUpdateFrequency": f"{1 if TIME_FACTOR == 1 else 5 * TIME_FACTOR:.0f}s",
        "nodeLeaseDurationSeconds": int(40 * TIME_FACTOR), "staticPodPath": node.path("static-pods"),
        "volumePluginDir": node.path("volume-plugins"), "featureGates": {"EphemeralContainers": True},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%",
                         "nodefs.inodesFree": "1%"},
        # The defaults, 5 a second, are for nodes that share an API server with thousands.
        "kubeAPIQPS": 100, "kubeAPIBurst": 200, "registryPullQPS": 0, "eventRecordQPS": 0, "serializeImagePulls": False,
    }


def cni_network(node):
    bridge = {"type": "bridge", "bridge": "cni0", "isDefaultGateway": True, "ipMasq": False,
              "ipam": {"type": "host-local", "dataDir": node.path("ctrd/cni/addresses"), "ranges": [[{"subnet": "10.88.0.0/16"}]]}}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


def write_configs(node):
    os.makedirs(node.path("ctrd/cni/net.d"))
    for folder in ("kubelet", "static-pods", "volume-plugins"):
        os.makedirs(node.path(folder))
    fileio.write(node.path("ctrd/config.toml"), containerd.config(node.path("ctrd"), "/run/containerd", path_of("cni")))
    fileio.write_json(node.path("ctrd/cni/net.d/10-pods.conflist"), cni_network(node))
    fileio.write_json(node.path("kubelet.json"), kubelet_config(node))
