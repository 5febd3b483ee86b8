// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_job.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "memory/deadline_source.h"
#include "memory/resident_source.h"
#include "process/open_memory.h"
#include "process/process_files.h"
#include "reader/wire_fields.h"
#include "runtimes/go/binary_fields.h"
#include "runtimes/go/reading_file.h"

namespace oomw::go {
namespace {

constexpr std::size_t kMaxText = 512;
constexpr Nanoseconds kMaxCost = std::chrono::seconds(60);

// Its pages that can be read without waiting.
class PagesOf final : public ByteSource {
 public:
  explicit PagesOf(const OpenMemory& process)
      : memory_(process.memory.get(), process.pid),
        resident_(memory_, process.page_map.get(), ResidentSource::Absent::kNothing, process.pid) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    return resident_.read_some(address, out);
  }

 private:
  const MemorySource memory_;
  const ResidentSource resident_;
};

struct HeapQuestion {
  std::int32_t pid = 0;
  MonotonicTime deadline;
  HeapTarget target;
};

void describe(auto& v, Of<HeapQuestion> auto& question) {
  v("pid", question.pid);
  v("deadline", question.deadline);
  v("target", question.target);
}

// Beside the reading itself, which is in a file.
struct HeapAnswer {
  Nanoseconds cost{};
  RecordLayout layout = RecordLayout::kNoData;
  CaptureFailure failure;
  bool has_reading = false;
  std::string summary;
  std::vector<std::string> facts;
};

void describe(auto& v, Of<HeapAnswer> auto& answer) {
  v("cost", answer.cost);
  v("layout", answer.layout, UpTo{RecordLayout::kUnknown});
  v("reason", answer.failure.reason);
  v("detail", answer.failure.detail, Chars{kMaxText});
  v("has_reading", answer.has_reading);
  v("summary", answer.summary, Chars{kMaxText});
  v("facts", answer.facts, Items{HeapReading::kMaxFacts, kMaxText});
}

// CPU time of this process since it was asked last; the first time, since its start.
Nanoseconds cpu_since_last() {
  static Nanoseconds last{};
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  const Nanoseconds total = std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
  return total - std::exchange(last, total);
}

}  // namespace

Result<std::optional<std::uint32_t>> read_cycle(const OpenMemory& process, const HeapTarget& target) {
  return read_cycle(PagesOf(process), target);
}

Result<HeapEvidence> read_evidence(const OpenMemory& process, const HeapTarget& target, const Clock& clock,
                                   MonotonicTime deadline) {
  const PagesOf pages(process);
  ASSIGN_OR_RETURN(HeapSnapshot snapshot, read_heap(DeadlineSource(pages, clock, deadline), target, {}));
  return evidence_of(std::move(snapshot), clock.now());
}

std::string read_heap_parameters(const OpenMemory& process, const HeapTarget& target, MonotonicTime deadline) {
  return reader::to_wire<Wire>(HeapQuestion{process.pid, deadline, target});
}

Result<std::string> read_heap_job(std::string_view parameters, std::span<const UniqueFd> files) {
  const auto question = reader::from_wire<Wire, HeapQuestion>(parameters);
  const bool are_files_right = files.size() == 2 || files.size() == 3;
  if (!question || !are_files_right) return fail(ErrorCode::kInternal, "not what a reading needs");
  OpenMemory process;
  process.pid = question->pid;
  process.memory = UniqueFd(::dup(files[1].get()));
  if (files.size() == 3) process.page_map = UniqueFd(::dup(files[2].get()));
  ASSIGN_OR_RETURN(const HeapEvidence evidence,
                   read_evidence(process, question->target, SystemClock(), question->deadline));
  if (evidence.reading) RETURN_IF_ERROR(write_reading(files[0].get(), *evidence.reading));
  HeapAnswer answer{cpu_since_last(), evidence.layout, evidence.failure, evidence.reading.has_value(), "", {}};
  if (evidence.reading) answer.summary = evidence.reading->summary, answer.facts = evidence.reading->facts;
  return reader::to_wire<Wire>(answer);
}

Result<HeapEvidence> decode_evidence(std::string_view answer, int reading_fd) {
  ASSIGN_OR_RETURN(HeapAnswer texts, (reader::from_wire<Wire, HeapAnswer>(answer)));
  if (texts.has_reading != (texts.failure.reason == CaptureReason::kNone)) {
    return fail(ErrorCode::kInvalid, "the reader answered something else");
  }
  HeapEvidence evidence;
  evidence.cost = std::clamp(texts.cost, Nanoseconds::zero(), kMaxCost);
  evidence.layout = texts.layout;
  evidence.failure = std::move(texts.failure);
  if (!texts.has_reading) return evidence;
  ASSIGN_OR_RETURN(evidence.reading, read_reading(reading_fd));
  evidence.reading->summary = std::move(texts.summary);
  evidence.reading->facts = std::move(texts.facts);
  return evidence;
}

}  // namespace oomw::go
