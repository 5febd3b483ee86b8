# SPDX-License-Identifier: Apache-2.0
"""A bucket on loopback that enforces what S3 enforces: every request's Signature Version 4 is computed anew here (from
the AWS documentation, independent of the daemon's code), the payload's hash must be the body's, the clock may be wrong
by 15 minutes, keys must be at most 1,024 bytes. Path style; PutObject, GetObject, ListObjectsV2, and STS'
AssumeRoleWithWebIdentity at `/sts`. It is no S3: a test against a real one is not part of this suite, but one against
OpenStack Swift is."""
import datetime
import hashlib
import hmac
import os
import re
import tempfile
import threading
import urllib.parse
from xml.sax.saxutils import escape

from . import tools
from .daemon import free_port
from .logged_server import LoggedServer
from .loopback_server import Handler, LoopbackServer

AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                           r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$")


class Refused(Exception):
    def __init__(self, status, code, message=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _quoted(text, safe="-._~"):
    return urllib.parse.quote(text, safe=safe)


def signature(secret, day, region, method, raw_path, query, headers, names, payload_hash, date):
    """Of one request, as the server sees it."""
    pairs = sorted((_quoted(k), _quoted(v)) for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([
        method, _quoted(urllib.parse.unquote(raw_path), "/-._~"), "&".join(f"{k}={v}" for k, v in pairs),
        "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names), ";".join(names), payload_hash])
    scope = f"{day}/{region}/s3/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (day, region, "s3", "aws4_request"):
        key = _hmac(key, part)
    return _hmac(key, to_sign).hex()


class _Handler(Handler):
    def answer(self, code, body=b"", content_type="application/xml", headers=()):
        super().answer(code, body, content_type, headers)

    def _authorize(self, body):
        bucket = self.server.owner
        match = AUTHORIZATION.match(self.headers.get("Authorization", ""))
        if not match:
            raise Refused(403, "AccessDenied", "no signature")
        access, day, region, names, given = match.groups()
        names = names.split(";")
        if access not in bucket.keys:
            raise Refused(403, "InvalidAccessKeyId")
        secret, token = bucket.keys[access]
        if (token or "") != self.headers.get("x-amz-security-token", ""):
            raise Refused(400, "InvalidToken")
        sent = {n.lower() for n in self.headers}
        if names != sorted(names) or "host" not in names or {n for n in sent if n.startswith("x-amz-")} - set(names):
            raise Refused(403, "AccessDenied", "headers that must be signed are not")
        if region != bucket.region:
            raise Refused(400, "AuthorizationHeaderMalformed", f"the region is {bucket.region}")
        date = self.headers["x-amz-date"]
        at = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if not date.startswith(day) or abs((datetime.datetime.now(datetime.timezone.utc) - at).total_seconds()) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        stated = self.headers.get("x-amz-content-sha256", "")
        if stated != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        path, _, query = self.path.partition("?")
        wanted = signature(secret, day, region, self.command, path, query, {n.lower(): v for n, v in
                           self.headers.items()}, names, stated, date)
        if not hmac.compare_digest(wanted, given):
            raise Refused(403, "SignatureDoesNotMatch")

    def _key(self):
        path = urllib.parse.unquote(self.path.partition("?")[0])
        bucket, _, key = path.lstrip("/").partition("/")
        if bucket != self.server.owner.name:
            raise Refused(404, "NoSuchBucket")
        if len(key.encode()) > 1024:
            raise Refused(400, "KeyTooLongError")
        return key

    def _do(self, action):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with self.server.owner.lock:
            self.server.owner.calls.append((self.command, self.path.partition("?")[0]))
        try:
            self._authorize(body)
            action(self._key(), body)
        except Refused as refused:
            self.answer(refused.status, f"<?xml version='1.0'?><Error><Code>{refused.code}</Code>"
                                         f"<Message>{escape(refused.message)}</Message></Error>".encode())

    def do_PUT(self):
        self._do(self._put)

    def do_GET(self):
        self._do(self._get)

    def do_DELETE(self):
        self._do(lambda *_: self.answer(403))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self.server.owner.assume(self, dict(urllib.parse.parse_qsl(body)))

    def _put(self, key, body):
        bucket = self.server.owner
        with bucket.lock:
            refused = bucket.refusals.pop(0) if bucket.refusals else None
            if refused is None:
                bucket.objects[key] = body
                bucket.puts.append(key)
        if refused is not None:
            raise Refused(*refused)
        self.answer(200, headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})

    def _get(self, key, _):
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
        if not self.server.owner.readable:
            raise Refused(403, "AccessDenied")
        if key == "":
            if query.get("list-type") != "2":
                raise Refused(400, "InvalidArgument")
            return self.answer(200, self.server.owner.listing(query))
        if key not in self.server.owner.objects:
            raise Refused(404, "NoSuchKey")
        return self.answer(200, self.server.owner.objects[key], "application/octet-stream")


class S3Server:
    """keys: access key id -> (secret, session token or None). page: objects of one page of a listing."""

    def __init__(self, name="evidence", region="us-east-1", certificate=None, page=1000):
        self.name, self.region, self.page = name, region, page
        self.keys = {"AKIATEST": ("secret/key+with=signs", None)}
        self.objects, self.puts, self.calls, self.refusals, self.readable = {}, [], [], [], True
        self.tokens, self.lifetime = {}, 3600
        self.lock = threading.Lock()
        self._server = LoopbackServer(self, _Handler, certificate=certificate)
        self.url, self.close = self._server.url, self._server.close

    def listing(self, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token", "")
        entries = []
        for key in sorted(k for k in self.objects if k.startswith(prefix)):
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            entry = ("prefix", key[:end + 1]) if end >= 0 else ("key", key)
            if entry[1] > after and entry not in entries[-1:]:
                entries.append(entry)
        page, more = entries[:self.page], len(entries) > self.page
        xml = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.objects[name])}</Size></Contents>" if kind == "key" else
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for kind, name in page)
        if more:
            xml += f"<NextContinuationToken>{escape(page[-1][1])}</NextContinuationToken>"
        return (f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                f"<IsTruncated>{str(more).lower()}</IsTruncated>{xml}</ListBucketResult>").encode()

    def assume(self, handler, form):
        """tokens: web identity token -> role that it may assume."""
        role = self.tokens.get(form.get("WebIdentityToken"))
        if form.get("Action") != "AssumeRoleWithWebIdentity" or role is None or role != form.get("RoleArn"):
            return handler.answer(403, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
        access = f"ASIA{len(self.keys)}"
        self.keys[access] = ("temporary-secret", "session/token==")
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.lifetime)
        return handler.answer(200, (
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
            f"<AccessKeyId>{access}</AccessKeyId><SecretAccessKey>temporary-secret</SecretAccessKey>"
            f"<SessionToken>session/token==</SessionToken><Expiration>{end:%Y-%m-%dT%H:%M:%SZ}</Expiration>"
            "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>").encode())


class SwiftServer(LoggedServer):
    """OpenStack Swift, whose S3 API verifies each request's signature (tests/support/swift_s3.py). Listings have two keys a page."""

    ACCESS, SECRET, BUCKET = "test:node", "secret-of/node+1", "evidence"

    def __init__(self, scratch):
        tree = tools.supplied("fetch_programs.sh", "swift")
        folder = tempfile.mkdtemp(prefix="swift-", dir=scratch)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environment = os.environ | {"PYTHONPATH": f"{tree}/lib/python3/dist-packages", "PYTHONDONTWRITEBYTECODE": "1",
                                    "LD_LIBRARY_PATH": f"{tree}/lib/x86_64-linux-gnu"}
        super().__init__(
            ["/usr/bin/python3", os.path.join(tools.TREE, "tests/support/swift_s3.py"), folder, str(self.port),
             self.ACCESS.partition(":")[2], self.SECRET, self.BUCKET],
            os.path.join(folder, "log"), lambda text: "ready" in text.split(), "Swift", 60, environment)
