#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is the component of a Collector that fills its container named? A real Collector in each configuration of collectors/,
killed at its limit by load; most of them serve no metrics of their own, or on another port than 8888.

Written from the Collector's documentation and reports of its users, by someone who had not read how answers are made. Prints
each answer with what it rests on, a table, and how many name the right component, none, or a wrong one. --dry: without
the tracer, only whether each is killed in time.
"""
import os
import re
import sys
import time

import yaml

import corpus
from bench_support import Bars, Site, fileio, parsed, print_conditions, runs_parser, table, tools
from collector_cases import CASES
from corpus_collector import Companions
from corpus_dry import DryRunner
from corpus_names import NOBODY, RIGHT, WRONG
from corpus_runs import Runner, Scene

from harness.workload import Workload

CONFIG = "[incidents]\nkeep_count = 1000\n"
RIGHT_BAR, WRONG_BAR = 0.90, 0.02
KINDS = "receiver|processor|exporter|connector|extension"
COMPONENT = re.compile(rf"\b({KINDS})[ /]([a-z][a-z0-9_]*(?:/[A-Za-z0-9_-]+)?)")
PACKAGE = re.compile(rf"/({KINDS})/([a-z]+?)(?:{KINDS})\.")
# The Collector's own other names of its types.
ALIASES = {"exporter/otlp": "exporter/otlp_grpc", "exporter/otlphttp": "exporter/otlp_http"}


def build():
    return {case.variant: tools.supplied("collector_build.sh", "1.27", case.variant) for case in CASES}


class CollectorScene(Scene):
    """One configuration: the Collector in a container, load and backends in its network namespace, outside of its cgroup."""

    binaries = {}

    def start(self):
        case = self.run
        self.boxes = [self.cgroup(self.prefix, case.limit_mib)]
        work = self.enter_context(Workload([self.binaries[case.variant], "--config", f"file:{case.config}"], self.boxes[0],
                                           env={**case.environment, "STALLED_PIPE": self._stalled_pipe()}))
        self.works.append(work)
        self._companions = Companions(os.path.join(self.scratch, f"{case.name}.load"))
        self.callback(self._companions.close)
        work.wait_running()
        for seconds, *program in case.load:
            self._companions.start_after(seconds, work, *program)

    def _stalled_pipe(self):
        """That somebody has opened and nobody reads."""
        path = os.path.join(self.scratch, f"{self.run.name}.pipe")
        os.mkfifo(path)
        self.callback(os.close, os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return path

    def kills(self):
        """The load ends with the kill: its clients would keep both CPUs busy with connections that are refused."""
        was_alive = self.works[0].is_alive()
        found = super().kills()
        if found:
            self._companions.close()
        elif not was_alive:
            raise AssertionError(f"ended by itself: {self.output()}")
        return found


class Judge:
    """Whom an answer names, and whether that is right, in one configuration."""

    def __init__(self, case):
        self._case = case
        self.config = yaml.safe_load(fileio.read(case.config))
        self._declared = {f"{kind}/{name}" for kind in KINDS.split("|") for name in self.config.get(kind + "s", {})}

    def metrics(self):
        """How the Collector serves its own: off, or the port."""
        given = self.config["service"]["telemetry"].get("metrics", {})
        readers = given.get("readers")
        return readers[0]["pull"]["exporter"]["prometheus"]["port"] if readers else given.get("level", 8888)

    def _of_type(self, component):
        return [one for one in self._declared if one == component or one.startswith(component + "/")]

    def _whole(self, component):
        """By its id, where only its type was given and one component is of it. None: there is no such component."""
        component = ALIASES.get(component, component) if component not in self._declared else component
        found = [component] if component in self._declared else self._of_type(component)
        return found[0] if len(found) == 1 else component if found else None

    def mentioned(self, text):
        return [whole for kind, name in COMPONENT.findall(text) if (whole := self._whole(f"{kind}/{name}"))]

    def named(self, answer):
        """The component that the culprit is, or None: the one it is kept by, its operation, the first in the sentence, that
        of its code."""
        culprit, sentence = answer.get("culprit"), answer.get("sentence") or ""
        if not culprit:
            return next((one for one in self.mentioned(sentence) if one in self._case.right), None)
        kept = re.search(r"\b[Kk]ept by (.*)", sentence)
        code = " ".join(f"{kind}/{name}" for kind, name in PACKAGE.findall(culprit.get("code") or ""))
        texts = (kept.group(1) if kept else "", culprit.get("operation") or "", sentence, code)
        return next((found[0] for text in texts if (found := self.mentioned(text))), None)

    def score(self, answer):
        answer = answer or {}
        if set(self.mentioned(answer.get("sentence") or "")) & set(self._case.never):
            return WRONG
        named = self.named(answer)
        if named in self._case.right:
            return RIGHT
        is_vague = named is None or named in self._case.excused or set(self._of_type(named)) & set(self._case.right)
        return NOBODY if is_vague else WRONG


def evidence(incident):
    """Lines: what the answer could rest on."""
    collector = incident.get("collector") or {}
    yield "components: " + (", ".join(f"{c['kind']} {c['id']} {c['ratio'] or 0:.2f}"
                                      for c in (collector.get("components") or [])[:4]) or "none")
    yield "queues: " + (", ".join(f"{e['id']} {e['queue_size']} of {e['queue_capacity']}, growth {e['growth']}"
                                  for e in collector.get("exporters") or []) or "none")
    for holder in (incident.get("holders") or [])[:3]:
        yield (f"holder: {holder['share'] or 0:.2f}{' (owner)' if holder['owner'] else ''} {holder.get('component')}: "
               f"{' -> '.join(holder['chain'][:4])}")
    for group in (incident.get("goroutines") or [])[:2]:
        yield f"goroutines: {group['count']} {group['state']} {group.get('component')}: {' < '.join(group['stack'][:3])}"
    yield from (f"note: {note}" for note in incident.get("notes") or [] if "owner" in note or "connections" in note)


def print_one(outcome, judge, result):
    answer = (outcome.incident or {}).get("answer") or {}
    culprit = answer.get("culprit") or {}
    print(f"{result}  {outcome.run.name}: {outcome.problem or f'killed after {outcome.seconds:.0f} s'}\n"
          f"    truth: {', '.join(outcome.run.right)}; named: {judge.named(answer)}; never: {', '.join(outcome.run.never)}\n"
          f"    sentence: {answer.get('sentence')}\n    action: {answer.get('action')}\n"
          f"    culprit: {culprit.get('claim')}, operation {culprit.get('operation')}, code {culprit.get('code')}, "
          f"share {culprit.get('share')}; cause {answer.get('cause')} {answer.get('confidence')}")
    for line in evidence(outcome.incident) if outcome.incident else ():
        print(f"    {line}")
    print(flush=True)


def run_all(cases, options):
    """[(outcome, judge, result)]; result "": not killed, or no incident."""
    done = []
    with Site() as site:
        runner = Runner(site.daemon(CONFIG), site.scratch, site.prefix, CollectorScene)
        for outcome in corpus.each_done(site, runner, cases, options.jobs):
            judge = Judge(outcome.run)
            result = judge.score(outcome.incident.get("answer")) if outcome.incident else ""
            done.append((outcome, judge, result))
            print_one(outcome, judge, result or "-----")
        if options.keep:
            corpus.keep([outcome for outcome, _, _ in done], options.keep)
    return done


def require(done, bars):
    order = {case.name: number for number, case in enumerate(CASES)}
    done.sort(key=lambda one: order[one[0].run.name])
    table(("configuration", "MiB", "profile", "metrics", "killed", "truth", "answer", ""),
          [(o.run.name, o.run.limit_mib, "yes" if o.run.variant == "pprof" else "no", judge.metrics(),
            "no" if o.problem else f"{o.seconds:.0f} s", " or ".join(o.run.right),
            o.problem or ((o.incident or {}).get("answer") or {}).get("sentence"), result) for o, judge, result in done])
    results = [result for _, _, result in done if result]
    right, wrong = results.count(RIGHT), results.count(WRONG)
    excused = [o.run.name for o, judge, _ in done
               if o.incident and judge.named(o.incident.get("answer") or {}) in o.run.excused]
    print(f"Of {len(results)} killed, {len(done)} run: right {right}, none {results.count(NOBODY)}, wrong {wrong}. Counted as none "
          f"because what they name is excused in collector_cases.py: {', '.join(excused) or 'none'}.")
    bars.require("each was killed and has an incident", len(results) == len(done))
    bars.require(f"right component in >= {100 * RIGHT_BAR:.0f} %", right >= RIGHT_BAR * len(results))
    bars.require(f"wrong component in <= {100 * WRONG_BAR:.0f} %", wrong <= WRONG_BAR * len(results))


def parse():
    parser = runs_parser(__doc__, jobs=1)
    parser.add_argument("--dry", action="store_true", help="no tracer, no answers: is each killed in time?")
    return parsed(parser)


def main():
    options = parse()
    cases = [case for case in CASES if not options.k or any(part in case.name for part in options.k)]
    if not cases:
        sys.exit("no such configuration")
    CollectorScene.binaries = build()
    print_conditions()
    start, bars = time.monotonic(), Bars()
    if options.dry:
        with Site() as site:
            runner = DryRunner(site.scratch, site.prefix, CollectorScene)
            for outcome in corpus.each_done(site, runner, cases, options.jobs):
                print(outcome.line, flush=True)
    else:
        require(run_all(cases, options), bars)
    print(f"{time.monotonic() - start:.0f} s in all.")
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
