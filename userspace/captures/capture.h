// SPDX-License-Identifier: Apache-2.0
// One interface for every way of taking a heap profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fair_share.h"
#include "captures/profile_file.h"
#include "events/event.h"

namespace oomw {

// A process to try; the values are copies, valid on any thread.
struct CaptureTarget {
  ProcessKey process;
  CgroupId cgroup;
  std::string comm;
  std::string exe;
  std::optional<std::uint16_t> annotated_port{};  // of its pprof endpoint, from its pod's annotation; hostile
};

struct CaptureRequest {
  std::uint64_t capture_id = 0;
  CgroupId cgroup;                     // the cgroup whose limit is near
  std::vector<CaptureTarget> targets;  // tried in order, the likely culprit first; at most 8
  CaptureTrigger trigger;
  MonotonicTime requested;
  MonotonicTime deadline;
  std::optional<std::uint64_t> usage_bytes;
  std::optional<std::uint64_t> limit_bytes;
  ShareOwner owner{};  // who pays for it
};

struct CaptureOutcome {
  CaptureFinished finished;  // result and reason always set
  // Gzip pprof as stored, provenance in its comments; unless ok "", and no file. What came from a container is in the
  // file, and not in this process's memory.
  std::string profile{};
  std::optional<ProfileFile> profile_file{};
  std::uint64_t string_count = 0;  // of the profile, for pprof::comment_member()
  [[nodiscard]] bool has_profile() const { return profile_file.has_value() || !profile.empty(); }
};

// Virtual so that replay, tests and later methods (live, at_kill) fit in.
class CaptureBackend {
 public:
  virtual ~CaptureBackend() = default;
  // Any worker thread; may take until request.deadline; never throws.
  [[nodiscard]] virtual CaptureOutcome capture(const CaptureRequest& request) = 0;
  // Resolves what capture() will need, ahead of time and cheaply (same threads).
  virtual void prepare(const CaptureRequest& request) = 0;
  // The process is gone: drops what is cached for it. Any thread.
  virtual void forget(ProcessKey process) = 0;
};

}  // namespace oomw
