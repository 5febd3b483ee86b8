// SPDX-License-Identifier: Apache-2.0
#include "captures/walk_capture.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "captures/go_evidence.h"
#include "captures/provenance.h"
#include "runtimes/go/walk_records.h"

namespace oomw {
namespace {

using go::HeapSnapshot;

constexpr std::uint64_t kDefaultRate = 512 << 10;
constexpr std::uint64_t kMaxRate = std::uint64_t{1} << 40;
// The process is dead, so only other walks wait. The longest list takes 0.6 s of CPU, which was 7 s of
// time with 13 threads on 2 cores; what takes longer is a file system that plays for time.
constexpr Nanoseconds kNamingTime = std::chrono::seconds(15);
constexpr std::string_view kTrigger = "oom_kill";

GoProcessPtr stand_in(ProcessKey key) {
  auto unknown = std::make_shared<GoProcess>();
  unknown->key = key;
  unknown->binary = std::make_shared<const go::GoBinary>();
  return unknown;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

CaptureFinished event_for(const HeapWalked& walk) {
  CaptureFinished event;
  event.time = walk.time;
  event.started = walk.started;
  event.cgroup = walk.cgroup;
  event.process = walk.process;
  event.method = CaptureMethod::kAtKill;
  event.trigger = kTrigger;
  return event;
}

}  // namespace

WalkDecoder::WalkDecoder(const HeapWalked& walk, GoProcessPtr process)
    : walk_(walk), process_(process ? std::move(process) : stand_in(walk.process)), decoder_({}) {}

void WalkDecoder::add(std::span<const std::byte> records) {
  const auto decoded = go::decode_bucket_records(records, walk_.text_address, decoder_);
  if (decoded.has_value() || !refused_.empty()) return;
  refused_ = decoded.error().code == ErrorCode::kLimit ? "limit" : "rejected";
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

// Why the snapshot is not the whole list; "" if it is.
std::string WalkDecoder::shortfall(const HeapSnapshot& snapshot) const {
  if (walk_.stop != WalkStop::kEnd) return std::string(to_string(walk_.stop));
  if (!refused_.empty()) return refused_;
  if (snapshot.counts.rejected_hash > 0) return "rejected";
  return snapshot.counts.walked < walk_.walked ? "lost" : "";
}

std::string WalkDecoder::provenance(const CaptureFinished& event, const Clock& clock) const {
  CaptureRequest request;
  request.trigger = event.trigger;
  const std::string name = process_->exe ? file_name(process_->exe->path()) : "";
  return provenance_comment(event.method, request, {event.process, event.cgroup, name, ""}, clock.wall_of(event.time)) +
         fmt::format(" stop={} walk_us={} absent={}", to_string(walk_.stop),
                     (event.time - event.started).count() / 1000, walk_.absent);
}

CaptureOutcome WalkDecoder::finish(const Clock& clock, const SnapshotWatcher& watcher) {
  HeapSnapshot snapshot = take_snapshot();
  CaptureFinished event = event_for(walk_);
  event.reason = shortfall(snapshot);
  snapshot.complete = event.reason.empty() && snapshot.layout != go::RecordLayout::kUnknown;
  if (walk_.stop == WalkStop::kLoop) snapshot.buckets.clear();  // the runtime's list never loops: this is not one
  if (auto useless = why_useless(snapshot)) {
    // How a walk ended tells more than that it brought nothing.
    const bool is_about_data = useless->reason == "layout_unknown" || useless->reason == "rate_zero";
    if (is_about_data || event.reason.empty()) event.reason = std::move(useless->reason);
    event.detail = walk_.walked == 0 && walk_.stop != WalkStop::kEnd ? "the walk ended before the first bucket"
                                                                     : printable(useless->detail);
    return {std::move(event), ""};
  }
  if (!snapshot.complete) {
    snapshot.reason = fmt::format("{} of {} buckets, {}{}", snapshot.buckets.size(), walk_.walked, event.reason,
                                  detail_.empty() ? "" : ": " + detail_);
  }
  if (watcher) watcher(*process_, snapshot, walk_.started);
  const std::string comment = provenance(event, clock);
  return store_snapshot(std::move(snapshot), *process_, std::move(event), comment, clock, clock.now() + kNamingTime);
}

}  // namespace oomw
