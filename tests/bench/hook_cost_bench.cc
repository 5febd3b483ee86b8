// SPDX-License-Identifier: Apache-2.0
// What the hooks cost a load at work: attaches and detaches all of them in turn while it runs, and prints
// for every slot what CPU time a unit of its work took. Slots of 100 ms lie so near each other that what
// else happens on the machine hits both sides alike; two runs of a program, seconds apart, differ by 5 %.
//   hook_cost_bench PROGRESS_FILE PAIRS SLOT_MS [BEST_RUNG [WITHOUT...]]
// The load writes PROGRESS_FILE (loads/progress.h). Programs whose names begin with one of WITHOUT stay off.
// Prints one line a slot, "off UNITS CPU_NS" or "on UNITS CPU_NS", off first and last.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <bpf/bpf.h>

#include "kernel/catalog.h"
#include "kernel/kernel_btf.h"
#include "kernel/ladder.h"
#include "kernel/perf_tracepoint.h"
#include "kernel/program_loader.h"
#include "kernel/ring.h"
#include "kernel/settings.h"
#include "kernel/shared_maps.h"
#include "load_slots.h"

namespace {

using namespace oomw;
using namespace oomw::bench;

constexpr const char* kPerfTracepoint = "sched/sched_process_exit";  // the only one that perf's probe serves

Rung rung_named(const std::string& name) {
  for (const Rung rung : {Rung::kFentry, Rung::kTpBtf, Rung::kRawTp}) {
    if (to_string(rung) == name) return rung;
  }
  give_up("no such rung: " + name);
}

// The programs of the daemon, on the rungs that it would take.
class Hooks {
 public:
  Hooks(Rung best_allowed, const std::vector<std::string>& without) : maps_(make_map_entries({})) {
    auto kernel = KernelBtf::load();
    if (!kernel) give_up(kernel.error().message);
    ProgramLoader loader(maps_, make_settings({}),
                         kernel->facts(static_cast<int>(std::thread::hardware_concurrency())));
    const auto signature_of = [&](const std::string& name) { return kernel->signature_of(name); };
    for (const FeatureSpec& spec : feature_catalog(signature_of)) {
      auto result = descend(spec, best_allowed, *kernel, loader);
      std::fprintf(stderr, "%s: %s\n", spec.feature.c_str(), std::string(to_string(result.status.rung)).c_str());
      for (LoadedProgram& program : result.programs) {
        const auto begins_so = [&](const std::string& start) { return program.name.starts_with(start); };
        if (std::none_of(without.begin(), without.end(), begins_so)) programs_.push_back(std::move(program));
      }
    }
    if (programs_.empty()) give_up("no program could be loaded");
  }

  void detach() {
    for (LoadedProgram& program : programs_) program.link = UniqueFd();
  }

  void attach() {
    for (LoadedProgram& program : programs_) {
      program.link = attached(program.program.get());
      if (!program.link.is_valid()) give_up("cannot attach " + program.name + " again");
    }
  }

  [[nodiscard]] const SharedMaps& maps() const { return maps_; }

 private:
  static UniqueFd attached(int program_fd) {
    bpf_prog_info info{};
    std::uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(program_fd, &info, &size) != 0) return {};
    if (info.type == BPF_PROG_TYPE_TRACEPOINT) return attach_by_perf(program_fd, kPerfTracepoint);
    return UniqueFd(bpf_raw_tracepoint_open(nullptr, program_fd));
  }

  SharedMaps maps_;
  std::vector<LoadedProgram> programs_;
};

// Takes what the programs tell, as the daemon does, and drops it.
class Reader {
 public:
  explicit Reader(const SharedMaps& maps) {
    auto ring = Ring::make(maps.fd("ring"), maps.fd("next_reads"));
    if (!ring) give_up(ring.error().message);
    ring_ = std::move(*ring);
    thread_ = std::thread([this] { read(); });
  }
  ~Reader() {
    is_over_ = true;
    thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

 private:
  void read() {
    pollfd wait{ring_->epoll_fd(), POLLIN, 0};
    while (!is_over_) {
      if (poll(&wait, 1, 100) > 0) ring_->drain([](const Event&) {}, 1'024);
    }
  }

  std::unique_ptr<Ring> ring_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: hook_cost_bench PROGRESS_FILE PAIRS SLOT_MS [BEST_RUNG [WITHOUT...]]\n", stderr);
    return 2;
  }
  const Load load(argv[1]);
  const milliseconds slot(std::atol(argv[3]));
  Hooks hooks(argc > 4 ? rung_named(argv[4]) : Rung::kFentry, {argv + std::min(argc, 5), argv + argc});
  const Reader reader(hooks.maps());
  hooks.detach();
  measure(load, "off", slot);
  for (long pair = std::atol(argv[2]); pair > 0; --pair) {
    hooks.attach();
    measure(load, "on", slot);
    hooks.detach();
    measure(load, "off", slot);
  }
}
