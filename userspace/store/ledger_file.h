// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/heard_kills.h"
#include "model/kill_ledger.h"

namespace oomw {

// What must survive the daemon: kill counts by label set, how many kills of each living cgroup were
// already counted (with the kernel's own count), and how far the run came, so that kills while no
// daemon ran are noticed and counted once.
struct LedgerState {
  KillLedger ledger;
  std::string boot_id;                                       // cgroup ids are of this boot only
  std::map<std::uint64_t, std::uint64_t> counted_by_cgroup;  // cgroup id -> kernel oom_kill accounted for
  std::optional<HeardUntil> heard;                           // of this boot only; none: an older version wrote it
};

// <data-dir>/kills.json, written atomically. A broken file is an error that names it; the daemon
// then sets it aside as kills.json.broken-<time> and starts from zero, loudly.
[[nodiscard]] Result<LedgerState> load_ledger(const std::string& data_dir);  // kNotFound on first run
[[nodiscard]] Result<> save_ledger(const std::string& data_dir, const LedgerState& state);

}  // namespace oomw
