// SPDX-License-Identifier: Apache-2.0
#include "kernel/perf_tracepoint.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>

#include <bpf/bpf.h>

namespace oomw {

namespace {

std::optional<std::uint64_t> tracepoint_id(const std::string& tracepoint) {
  for (const char* tracefs : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    std::ifstream file(tracefs + ("/events/" + tracepoint) + "/id");
    if (std::uint64_t id = 0; file >> id) return id;
  }
  return std::nullopt;
}

}  // namespace

// libbpf's own link would disable the event when it is destroyed; this one is a plain fd like all others.
UniqueFd attach_by_perf(int program_fd, const std::string& tracepoint) {
  auto id = tracepoint_id(tracepoint);
  if (!id) {
    errno = ENOENT;
    return {};
  }
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = *id;
  attributes.sample_period = 1;
  // For all processes. The program runs on every CPU, whichever CPU the event names.
  auto opened = ::syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
  UniqueFd event(static_cast<int>(opened));
  if (!event.is_valid()) return {};
  return UniqueFd(bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, nullptr));
}

}  // namespace oomw
