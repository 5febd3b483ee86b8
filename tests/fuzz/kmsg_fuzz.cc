// SPDX-License-Identifier: Apache-2.0
// Records of /dev/kmsg: comm and cgroup names inside them are the workload's.

#include "base/result.h"
#include "base/text.h"
#include "fuzz/text_target.h"
#include "system/kmsg_backlog.h"

void fuzz_text(std::string_view text) {
  oomw::KmsgJoiner joiner;
  oomw::KmsgBacklogParser backlog;
  for (const std::string_view line : oomw::split(text, '\n')) {
    const auto message = oomw::message_of_record(line);
    // Both as a record and as a bare message, so that inputs need not find the header first.
    for (const std::string_view candidate : {line, message ? std::string_view(*message) : std::string_view()}) {
      const auto kill = joiner.on_message(candidate);
      if (!kill) continue;
      OOMW_CHECK(kill->killed.pid > 0);
      OOMW_CHECK(kill->killed.comm.size() <= 15);
      OOMW_CHECK(!kill->constraint || kill->constraint->pid == kill->killed.pid);
    }
    backlog.on_record(line);
    (void)oomw::parse_kmsg_memory(line);
    if (const auto constraint = oomw::parse_kmsg_constraint(line)) OOMW_CHECK(constraint->comm.size() <= 15);
  }
  for (const oomw::LoggedKill& kill : backlog.take().kills) OOMW_CHECK(kill.kill.killed.pid > 0);
}
