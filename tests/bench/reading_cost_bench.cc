// SPDX-License-Identifier: Apache-2.0
// reading_cost_bench PID [ROUNDS [ONE_IN]]: what one analysis of a living process costs in CPU time, for each MiB of
// its anonymous memory, as the daemon does it but in this process. Prints one line a round, and behind the last one
// what was found: two builds that differ in cost can be compared with each other on one process. ONE_IN: a sample, of
// the rows that can.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "analyses/analysis.h"
#include "analyses/analysis_job.h"
#include "base/files.h"
#include "base/thread_cpu.h"

namespace {

using namespace oomw;

double anonymous_mib(int pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/statm", 4096).value_or("");
  unsigned long long size = 0, resident = 0, shared = 0;
  if (std::sscanf(text.c_str(), "%llu %llu %llu", &size, &resident, &shared) != 3) return 0;
  return static_cast<double>(resident - shared) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void print_found(const HeapAnalysed& heap) {
  for (const MemoryShare& part : heap.parts) {
    std::printf("  part %-24s %12llu bytes\n", part.name.c_str(), static_cast<unsigned long long>(part.bytes));
  }
  for (const HeapFiller& filler : heap.fillers) {
    std::printf("  %-6s %-24s %12llu bytes %9llu\n", filler.kind.c_str(), filler.name.c_str(),
                static_cast<unsigned long long>(filler.bytes), static_cast<unsigned long long>(filler.count));
  }
}

int read_once(int pid, SampleRate rate, bool is_last) {
  const auto process = ProcessFiles::open("/proc", {pid, 0}, wanted_libraries());
  if (!process) return std::fprintf(stderr, "%s\n", process.error().message.c_str()), 1;
  for (std::size_t row = 0; row < heap_analyses().size(); ++row) {
    const double mib = anonymous_mib(pid);
    const Nanoseconds before = thread_cpu();
    const auto answer = analyse_heap(row, *process, nullptr, nullptr, SystemClock().now() + kMaxAnalysisTime, rate);
    const double ms = static_cast<double>((thread_cpu() - before).count()) / 1e6;
    if (!answer) return std::fprintf(stderr, "%s\n", answer.error().detail.c_str()), 1;
    if (!*answer) continue;
    std::printf("row %zu: %.1f ms of CPU, %.1f MiB, %.3f ms/MiB, named %.1f %%\n", row, ms, mib, ms / mib,
                100 * (*answer)->heap.named_ratio.value_or(0));
    if (is_last) print_found((*answer)->heap);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s PID [ROUNDS]\n", argv[0]), 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const int one_in = argc > 3 ? std::atoi(argv[3]) : 1;
  for (int i = 0; i < rounds; ++i) {
    const SampleRate rate{static_cast<std::uint32_t>(one_in), static_cast<std::uint64_t>(i)};
    if (const int failed = read_once(std::atoi(argv[1]), rate, i + 1 == rounds); failed != 0) return failed;
  }
  return 0;
}
