// SPDX-License-Identifier: Apache-2.0
#include "kernel/resting_hook.h"

#include <cerrno>

#include <bpf/bpf.h>

#include "base/thread_setup.h"
#include "kernel/program_loader.h"

namespace oomw {

namespace {

// A tp_btf program (BPF_PROG_TYPE_TRACING) is bound to its tracepoint at load and takes no name; raw_tp needs one.
Result<bool> needs_name(int program_fd) {
  bpf_prog_info info{};
  std::uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program_fd, &info, &size) != 0) return fail_errno(errno, "BPF_OBJ_GET_INFO_BY_FD");
  return info.type == BPF_PROG_TYPE_RAW_TRACEPOINT;
}

}  // namespace

bool RestingHook::is_attached() const { return program_.link.is_valid(); }

void RestingHook::detach() {
  if (!is_attached()) return;
  detaching_ = std::jthread([link = std::exchange(program_.link, UniqueFd())]() mutable {
    set_up_thread("oomw-detach");
    link = UniqueFd();
  });
}

Result<> RestingHook::attach() {
  if (is_attached()) return {};
  if (detaching_.joinable()) detaching_.join();
  ASSIGN_OR_RETURN(const bool is_named, needs_name(program_.program.get()));
  UniqueFd link(bpf_raw_tracepoint_open(is_named ? tracepoint_.c_str() : nullptr, program_.program.get()));
  if (!link.is_valid()) return fail_errno(errno, "attach " + program_.name);
  program_.link = std::move(link);
  return {};
}

}  // namespace oomw
