// SPDX-License-Identifier: Apache-2.0
#include "cli/memory_contents.h"

#include <fmt/format.h>

#include "analyses/analysis_job.h"
#include "base/text.h"
#include "memory/process_files.h"
#include "reader/reader.h"

namespace oomw::cli {
namespace {

constexpr Nanoseconds kPatience = std::chrono::seconds(15);

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

void print(const HeapAnalysed& heap, RuntimeKind of, std::int32_t pid) {
  fmt::print("memory of pid {} ({}){}\n\n", pid, to_string(of),
             heap.named_ratio ? ", " + percent(*heap.named_ratio) + " of it has a name" : "");
  for (const MemoryShare& part : heap.parts) {
    fmt::print("{:>10}  {}{}\n", human_bytes(part.bytes), part.name,
               part.source.empty() ? "" : " (" + part.source + ")");
  }
  fmt::print("\n");
  for (const HeapFiller& filler : heap.fillers) {
    fmt::print("{:>10}  {:>6}  {:>9} {}  {}{}\n", human_bytes(filler.bytes), percent(filler.share), filler.count,
               filler.kind, filler.name, filler.held_as.empty() ? "" : ", held as " + filler.held_as);
  }
  for (const std::string& note : heap.notes) fmt::print("note: {}\n", note);
}

}  // namespace

Result<> print_memory_contents(const Config& config, const CaptureSelector& selector) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::vector<CaptureTarget> targets, find_targets(config, selector));
  ASSIGN_OR_RETURN(const ProcessFiles files,
                   ProcessFiles::open(config.proc_root, targets.front().process, wanted_libraries()));
  reader::Reader reader(clock);
  std::string why = "no analysis knows this program";
  for (std::size_t row = 0; row < heap_analyses().size(); ++row) {
    if (heap_analyses()[row].of == RuntimeKind::kGo) continue;
    const auto answer = analyse_heap(row, files, &reader, nullptr, clock.now() + kPatience);
    if (!answer) why = std::string(to_string(answer.error().reason)) + ": " + answer.error().detail;
    if (!answer || !*answer) continue;
    print((*answer)->heap, heap_analyses()[row].of, targets.front().process.pid);
    return {};
  }
  return fail(ErrorCode::kUnavailable, why);
}

}  // namespace oomw::cli
