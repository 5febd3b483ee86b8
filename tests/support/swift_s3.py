#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""swift_s3.py FOLDER PORT USER SECRET BUCKET...: OpenStack Swift's S3 API (middleware s3api) on 127.0.0.1:PORT until it is
terminated, with these buckets and one user, whose access key is "test:USER". Objects stay in memory, the listings of
buckets in FOLDER. Prints "ready". Needs Swift's packages on PYTHONPATH (fetch_programs.sh swift).

Swift is an implementation of S3 by others that computes each request's Signature Version 4 anew and the payload's hash.
"""
import os
import sys

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi  # noqa: E402: the modules of a green thread are patched first
from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.swob import Request  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402

PIPELINES = {
    "account": ("[app:main]\nuse = egg:swift#account\n", ""),
    "container": ("[app:main]\nuse = egg:swift#container\n", ""),
    "object": ("[app:main]\nuse = egg:swift#mem_object\n", ""),
    "proxy": ("[pipeline:main]\npipeline = catch_errors cache s3api tempauth proxy-server\n",
              "[filter:catch_errors]\nuse = egg:swift#catch_errors\n"
              "[filter:cache]\npaste.filter_factory = swift_s3:cache_factory\n"
              "[filter:s3api]\nuse = egg:swift#s3api\nmax_bucket_listing = 2\n"
              "[filter:tempauth]\nuse = egg:swift#tempauth\nuser_test_{user} = {secret} .admin\n"
              "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n"),
}


class MemoryCache:
    """What Swift asks of memcached."""

    def __init__(self):
        self.values = {}

    def get(self, key, **_):
        return self.values.get(key)

    def set(self, key, value, **_):
        self.values[key] = value

    def delete(self, key, **_):
        self.values.pop(key, None)


def cache_factory(_global_conf, **_local_conf):
    cache = MemoryCache()

    def with_cache(app):
        def call(environment, start_response):
            environment["swift.cache"] = cache
            return app(environment, start_response)
        return call
    return with_cache


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def make_ring(folder, name, port):
    """One partition pair on one device: nothing is kept twice."""
    builder = RingBuilder(1, 1, 0)
    builder.add_dev({"region": 1, "zone": 1, "weight": 1, "device": "disk", "ip": "127.0.0.1", "port": port})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, name + ".ring.gz"))


def load(folder, name, user, secret):
    head, filters = PIPELINES[name]
    path = os.path.join(folder, name + ".conf")
    write(path, f"[DEFAULT]\nswift_dir = {folder}\ndevices = {folder}/devices\nmount_check = false\nlog_address = /nowhere\n"
          + head + filters.format(user=user, secret=secret))
    return loadapp(path)


def main():
    folder, port, user, secret, *buckets = sys.argv[1:]
    os.makedirs(os.path.join(folder, "devices/disk"))
    write(os.path.join(folder, "swift.conf"), "[swift-hash]\nswift_hash_path_suffix = test\n")
    utils.set_swift_dir(folder)
    sockets = {name: eventlet.listen(("127.0.0.1", int(port) if name == "proxy" else 0)) for name in PIPELINES}
    for name in ("account", "container", "object"):
        make_ring(folder, name, sockets[name].getsockname()[1])
    apps = {name: load(folder, name, user, secret) for name in PIPELINES}
    threads = [eventlet.spawn(wsgi.server, sockets[name], apps[name], log_output=False) for name in PIPELINES]
    for bucket in buckets:
        answer = Request.blank(f"/v1/AUTH_test/{bucket}", {"REQUEST_METHOD": "PUT", "swift.authorize_override": True,
                                                           "swift.authorize": lambda _: None}).get_response(apps["proxy"])
        assert answer.is_success, answer.status
    print("ready", flush=True)
    threads[0].wait()


if __name__ == "__main__":
    main()
