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

// The state that must survive the daemon: kill counts by label set, how many kills of each living cgroup were
// already counted (with the kernel's own count), and until when the run counted, so that kills while no daemon
// ran are noticed and counted once.
struct LedgerState {
  KillLedger ledger;
  std::string boot_id;                                       // cgroup ids are valid for this boot only
  std::map<std::uint64_t, std::uint64_t> counted_by_cgroup;  // cgroup id -> kernel oom_kill accounted for
  std::optional<HeardUntil> heard;  // of this boot only; nullopt: an older version wrote the file
};

// <data-dir>/kills.json, written atomically. A broken file is an error that names it; the daemon
// then renames it to kills.json.broken-<time>, logs that and starts from zero.
[[nodiscard]] Result<LedgerState> load_ledger(const std::string& data_dir);  // kNotFound on first run
[[nodiscard]] Result<> save_ledger(const std::string& data_dir, const LedgerState& state);

}  // namespace oomw
