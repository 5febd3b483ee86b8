// SPDX-License-Identifier: Apache-2.0
#include "daemon/boot.h"

#include <cstdio>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"

namespace oomw {

std::string read_boot_id(const std::string& proc_root) {
  const Result<std::string> text = read_file(proc_root + "/sys/kernel/random/boot_id", 64);
  return text.has_value() ? std::string(trim(*text)) : std::string();
}

std::optional<LedgerState> restore_ledger(const std::string& data_dir, const std::string& boot_id, WallTime now) {
  Result<LedgerState> loaded = load_ledger(data_dir);
  if (loaded.has_value()) {
    // The ledger is of another boot: its cgroup ids mean nothing here, and it covers no kill of this boot.
    if (loaded->boot_id != boot_id || boot_id.empty()) {
      loaded->counted_by_cgroup.clear();
      loaded->heard = HeardUntil{};
      loaded->boot_id = boot_id;
    }
    return std::move(*loaded);
  }
  if (loaded.error().code == ErrorCode::kNotFound) return std::nullopt;
  const std::string path = data_dir + "/kills.json";
  const std::string aside = path + ".broken-" + std::to_string(now.ns / 1'000'000'000);
  const bool moved = loaded.error().code == ErrorCode::kInvalid && std::rename(path.c_str(), aside.c_str()) == 0;
  log::error("kill counters start from zero: {}{}", loaded.error().message, moved ? "; set aside as " + aside : "");
  return std::nullopt;
}

}  // namespace oomw
