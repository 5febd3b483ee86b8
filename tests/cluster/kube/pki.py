# SPDX-License-Identifier: Apache-2.0
"""Certificates, tokens and kubeconfigs of a cluster: made anew for each, 0.2 s with keys on elliptic curves."""
import os
import secrets
import subprocess

NODE = "node-1"
NODE_ADDRESS = "10.77.0.2"
SERVICE_ADDRESS = "10.96.0.1"
# FILE: (user, groups)
USERS = {"admin": ("admin", "system:masters"), "kubelet": (f"system:node:{NODE}", "system:nodes"),
         "kube-controller-manager": ("system:kube-controller-manager", ""),
         "kube-scheduler": ("system:kube-scheduler", "")}
_NAMES = ["DNS:kubernetes.default.svc", "DNS:localhost", "IP:127.0.0.1", f"IP:{SERVICE_ADDRESS}", f"IP:{NODE_ADDRESS}"]
_KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:443", certificate-authority: ca.crt}}}}]
users: [{{name: u, user: {{token: {token}}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""


class Pki:
    """All of it as files in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self._openssl("req", "-x509", *self._key("ca"), "-out", "ca.crt", "-days", "2", "-subj", "/CN=oomw-cluster",
                      "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        self._leaf("apiserver", "/CN=kube-apiserver", _NAMES)
        self._leaf("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", [])
        self._leaf("kubelet", f"/O=system:nodes/CN=system:node:{NODE}", [f"DNS:{NODE}", f"IP:{NODE_ADDRESS}"])
        self._openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "service-accounts.key")
        self._openssl("ec", "-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub")
        self._write_users()

    def path(self, name):
        return os.path.join(self.folder, name)

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"openssl {' '.join(arguments)}: {done.stderr}")

    @staticmethod
    def _key(name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key"]

    def _leaf(self, name, subject, names):
        self._openssl("req", *self._key(name), "-out", name + ".csr", "-subj", subject)
        with open(self.path(name + ".ext"), "w", encoding="utf-8") as f:
            f.write("keyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n")
            f.write(f"subjectAltName={','.join(names)}\n" if names else "")
        self._openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                      "-out", name + ".crt", "-days", "2", "-extfile", name + ".ext")

    def _write_users(self):
        lines = []
        for file, (user, groups) in USERS.items():
            token = secrets.token_hex(16)
            lines.append(f'{token},{user},{user},"{groups}"\n')
            self.write_kubeconfig(file, token)
        with open(self.path("tokens.csv"), "w", encoding="utf-8") as f:
            f.writelines(lines)

    def write_kubeconfig(self, name, token):
        """Its path. It names the authority by a path from its folder."""
        path = self.path(name + ".kubeconfig")
        with open(path, "w", encoding="utf-8") as f:
            f.write(_KUBECONFIG.format(token=token))
        return path
