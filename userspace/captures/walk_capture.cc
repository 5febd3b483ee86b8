// SPDX-License-Identifier: Apache-2.0
#include "captures/walk_capture.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "captures/capture_event.h"
#include "captures/provenance.h"
#include "captures/stored_reading.h"
#include "runtimes/go/go_reading.h"
#include "runtimes/go/walk_records.h"

namespace oomw {
namespace {

using go::HeapSnapshot;

constexpr std::uint64_t kDefaultRate = 512 << 10;
constexpr std::uint64_t kMaxRate = std::uint64_t{1} << 40;
// The process is dead, so only other walks wait. The longest list takes 0.6 s of CPU, which was 7 s of time with 13
// threads on 2 cores; anything longer is a file system that stalls.
constexpr Nanoseconds kNamingTime = std::chrono::seconds(9);  // less than the reader has for the job

CaptureReason reason_of_stop(WalkStop stop) {
  CaptureReason reason = CaptureReason::kMalformed;
  (void)read_name(to_string(stop), reason);  // both enums have the same names
  return reason;
}

}  // namespace

GoProcessPtr stand_in_process(ProcessKey key) {
  auto unknown = std::make_shared<GoProcess>();
  unknown->key = key;
  unknown->binary = std::make_shared<const go::GoBinary>();
  return unknown;
}

WalkDecoder::WalkDecoder(const HeapWalked& walk, GoProcessPtr process, OperationPatterns patterns)
    : walk_(walk),
      patterns_(std::move(patterns)),
      process_(process ? std::move(process) : stand_in_process(walk.process)),
      decoder_({}) {}

void WalkDecoder::add(std::span<const std::byte> records) {
  const auto decoded = go::decode_bucket_records(records, walk_.text_address, decoder_);
  if (decoded.has_value() || refused_ != CaptureReason::kNone) return;
  refused_ = decoded.error().code == ErrorCode::kLimit ? CaptureReason::kLimit : CaptureReason::kRejected;
  detail_ = decoded.error().message;
}

HeapSnapshot WalkDecoder::take_snapshot() {
  HeapSnapshot snapshot;
  snapshot.go_version = process_->binary->go_version;
  snapshot.method = process_->target ? process_->target->method : process_->binary->method;
  snapshot.load_bias = process_->target ? process_->target->load_bias : 0;
  snapshot.is_rate_assumed = !walk_.has_rate || walk_.rate > kMaxRate;
  snapshot.rate = static_cast<std::int64_t>(snapshot.is_rate_assumed ? kDefaultRate : walk_.rate);
  if (walk_.has_cycle) snapshot.cycle = go::CycleState{walk_.cycle_before, walk_.cycle_after, 0};
  snapshot.bytes_read = walk_.bytes;
  decoder_.finish(snapshot);
  return snapshot;
}

// Why the snapshot is not the whole list.
CaptureReason WalkDecoder::shortfall(const HeapSnapshot& snapshot) const {
  if (walk_.stop != WalkStop::kEnd) return reason_of_stop(walk_.stop);
  if (refused_ != CaptureReason::kNone) return refused_;
  if (snapshot.counts.rejected_hash > 0) return CaptureReason::kRejected;
  return snapshot.counts.walked < walk_.walked ? CaptureReason::kLost : CaptureReason::kNone;
}

std::string WalkDecoder::provenance(const CaptureRequest& request, const Clock& clock) const {
  return provenance_comment(CaptureMethod::kAtKill, request, request.targets.front(), clock.wall_of(walk_.time)) +
         fmt::format(" stop={} walk_us={} absent={}", to_string(walk_.stop),
                     (walk_.time - walk_.started).count() / 1000, walk_.absent);
}

CaptureOutcome WalkDecoder::finish(const Clock& clock, const ReadingWatcher& watcher) {
  HeapSnapshot snapshot = take_snapshot();
  const std::string name(process_->exe ? base_name(process_->exe->path()) : "");
  const CaptureRequest request = request_at_kill({walk_.process, walk_.cgroup, name, ""});
  CaptureFinished begun = begin_capture(request, CaptureMethod::kAtKill, walk_.started);
  const CaptureReason why = shortfall(snapshot);
  snapshot.complete = why == CaptureReason::kNone && snapshot.layout != go::RecordLayout::kUnknown;
  if (walk_.stop == WalkStop::kLoop) snapshot.buckets.clear();  // a list that loops is not the runtime's
  if (auto useless = go::why_useless(snapshot)) {
    // The end of a walk explains more than the fact that it brought nothing.
    const bool is_about_data =
        useless->reason == CaptureReason::kLayoutUnknown || useless->reason == CaptureReason::kRateZero;
    if (!is_about_data && why != CaptureReason::kNone) useless->reason = why;
    const bool has_nothing = walk_.walked == 0 && walk_.stop != WalkStop::kEnd;
    useless->detail = has_nothing ? "the walk ended before the first bucket" : printable(useless->detail);
    return {not_taken(std::move(begun), walk_.time, std::move(*useless)), ""};
  }
  if (!snapshot.complete) {
    snapshot.reason = fmt::format("{} of {} buckets, {}{}", snapshot.buckets.size(), walk_.walked, to_string(why),
                                  detail_.empty() ? "" : ": " + detail_);
  }
  HeapReading reading = go::reading_of(std::move(snapshot), walk_.started);
  if (watcher) watcher(*process_, reading);
  return store_reading(
      {std::move(reading), std::move(begun), walk_.time, why, provenance(request, clock), clock.now() + kNamingTime},
      *process_, patterns_, clock);
}

}  // namespace oomw
