# SPDX-License-Identifier: Apache-2.0
"""The same kills, seen by us and by scripts that poll the endpoint from outside."""
import ctypes
import multiprocessing
import os
import random
import time
import urllib.request

from bench_support import Site, table
from coverage_kills import BAR, CONFIG, Incidents, build, rate_text

from harness import fileio, pprof

LIMIT_MIB = 256
RATES = (10, 50, 200, 500, 0)
PREFILL_MIB = {10: 190, 50: 120}  # a slow leak's early life is the same to everybody
KILLS = 10
PERIODS_S = (1.0, 0.1)


def _enter_network_of(pid):
    """Into the network namespace that the workload makes for itself; this process only polls."""
    host = os.stat("/proc/self/ns/net").st_ino
    while os.stat(f"/proc/{pid}/ns/net").st_ino == host:
        time.sleep(0.001)
    with open(f"/proc/{pid}/ns/net", "rb") as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def _poll(box, pid, period_s, target):
    """Asks once when the usage, read each period, is at 90 % of the limit."""
    _enter_network_of(pid)
    time.sleep(random.random() * period_s)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            if box.usage() >= 0.9 * box.limit_bytes:
                with opener.open("http://127.0.0.1:1777/debug/pprof/heap", timeout=10) as answer:
                    body = answer.read()
                fileio.write(target, body)
                return
        except OSError:
            return  # died under it: no profile
        time.sleep(period_s)


def _polled_bytes(path):
    """What that profile has in use; None without a whole profile."""
    try:
        return pprof.read(path).total()
    except (OSError, EOFError, ValueError, IndexError):
        return None


def _one(site, incidents, binary, rate, serial):
    """{who: share of anon or None}."""
    box = site.cgroup(f"peers{serial}", LIMIT_MIB)
    work = site.start([binary, "-rate", str(rate), "-chunk", str(1 << 20),
                       "-prefill-mb", str(PREFILL_MIB.get(rate, 0))], box)
    files = {p: os.path.join(site.scratch, f"polled-{serial}-{p}") for p in PERIODS_S}
    pollers = [multiprocessing.Process(target=_poll, args=(box, work.pid, p, f), daemon=True) for p, f in files.items()]
    for poller in pollers:
        poller.start()
    work.wait_killed(300)
    for poller in pollers:
        poller.join(1)
        if poller.is_alive():
            poller.kill()
    kill = incidents.collect([box])[box.path]
    shares = {m: kill.method_share(m) for m in ("at_kill", "live", "http")}
    for period, path in files.items():
        polled = _polled_bytes(path)
        shares[f"polled {period:g} s"] = polled / kill.anon_bytes if polled is not None and kill.anon_bytes else None
    work.close()
    box.close()
    return shares


def _cell(shares):
    have = [s for s in shares if s is not None]
    return f"{100 * sum(s >= BAR for s in have) / len(shares):.0f} % / {100 * len(have) / len(shares):.0f} %"


def peers_section(bars):
    rows, everything = [], {}
    with Site() as site:
        binary, why = build("1.26", "strip", site.scratch)
        if why:
            print(f"\nSide by side: skipped: {why}")
            return
        incidents = Incidents(site.daemon(CONFIG))
        for number, rate in enumerate(RATES):
            found = [_one(site, incidents, binary, rate, f"{number}-{n}") for n in range(KILLS)]
            for who in found[0]:
                everything.setdefault(who, []).extend(f[who] for f in found)
            rows.append((rate_text(rate), len(found), *(_cell([f[who] for f in found]) for who in found[0])))
    rows.append(("all", len(RATES) * KILLS, *(_cell(shares) for shares in everything.values())))
    print(f"\nSide by side, the same kills ({LIMIT_MIB} MiB, Go 1.26 -s -w): kills with a profile that shows >= {BAR} x the "
          "victim's anonymous memory / with any profile. Polled: usage read each period, the endpoint asked once at >= 90 %.\n")
    table(("leak", "kills", *everything), rows)
    ours = [s or 0.0 for s in everything["at_kill"]]
    theirs = max(sum((s or 0.0) >= BAR for s in shares) for who, shares in everything.items() if who.startswith("polled"))
    bars.require("at_kill explains more kills than polling", sum(s >= BAR for s in ours) > theirs)
