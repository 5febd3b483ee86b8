// SPDX-License-Identifier: Apache-2.0
// Text of /proc and cgroupfs: the kernel's, but with a comm and paths in it, and in a container
// the files may not be what they seem.

#include "base/proc_stat.h"
#include "base/result.h"
#include "fuzz/text_target.h"
#include "system/cgroup_fs.h"
#include "system/go_environment.h"
#include "system/memory_files.h"

void fuzz_text(std::string_view text) {
  (void)oomw::ProcStat(text).start_ticks();
  OOMW_CHECK(oomw::ProcStat(text).comm().size() <= text.size());
  (void)oomw::parse_limit(text);
  (void)oomw::reclaimable(text, oomw::CgroupVersion::kV1);
  (void)oomw::reclaimable(text, oomw::CgroupVersion::kV2);
  (void)oomw::find_value(text, "oom_kill");
  OOMW_CHECK(oomw::parse_stat(text, oomw::CgroupVersion::kV1).size() <= oomw::kMaxStatKeys);
  OOMW_CHECK(oomw::parse_stat(text, oomw::CgroupVersion::kV2).size() <= oomw::kMaxStatKeys);
  for (const auto version : {oomw::CgroupVersion::kV1, oomw::CgroupVersion::kV2}) {
    const auto path = oomw::CgroupFs::memory_path_in(text, version);
    if (!path) continue;
    OOMW_CHECK(path->starts_with('/') && path->find('\n') == std::string::npos);
    OOMW_CHECK(("/" + *path + "/").find("/../") == std::string::npos);
  }
  const oomw::GoConfig go = oomw::go_config_of(text);
  OOMW_CHECK(go.gogc_percent.value_or(0) >= -1);
  OOMW_CHECK(go.memory_limit_bytes.value_or(0) < 1ULL << 63);
}
