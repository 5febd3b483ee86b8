// SPDX-License-Identifier: Apache-2.0
#include "cli/process_contents.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyses/analysis_job.h"
#include "base/estimate_text.h"
#include "base/text.h"
#include "process/process_files.h"
#include "reader/reader_group.h"

namespace oomw::cli {
namespace {

constexpr Nanoseconds kPatience = std::chrono::seconds(15);
constexpr std::uint64_t kMaxProfile = 4u << 20;

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

Result<ProcessContents> read(const ProcessFiles& files, reader::ReaderGroup& reader, std::optional<RuntimeKind> of) {
  const SystemClock clock;
  const std::int32_t pid = files.image.pid;
  std::string why = fmt::format("pid {0} is not a Go program; what fills it: oomwitness capture --pid {0}", pid);
  if (!of) why = "no analysis knows this program";
  for (std::size_t row = 0; row < heap_analyses().size(); ++row) {
    if (of && heap_analyses()[row].of != *of) continue;
    auto answer = analyse_heap(row, files, &reader, nullptr, clock.now() + kPatience);
    if (!answer) why = std::string(to_string(answer.error().reason)) + ": " + answer.error().detail;
    if (!answer || !*answer) continue;
    ProcessContents contents{pid, std::move((*answer)->heap), "", ""};
    contents.found.of = heap_analyses()[row].of;
    for (std::size_t i = 0; i < contents.found.files.size(); ++i) {
      if (!(*answer)->files[i]) continue;
      std::string& file = contents.found.files[i].name.ends_with(".pb.gz") ? contents.profile : contents.document;
      ASSIGN_OR_RETURN(file, (*answer)->files[i]->read(kMaxProfile));
    }
    return contents;
  }
  return fail(of ? ErrorCode::kUnsupported : ErrorCode::kUnavailable, why);
}

}  // namespace

Result<ProcessContents> read_process_contents(const Config& config, const CaptureSelector& selector,
                                              std::optional<RuntimeKind> of) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::vector<CaptureTarget> targets, find_targets(config, selector));
  reader::ReaderGroup reader(clock, {}, 1);
  Result<ProcessContents> contents = fail(ErrorCode::kNotFound, "no process");
  for (const CaptureTarget& target : targets) {
    ASSIGN_OR_RETURN(const ProcessFiles files,
                     ProcessFiles::open(config.proc_root, target.process, wanted_libraries()));
    contents = read(files, reader, of);
    if (contents || !of) break;
  }
  return contents;
}

std::string to_text(const ProcessContents& contents) {
  const HeapAnalysed& heap = contents.found;
  std::string text = fmt::format("memory of pid {} ({}){}\n\n", contents.pid, to_string(heap.of),
                                 heap.named_ratio ? ", " + percent(*heap.named_ratio) + " of it has a name" : "");
  for (const MemoryShare& part : heap.parts) {
    text += fmt::format("{:>10}  {}{}\n", human_bytes(part.bytes), part.name,
                        part.source.empty() ? "" : " (" + part.source + ")");
  }
  for (const HeapHolder& holder : heap.holders) {
    text += fmt::format("{:>10}  {:>6}  kept by {}\n", "~" + human_bytes(holder.bytes), percent(holder.share),
                        fmt::join(holder.chain, " "));
  }
  if (heap.goroutine_count > 0) text += fmt::format("{} goroutines\n", heap.goroutine_count);
  text += "\n";
  for (const HeapFiller& filler : heap.fillers) {
    const bool is_counted = filler.bytes > 0;
    text += fmt::format("{:>10}  {:>6}  {:>9} {}  {}{}\n",
                        is_counted ? estimate_text(filler.bytes, filler.error_bytes) : "",
                        is_counted ? percent(filler.share) : "", filler.count, filler.kind, filler.name,
                        filler.held_as.empty() ? "" : ", held as " + filler.held_as);
  }
  for (const std::string& note : heap.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace oomw::cli
