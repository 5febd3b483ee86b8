// SPDX-License-Identifier: Apache-2.0
// A cgroup's path is chosen by whoever may make cgroups; a pod's is part of a root daemon's input.

#include "base/result.h"
#include "fuzz/text_target.h"
#include "system/container_path.h"

void fuzz_text(std::string_view path) {
  const auto identity = oomw::identity_from_path(path);
  if (!identity) return;
  // Whatever is named comes from the path, and an identity names something.
  OOMW_CHECK(!identity->id.empty() || !identity->pod_uid.empty() || !identity->unit.empty());
  OOMW_CHECK(path.find(identity->id) != std::string_view::npos);
  OOMW_CHECK(path.find(identity->unit) != std::string_view::npos);
  OOMW_CHECK(identity->id.find('/') == std::string::npos && identity->unit.find('/') == std::string::npos);
  OOMW_CHECK(identity->pod_uid.empty() || identity->pod_uid.size() == 36 || identity->pod_uid.size() == 32);
}
