// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "store/ledger_file.h"

namespace oomw {

// "" when it cannot be read.
[[nodiscard]] std::string read_boot_id(const std::string& proc_root);

// The state that earlier runs left in data_dir; nullopt on the first run. Cgroup ids are of one boot: after a reboot
// the counts stay, the per-cgroup part is dropped, and no kill counts as handled yet. A broken file is set aside as
// kills.json.broken-<seconds>, with an error in the log, and counting starts anew.
[[nodiscard]] std::optional<LedgerState> restore_ledger(const std::string& data_dir, const std::string& boot_id,
                                                        WallTime now);

}  // namespace oomw
