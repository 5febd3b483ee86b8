// SPDX-License-Identifier: Apache-2.0
#include "events/capture_terms.h"

#include <algorithm>

#include "base/text.h"

namespace oomw {
namespace {

using enum CaptureReason;

struct Row {
  CaptureReason reason;
  std::string_view name, meaning;
};
constexpr auto kReasons = std::to_array<Row>({
    {kNone, "", ""},
    {kNoEndpoint, "no_endpoint", "no pprof endpoint of this process was found on the known ports"},
    {kNotGo, "not_go", "not a Go program: only Go's runtime keeps a heap profile that can be read from outside"},
    {kGone, "gone", "the process was gone before the profile was complete"},
    {kNetns, "netns", "its network namespace could not be entered"},
    {kRefused, "refused", "the pprof endpoint refused the connection"},
    {kPermission, "permission", "the process may not be looked at"},
    {kNarrow, "32_bit", "a 32-bit Go program: only 64-bit ones can be read"},
    {kLinkedOut, "linked_out",
     "the program does not use Go's heap profile, so the linker switched it off (rate 0 for good)"},
    {kNotFound, "not_found", "a Go program, but its heap profile was not found in the executable"},
    {kTimeout, "timeout", "the profile did not arrive before the deadline"},
    {kHttpStatus, "http_status", "the endpoint answered with an error status"},
    {kRedirect, "redirect", "the endpoint answered with a redirect, which is never followed"},
    {kNotAProfile, "not_a_profile", "the answer was not a heap profile"},
    {kTruncated, "truncated", "the connection ended in the middle of the profile"},
    {kTooLarge, "too_large", "the answer was larger than the size cap"},
    {kReaderLimit, "reader_limit", "reading the profile took more memory than the reader process may have"},
    {kReaderTimeout, "reader_timeout", "reading the profile took longer than the reader process may take"},
    {kReaderFailed, "reader_failed", "the reader process ended while it read the profile, or could not be started"},
    {kUnreadable, "unreadable", "the memory of the process could not be read"},
    {kEmpty, "empty", "no allocation had been sampled yet"},
    {kRateZero, "rate_zero", "the program has set runtime.MemProfileRate to 0"},
    {kRejected, "rejected", "what lies where the heap profile should be does not verify"},
    {kLayoutUnknown, "layout_unknown", "the records of this Go version's heap profile have a layout that is not known"},
    {kHeadroom, "headroom", "too little memory was left: the capture itself could have caused the kill"},
    {kOptedOut, "opted_out", "the pod's annotation oomwitness.io/capture says false"},
    {kNotOptedIn, "not_opted_in",
     "the pod has no annotation oomwitness.io/capture that says true, and capture_opt_in is set"},
    {kCooldown, "cooldown", "the same trigger had fired shortly before"},
    {kBudget, "budget", "the container's capture budget was used up"},
    {kPageCache, "page_cache", "most of the memory was reclaimable page cache at that moment"},
    {kBusy, "busy", "another capture of this container was running"},
    {kQueueFull, "queue_full", "all capture workers were busy"},
    {kUnsupported, "unsupported",
     "the kernel refuses the program that reads the dying process (bpf_loop came with 5.17)"},
    {kNoWalk, "no_walk", "the kernel program did not run in the dying process"},
    {kFault, "fault", "a page of the heap profile was not in memory"},
    {kMalformed, "malformed", "what lies where the heap profile should be is not one"},
    {kLoop, "loop", "what lies where the heap profile should be leads back into itself"},
    {kPoolFull, "pool_full", "other victims of the same moment had used up the room for walks"},
    {kBucketLimit, "bucket_limit", "the heap profile has more call stacks than a walk may take"},
    {kTimeLimit, "time_limit", "the walk took longer than it may hold up the victim's exit"},
    {kLost, "lost", "part of what the walk stored was lost"},
    {kLimit, "limit", "the heap profile has more than this daemon keeps"},
    {kPartial, "partial", "part of the heap profile only"},
    {kNoSpace, "no_space",
     "the profile could not be stored: the disk refused it, and it was larger than the memory kept for it"},
});

consteval bool are_in_order() {
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if (static_cast<std::size_t>(kReasons[i].reason) != i) return false;
  }
  return true;
}
static_assert(are_in_order() && kReasons.back().reason == kNoSpace, "a row for each reason, in order");

using Kind = CaptureTrigger::Kind;
constexpr auto kTriggers = std::to_array<std::string_view>({"request", "oom_kill", "time_to_limit", "trend"});
constexpr std::string_view kWatermark = "watermark_";

}  // namespace

std::string_view to_string(CaptureReason reason) { return kReasons[static_cast<std::size_t>(reason)].name; }

bool read_name(std::string_view name, CaptureReason& value) {
  const auto found = std::ranges::find(kReasons, name, &Row::name);
  if (found != kReasons.end()) value = found->reason;
  return found != kReasons.end();
}

std::string_view explain_capture_reason(std::string_view name) {
  const auto found = std::ranges::find(kReasons, name, &Row::name);
  return found == kReasons.end() ? "" : found->meaning;
}

std::string to_string(CaptureTrigger trigger) {
  if (trigger.kind == Kind::kWatermark) return std::string(kWatermark) + std::to_string(trigger.level_percent);
  return std::string(kTriggers[static_cast<std::size_t>(trigger.kind)]);
}

bool read_name(std::string_view name, CaptureTrigger& value) {
  const auto found = std::ranges::find(kTriggers, name);
  if (found != kTriggers.end()) {
    value = {static_cast<Kind>(found - kTriggers.begin())};
    return true;
  }
  if (!name.starts_with(kWatermark)) return false;
  const auto level = parse_u64(name.substr(kWatermark.size()));
  if (!level || *level > 100) return false;
  value = CaptureTrigger::watermark(static_cast<std::uint32_t>(*level));
  return true;
}

}  // namespace oomw
