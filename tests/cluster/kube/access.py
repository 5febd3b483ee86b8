# SPDX-License-Identifier: Apache-2.0
"""The rights of oomwitness's service account, and the token that identifies it."""
import contextlib
import json

from harness.wait import eventually

from .api import ApiError
from .witness import NAMESPACE

ACCOUNT = "oomwitness"
_ROLES = "apis/rbac.authorization.k8s.io/v1/clusterroles"
_REVIEW = "apis/authorization.k8s.io/v1/subjectaccessreviews"


def rules_of(api, role):
    return api.get(f"{_ROLES}/{role}")["rules"]


def may(api, verb, resource):
    """What the API server would decide now, on every namespace."""
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}",
                      "resourceAttributes": {"verb": verb, "resource": resource}}}
    return json.loads(api.call("POST", _REVIEW, asked))["status"]["allowed"]


def set_rules(api, role, rules):
    api.call("PATCH", f"{_ROLES}/{role}", {"rules": rules}, "application/merge-patch+json")


@contextlib.contextmanager
def without(api, role, verb, resource):
    """The role without one of its verbs; in force on entry, and no longer on exit."""
    whole = rules_of(api, role)
    left = [{**rule, "verbs": [v for v in rule["verbs"] if v != verb]} for rule in whole]
    assert left != whole, f"{role} has no verb {verb}: {whole}"
    try:
        # A rule without verbs is invalid.
        set_rules(api, role, [rule for rule in left if rule["verbs"]])
        eventually(lambda: not may(api, verb, resource), f"{verb} {resource} is forbidden")
        yield
    finally:
        set_rules(api, role, whole)
        eventually(lambda: may(api, verb, resource), f"{verb} {resource} is allowed")


def create_if_missing(api, made):
    try:
        api.create(made)
    except ApiError as e:
        if e.status != 409:
            raise


def token_of(api, namespace, account, bound_to=None):
    """Good for ten minutes, the shortest there is, or until what it is bound to is gone."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"audiences": [], "expirationSeconds": 600, "boundObjectRef": bound_to}}
    return json.loads(api.call("POST", f"api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", asked))["status"]["token"]


def _secret(name, data):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": data}


class RevocableToken:
    """A token of the account in the secret `name`, good until anchor() of it is deleted: no token that the API server makes
    ends in less than ten minutes by itself."""

    def __init__(self, api, name):
        self._api, self.name, self._number = api, name, 0
        for kind in ("Namespace", "ServiceAccount"):
            place = {"namespace": NAMESPACE} if kind == "ServiceAccount" else {}
            create_if_missing(api, {"apiVersion": "v1", "kind": kind, "metadata": {"name": ACCOUNT, **place}})
        self.token = self._make()
        api.create(_secret(name, {"token": self.token}))

    def _anchor(self):
        return f"{self.name}-{self._number}"

    def _make(self):
        anchor = json.loads(self._api.call("POST", f"api/v1/namespaces/{NAMESPACE}/secrets", _secret(self._anchor(), {})))
        bound = {"kind": "Secret", "apiVersion": "v1", "name": self._anchor(), "uid": anchor["metadata"]["uid"]}
        return token_of(self._api, NAMESPACE, ACCOUNT, bound)

    def rotate(self):
        """Another one is in the secret, and the old one still good; the function that ends the old one."""
        old = self._anchor()
        self._number += 1
        self.token = self._make()
        self._api.call("PATCH", f"api/v1/namespaces/{NAMESPACE}/secrets/{self.name}", {"stringData": {"token": self.token}},
                       "application/merge-patch+json")
        return lambda: self._api.delete(f"api/v1/namespaces/{NAMESPACE}/secrets/{old}")

    def close(self):
        for name in (self.name, self._anchor()):
            self._api.delete(f"api/v1/namespaces/{NAMESPACE}/secrets/{name}")
