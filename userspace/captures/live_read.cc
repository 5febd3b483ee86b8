// SPDX-License-Identifier: Apache-2.0
#include "captures/live_read.h"

#include <utility>

#include "base/text.h"
#include "memory/deadline_source.h"
#include "runtimes/go/heap_reader.h"

namespace oomw {
namespace {

using go::HeapSnapshot;

std::string reason_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnsupported:
      return "not_go";
    case ErrorCode::kNotFound:
      return "gone";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kInvalid:
    case ErrorCode::kLimit:
    case ErrorCode::kNoSpace:
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
      break;
  }
  return "unreadable";
}

// Reads what runs there now and then makes sure that it was what had been resolved.
Result<HeapSnapshot> read_until(const go::HeapTarget& target, const Clock& clock, MonotonicTime deadline) {
  const ProcessMemory memory(target.image.pid, target.image.proc_root);
  auto snapshot = go::read_heap(DeadlineSource(memory, clock, deadline), target, {});
  const auto now = read_process_image(target.image.pid, target.image.proc_root);
  if (!now.has_value() || *now != target.image) {
    return fail(ErrorCode::kNotFound, "the process ended or runs another program by now");
  }
  return snapshot;
}

}  // namespace

LiveRead read_live(GoProcesses& processes, ProcessKey key, const Clock& clock, MonotonicTime deadline) {
  LiveRead read;
  const auto failed = [&](std::string reason, const std::string& detail) {
    read.failure = GoFailure{std::move(reason), printable(detail)};
    return std::move(read);
  };
  auto process = processes.add(key);
  for (int look = 0;; ++look) {
    if (!process.has_value()) return failed(reason_of(process.error()), process.error().message);
    read.process = *process;
    if (!read.process->target) return failed(read.process->reason, read.process->detail);
    auto snapshot = read_until(*read.process->target, clock, deadline);
    read.taken = clock.now();
    if (snapshot.has_value()) {
      if (auto useless = why_useless(*snapshot)) return failed(useless->reason, useless->detail);
      processes.set_layout(*read.process, snapshot->layout);
      read.snapshot = std::move(*snapshot);
      return read;
    }
    const bool may_be_replaced = snapshot.error().code == ErrorCode::kNotFound && look == 0;
    if (!may_be_replaced) return failed(reason_of(snapshot.error()), snapshot.error().message);
    process = processes.look_again(key);
  }
}

}  // namespace oomw
