// SPDX-License-Identifier: Apache-2.0
// What growth sampling costs a load at work, by watching a process and leaving it alone in turn while the load runs.
//   growth_cost_bench PROGRESS_FILE PAIRS SLOT_MS resting|other|PID
// other: a process of its own is watched, which grows by a page each 5 ms. resting: likewise, but the program rests, as
// while it does not climb. PID: the load itself. Prints one line a slot, "off UNITS CPU_NS" or "on UNITS CPU_NS", off
// first and last.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "base/proc_stat.h"
#include "kernel/growth_programs.h"
#include "load_slots.h"

namespace {

using namespace oomw;
using namespace oomw::bench;

constexpr std::size_t kPage = 4096, kPages = 65'536;

[[noreturn]] void grow_slowly() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* memory = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::_Exit(1);
  madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
  for (std::size_t page = 0; page < kPages; ++page) {
    static_cast<volatile char*>(memory)[page * kPage] = 1;
    std::this_thread::sleep_for(milliseconds(5));
  }
  for (;;) pause();
}

class Grower {
 public:
  Grower() : pid_(fork()) {
    if (pid_ < 0) give_up("cannot fork");
    if (pid_ == 0) grow_slowly();
  }
  ~Grower() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Grower(const Grower&) = delete;
  Grower& operator=(const Grower&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

GrowthTarget target_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto start_ticks = ProcStat(text).start_ticks();
  if (!start_ticks) give_up("no such process");
  GrowthTarget target;
  target.process = {pid, *start_ticks};
  target.cgroup = CgroupId{1};
  return target;
}

// Samples are taken out of the ring and dropped: unwinding is the reader's work, on another CPU.
void end(GrowthPrograms& programs, ProcessKey process, std::uint64_t& samples, std::uint64_t& unsent) {
  if (const auto state = programs.state(process)) {
    samples += state->samples;
    unsent += state->over_budget + state->ring_full;
  }
  programs.unwatch(process);
  while (programs.drain([](GrowthPrograms::Record) {}, 1'024) > 0) continue;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: growth_cost_bench PROGRESS_FILE PAIRS SLOT_MS resting|other|PID\n", stderr);
    return 2;
  }
  const Load load(argv[1]);
  const milliseconds slot(std::atol(argv[3]));
  const std::string who = argv[4];
  auto programs = GrowthPrograms::make({.ring_bytes = 32u << 20});
  if (!programs) give_up(programs.error().message);
  const bool is_resting = who == "resting";
  const std::unique_ptr<Grower> grower = is_resting || who == "other" ? std::make_unique<Grower>() : nullptr;
  const GrowthTarget target = target_of(grower ? grower->pid() : static_cast<pid_t>(std::atol(who.c_str())));
  std::uint64_t samples = 0, unsent = 0;
  measure(load, "off", slot);
  for (long pair = std::atol(argv[2]); pair > 0; --pair) {
    if (!(*programs)->watch(target)) give_up("cannot watch");
    if (!is_resting && !(*programs)->resume()) give_up("cannot be attached");
    measure(load, "on", slot);
    end(**programs, target.process, samples, unsent);
    measure(load, "off", slot);
  }
  std::fprintf(stderr, "%llu samples, %llu unsent\n", static_cast<unsigned long long>(samples),
               static_cast<unsigned long long>(unsent));
}
