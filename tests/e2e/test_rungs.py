# SPDX-License-Identifier: Apache-2.0
"""The ladder: kills and captures arrive on every rung that can be forced."""
import json
import os

from harness.case import E2eTest
from harness.daemon import run_cli
from harness.wait import eventually


class Rungs(E2eTest):
    alone = True

    def kill_on(self, config, expected_rungs, prefix=()):
        witness, box = self.daemon(config, prefix=prefix), self.cgroup("rung", 128)
        shown = lambda: {l["feature"]: l["rung"] for l, v in witness.scrape().values("oomwitness_feature_rung") if v}
        for feature, rung in expected_rungs.items():
            self.assertEqual(shown()[feature], rung, shown())
        work = self.leaky_go(box, "-rate", "30")
        work.wait_killed()
        incident = self.wait_incidents(witness, 1)[0]
        self.assertEqual([v["pid"] for v in incident["victims"]], [work.pid])
        self.assertEqual(incident["limit"]["owner_cgroup_path"], box.path)
        self.assertEqual(incident["limit"]["bytes"], box.limit_bytes)
        good = [c for c in incident["captures"] if c["result"] == "ok"]
        self.assertTrue(good, incident["captures"])
        self.assertGreater(max(c["usage_bytes"] or 0 for c in good), 0.8 * box.limit_bytes)

    def test_files_rung_for_kills_and_watermarks(self):
        if not os.access("/dev/kmsg", os.R_OK):
            self.skipTest("/dev/kmsg cannot be read here: no kill record without BPF")
        self.kill_on('[kernel.best_rung]\noom_kill = "files"\nwatermark = "files"\n',
                     {"oom_kill": "files", "watermark": "files"})

    def test_no_bpf_program_at_all(self):
        if not os.access("/dev/kmsg", os.R_OK):
            self.skipTest("/dev/kmsg cannot be read here: no kill record without BPF")
        features = ("oom_kill", "watermark", "process_lifecycle", "cgroup_lifecycle")
        config = "[kernel.best_rung]\nreclaim = \"none\"\n" + "".join(f'{f} = "files"\n' for f in features)
        self.kill_on(config, {"oom_kill": "files", "watermark": "files", "cgroup_lifecycle": "files"})

    def in_mount_namespace(self, command):
        """A daemon prefix that runs `command` in a mount namespace of the daemon's own first."""
        return ["unshare", "-m", "sh", "-c", command + ' && exec "$@"', "sh"]

    def test_kernel_without_btf_works_from_files(self):
        if not os.access("/dev/kmsg", os.R_OK):
            self.skipTest("/dev/kmsg cannot be read here: no kill record without BPF")
        if not os.path.isdir("/sys/kernel/btf"):
            self.skipTest("this kernel has no BTF to hide: the other tests ran without it")
        self.kill_on("", {"oom_kill": "files", "watermark": "files", "cgroup_lifecycle": "files"},
                     self.in_mount_namespace("mount -t tmpfs none /sys/kernel/btf"))
        self.assertIn("/sys/kernel/btf/vmlinux", self.daemons[0].log())

    def test_tracefs_is_not_needed(self):
        hide = "for d in /sys/kernel/tracing /sys/kernel/debug; do [ ! -d $d ] || mount -t tmpfs none $d; done"
        self.kill_on('[kernel.best_rung]\noom_kill = "tp_btf"\n', {"oom_kill": "tp_btf", "watermark": "tp_btf"},
                     self.in_mount_namespace(hide))

    def test_fentry_rung(self):
        features = json.loads(run_cli("doctor", "--json", "--data-dir", self.data_dir()).stdout)["features"]
        for feature in features:
            refused = [r["reason"] for r in feature["refused"] if r["rung"] == "fentry"]
            if refused:
                self.skipTest(f"{feature['feature']} by fentry: {refused[0]}")
        self.kill_on("", {"oom_kill": "fentry", "reclaim": "fentry", "watermark": "fentry"})

    def test_raw_tracepoint_rung(self):
        features = ("oom_kill", "watermark", "reclaim", "process_lifecycle", "cgroup_lifecycle", "heap_at_kill")
        self.kill_on("[kernel.best_rung]\n" + "".join(f'{f} = "raw_tp"\n' for f in features),
                     {f: "raw_tp" for f in features})

    def test_page_fault_hook_rests_far_below_limits_and_is_back_before_the_first_level(self):
        witness = self.daemon('[kernel]\npage_fault_hook_hold_seconds = 1\n[kernel.best_rung]\nwatermark = "tp_btf"\n')
        box, start = self.cgroup("rest", 64), os.path.join(self.scratch, "start")
        metric = lambda name: witness.scrape().sum("oomwitness_page_fault_hook_" + name)
        work = self.memhog(box, "--hold-mb", "5", "--rate-mb-s", "15", "--wait-file", start)
        eventually(lambda: metric("attached") == 0, "the hook to rest")
        open(start, "w").close()
        work.wait_killed()
        incident = self.wait_incidents(witness, 1)[0]
        seen = {mark["level_percent"] for mark in incident["pressure"]["watermarks"]}
        self.assertLessEqual({80, 85, 90, 95}, seen, incident["pressure"]["watermarks"])
        self.assertGreaterEqual(metric("changes_total"), 2)

    def test_doctor_names_every_features_rung(self):
        done = run_cli("doctor", "--data-dir", self.data_dir(), status=0)
        for feature in ("oom_kill", "watermark", "reclaim", "process_lifecycle", "cgroup_lifecycle"):
            self.assertIn(feature, done.stdout)
