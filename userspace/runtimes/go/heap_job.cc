// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_job.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "memory/deadline_source.h"
#include "memory/process_files.h"
#include "memory/resident_source.h"
#include "runtimes/go/reading_file.h"

namespace oomw::go {
namespace {

using reader::WireReader, reader::WireWriter;

constexpr std::size_t kMaxText = 512;
constexpr std::uint64_t kMaxCostNs = 60'000'000'000;

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

std::optional<std::uint64_t> read_address(WireReader& in) {
  const bool is_known = in.number() != 0;
  const std::uint64_t value = in.number();
  return is_known ? std::optional(value) : std::nullopt;
}

// CPU time of this process since it was asked last; the first time, since its start.
Nanoseconds cpu_since_last() {
  static Nanoseconds last{};
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  const Nanoseconds total = std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
  return total - std::exchange(last, total);
}

std::string encode(const HeapEvidence& evidence) {
  WireWriter out;
  out.number(static_cast<std::uint64_t>(cpu_since_last().count()));
  out.number(static_cast<std::uint64_t>(evidence.layout)).text(to_string(evidence.failure.reason));
  out.text(evidence.failure.detail.substr(0, kMaxText)).number(evidence.reading.has_value());
  if (!evidence.reading) return out.take();
  const std::vector<std::string>& facts = evidence.reading->facts;
  const std::size_t sent = std::min(facts.size(), HeapReading::kMaxFacts);
  out.text(evidence.reading->summary.substr(0, kMaxText)).number(sent);
  for (std::size_t i = 0; i < sent; ++i) out.text(facts[i].substr(0, kMaxText));
  return out.take();
}

}  // namespace

void write_variables(WireWriter& out, const HeapVariables& variables) {
  for (const auto& address : {variables.buckets, variables.rate, variables.cycle}) {
    out.number(address.has_value()).number(address.value_or(0));
  }
}

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
  WireWriter out;
  out.number(static_cast<std::uint64_t>(process.pid)).number(static_cast<std::uint64_t>(deadline.ns));
  out.text(target.go_version.substr(0, kMaxText)).number(static_cast<std::uint64_t>(target.method));
  out.number(target.load_bias);
  write_variables(out, target.variables);
  return out.take();
}

Result<std::string> read_heap_job(std::string_view parameters, std::span<const UniqueFd> files) {
  WireReader in(parameters);
  OpenMemory process;
  process.pid = static_cast<int>(in.number());
  const MonotonicTime deadline{in.signed_number()};
  HeapTarget target;
  target.go_version = in.text();
  target.method = static_cast<LocateMethod>(in.number());
  target.load_bias = in.number();
  target.variables.buckets = read_address(in);
  target.variables.rate = read_address(in);
  target.variables.cycle = read_address(in);
  const bool are_files_right = files.size() == 2 || files.size() == 3;
  if (!in.is_complete() || !are_files_right) return fail(ErrorCode::kInternal, "not what a reading needs");
  process.memory = UniqueFd(::dup(files[1].get()));
  if (files.size() == 3) process.page_map = UniqueFd(::dup(files[2].get()));
  ASSIGN_OR_RETURN(const HeapEvidence evidence, read_evidence(process, target, SystemClock(), deadline));
  if (evidence.reading) RETURN_IF_ERROR(write_reading(files[0].get(), *evidence.reading));
  return encode(evidence);
}

Result<HeapEvidence> decode_evidence(std::string_view answer, int reading_fd) {
  WireReader in(answer);
  HeapEvidence evidence;
  evidence.cost = Nanoseconds(std::min(in.number(), kMaxCostNs));
  const std::uint64_t layout = in.number();
  evidence.layout = static_cast<RecordLayout>(std::min(layout, static_cast<std::uint64_t>(RecordLayout::kUnknown)));
  const std::string_view reason = in.text();
  const bool is_named = reason.empty() || read_name(reason, evidence.failure.reason);
  evidence.failure.detail = printable(in.text(), kMaxText);
  const bool has_reading = in.number() == 1;
  HeapReading texts;
  if (has_reading) {
    texts.summary = printable(in.text(), kMaxText);
    const std::uint64_t facts = std::min<std::uint64_t>(in.number(), HeapReading::kMaxFacts);
    for (std::uint64_t i = 0; i < facts; ++i) texts.facts.push_back(printable(in.text(), kMaxText));
  }
  const bool is_one = has_reading == (evidence.failure.reason == CaptureReason::kNone);
  if (!in.is_complete() || !is_named || !is_one) {
    return fail(ErrorCode::kInvalid, "the reader answered something else");
  }
  if (!has_reading) return evidence;
  ASSIGN_OR_RETURN(evidence.reading, read_reading(reading_fd));
  evidence.reading->summary = std::move(texts.summary);
  evidence.reading->facts = std::move(texts.facts);
  return evidence;
}

}  // namespace oomw::go
