// SPDX-License-Identifier: Apache-2.0
// A cgroup's path is chosen by whoever may make cgroups; a pod's is part of a root daemon's input.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "fuzz/cost_oracle.h"
#include "system/container_path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size);
  const std::string_view path(reinterpret_cast<const char*>(data), size);
  const auto identity = oomw::identity_from_path(path);
  if (!identity) return 0;
  // Whatever is named comes from the path, and an identity names something.
  OOMW_CHECK(!identity->id.empty() || !identity->pod_uid.empty() || !identity->unit.empty());
  OOMW_CHECK(path.find(identity->id) != std::string_view::npos);
  OOMW_CHECK(path.find(identity->unit) != std::string_view::npos);
  OOMW_CHECK(identity->id.find('/') == std::string::npos && identity->unit.find('/') == std::string::npos);
  OOMW_CHECK(identity->pod_uid.empty() || identity->pod_uid.size() == 36 || identity->pod_uid.size() == 32);
  return 0;
}
