# SPDX-License-Identifier: Apache-2.0
"""Whether an answer names who did it: by a list of words, which for Go and the Collector follow from a run's flags."""
import re

from corpus_programs import is_answer_program

RIGHT, WRONG, NOBODY = "right", "WRONG", "nobody"
RIGHT_BAR, WRONG_BAR = 0.90, 0.03

# What a part of go-patterns is called in its code and in what it keeps, by the flag that switches it on.
PARTS = {
    "hold-mb": ("loadEntry", "replaceEntry", "(*store)", "main.store"),
    "warm-mb": ("fillCache", "(*warmUp)", "main.warmUp"),
    "grow-mb": ("fillCache", "(*warmUp)", "main.warmUp"),
    "cache-mb": ("keepAnswer", "(*cache)", "main.cache"),
    "queue-kb-s": ("decodeJob", "(*queue)", "main.queue"),
    "login-kb-s": ("logIn", "(*logins)", "main.logins"),
    "connection-per-s": ("(*connections)", "main.connections"),
    "batch-mb": ("loadRows", "(*batch)", "main.batch"),
    "saw-mb": ("bufferRecord", "(*saw)"),
    "table-mb": ("importRow", "(*table)", "main.table"),
    "in-flight": ("parseRequest", "renderAnswer", "(*traffic)", "main.traffic"),
    "burst-mb": ("readUpload", "(*burst)", "main.burst"),
    "answer-mb": ("readAnswer", "decodeRecords", "(*answer)", "main.answer"),
}
# The first calls the others, and nothing else does.
LEAKS = {
    "map": ("(*leak)", "openSession", "sessions"),
    "slice": ("(*leak)", "appendAudit", "audit"),
    "timer": ("(*leak)", "scheduleCleanup"),
    "goroutine": ("(*leak)", "waitForAnswer"),
    "subslice": ("(*leak)", "rememberHeader", "headers"),
    "label": ("(*leak)", "countUser", "histograms"),
}
COLLECTOR = {"leak": ("exporter",), "spike": ("receiver otlp", "otlpreceiver", "exporter"),
             "undersized": ("batch", "batchprocessor", "receiver otlp", "otlpreceiver")}
CODE_CAUSES = ("leak", "spike", "undersized")  # of the others no code of the victim is to be named


def flags_of(arguments):
    """{flag: value}; "" for one without."""
    flags = {}
    for argument in arguments:
        if re.match(r"-+[a-z]", argument):
            name, _, value = argument.lstrip("-").partition("=")
            flags[name] = value
        elif flags:
            flags[next(reversed(flags))] = argument
    return flags


def leaking(flags):
    """The flags of the parts that never give back."""
    number = lambda name: float(flags.get(name) or 0)
    yield from ["cache-mb"] if "cache-broken" in flags else []
    yield from ["batch-mb"] if number("batch-lost") else []
    yield from ["login-kb-s"] if number("login-lost") else []
    yield from ["queue-kb-s"] if number("queue-kb-s") > number("queue-done-kb-s") else []
    stays = "connection-per-s" in flags and not number("connection-seconds") and not number("connection-most")
    yield from ["connection-per-s"] if stays else []


def bursting(flags):
    found = [part for part in ("burst-mb", "answer-mb") if part in flags]
    return found or [part for part in ("connection-per-s", "in-flight") if part in flags]


def words_of_go(cause, flags):
    if cause == "leak":
        return (*LEAKS.get(flags.get("leak"), ()), *(word for part in leaking(flags) for word in PARTS[part]))
    parts = bursting(flags) if cause == "spike" else [part for part in PARTS if part in flags]
    return tuple(word for part in parts for word in PARTS[part])


def words_of(run):
    """Words of which a right answer has one; () where nobody is to be named; None: not a killed run of Go alone."""
    if run.is_healthy or len(run.commands) != 1 or len(run.expected) != 1:
        return None
    command, cause = run.commands[0], run.expected[0]
    if command.program == "collector":
        return COLLECTOR.get(cause, ())
    if not command.program.startswith("go") or is_answer_program(command.program):
        return None  # words for those of answers.tsv are there
    return words_of_go(cause, flags_of(command.arguments)) if cause in CODE_CAUSES else ()


def has_word(text, word):
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text) is not None


def score(answer, right, wrong=()):
    """Of what the first lines say; a culprit that is none of the right ones is wrong."""
    answer = answer or {}
    culprit = answer.get("culprit") or {}
    text = " ".join((answer.get("sentence") or "", culprit.get("code") or "", *(culprit.get("path") or ())))
    if any(re.search(pattern, text) for pattern in wrong):
        return WRONG
    if any(has_word(text, word) for word in right):
        return RIGHT
    return WRONG if culprit else NOBODY


def require(bars, named, of_whom, right_bar=RIGHT_BAR):
    """named: [(how it was named, whether anybody can be)]"""
    knowable = [how for how, can_be in named if can_be]
    right, wrong = knowable.count(RIGHT), [how for how, _ in named].count(WRONG)
    print(f"{of_whom}: named right {right}, nobody {knowable.count(NOBODY)}, of {len(knowable)} that can be; "
          f"wrong {wrong} of {len(named)}.")
    bars.require(f"right name in >= {100 * right_bar:.0f} %", right >= right_bar * len(knowable))
    bars.require(f"wrong name in <= {100 * WRONG_BAR:.0f} %", wrong <= WRONG_BAR * len(named))
