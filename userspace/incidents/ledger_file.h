// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "model/kill_ledger.h"

namespace oomw {

// What must survive the daemon: kill counts by label set, and how many kills of each living
// cgroup were already counted (with the kernel's own count), so that kills while the daemon was
// down are noticed and counted once.
struct LedgerState {
  KillLedger ledger;
  std::string boot_id;                                       // cgroup ids are of this boot only
  std::map<std::uint64_t, std::uint64_t> counted_by_cgroup;  // cgroup id -> kernel oom_kill accounted for
};

// <data-dir>/kills.json, written atomically. A broken file is an error that names it; the daemon
// then sets it aside as kills.json.broken-<time> and starts from zero, loudly.
[[nodiscard]] Result<LedgerState> load_ledger(const std::string& data_dir);  // kNotFound on first run
[[nodiscard]] Result<> save_ledger(const std::string& data_dir, const LedgerState& state);

}  // namespace oomw
