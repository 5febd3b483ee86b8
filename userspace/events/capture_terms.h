// SPDX-License-Identifier: Apache-2.0
// The closed sets of terms that describe a capture. Their names are metric labels, values of incident.json and
// the format of recordings.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/enum_names.h"
#include "events/ids.h"

namespace oomw {

// How a heap was read.
enum class CaptureMethod { kAtKill, kLive, kHttp };
template <>
inline constexpr auto kEnumNames<CaptureMethod> = std::to_array<std::string_view>({"at_kill", "live", "http"});

// The runtime that owns the heap.
enum class RuntimeKind { kGo, kCpython, kJvm, kV8, kNative };
template <>
inline constexpr auto kEnumNames<RuntimeKind> = std::to_array<std::string_view>({"go", "cpython", "jvm", "v8",
                                                                                 "native"});
// Whether what fills it goes up and down by its garbage collector; a Go heap is judged by its own figures.
[[nodiscard]] constexpr bool is_collected(RuntimeKind kind) {
  return kind == RuntimeKind::kJvm || kind == RuntimeKind::kV8;
}

enum class CaptureResult { kOk, kFailed, kSkipped };
template <>
inline constexpr auto kEnumNames<CaptureResult> = std::to_array<std::string_view>({"ok", "failed", "skipped"});

// Why a capture failed, was skipped or is only partial; kNone: it is whole. After several failed attempts the greatest
// reason is reported: kNoEndpoint to kLayoutUnknown are ordered by how far an attempt got.
enum class CaptureReason {
  kNone,
  kNoEndpoint,
  kNotGo,
  kGone,
  kNetns,
  kRefused,
  kPermission,
  kNarrow,
  kLinkedOut,
  kNotFound,
  kTimeout,
  kHttpStatus,
  kRedirect,
  kNotAProfile,
  kTruncated,
  kTooLarge,
  kReaderLimit,
  kReaderTimeout,
  kReaderFailed,
  kUnreadable,
  kEmpty,
  kRateZero,
  kRejected,
  kLayoutUnknown,
  // Not tried.
  kHeadroom,
  kOptedOut,
  kNotOptedIn,
  kCooldown,
  kBudget,
  kPageCache,
  kBusy,
  kQueueFull,
  // From a walk at the kill.
  kUnsupported,
  kNoWalk,
  kFault,
  kMalformed,
  kLoop,
  kPoolFull,
  kBucketLimit,
  kTimeLimit,
  kLost,
  // About the profile that was read.
  kLimit,
  kPartial,
  kNoSpace,
};
[[nodiscard]] std::string_view to_string(CaptureReason reason);  // "" = kNone
[[nodiscard]] bool read_name(std::string_view name, CaptureReason& value);
// For a human; "" for an unknown name.
[[nodiscard]] std::string_view explain_capture_reason(std::string_view name);

// Why there is no heap of `process`, with details for a human.
struct CaptureFailure {
  CaptureReason reason = CaptureReason::kNone;
  std::string detail;
  ProcessKey process{};  // pid 0: no particular one
};

// What triggered a capture.
struct CaptureTrigger {
  enum class Kind { kRequest, kOomKill, kTimeToLimit, kTrend, kWatermark };
  Kind kind = Kind::kRequest;
  std::uint32_t level_percent = 0;  // kWatermark only
  [[nodiscard]] static CaptureTrigger watermark(std::uint32_t level_percent) {
    return {Kind::kWatermark, level_percent};
  }
  friend auto operator<=>(const CaptureTrigger&, const CaptureTrigger&) = default;
};
// request | oom_kill | time_to_limit | trend | watermark_90
[[nodiscard]] std::string to_string(CaptureTrigger trigger);
[[nodiscard]] bool read_name(std::string_view name, CaptureTrigger& value);

}  // namespace oomw
