// SPDX-License-Identifier: Apache-2.0
// What a process answers on the port where a Collector tells of itself; and function names, which a
// binary makes up.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "captures/collector_metrics.h"
#include "incidents/collector_components.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto figures = oomw::collector_figures_of(text)) {
    OOMW_CHECK(figures->queue_sizes.size() <= oomw::kMaxCollectorIds);
    OOMW_CHECK(figures->receiver_refused.size() <= oomw::kMaxCollectorIds);
    for (const auto& [id, amount] : figures->queue_sizes) {
      OOMW_CHECK(!id.empty() && id.find('\n') == std::string::npos);
      OOMW_CHECK(amount <= 1'000'000'000'000'000'000u);
    }
  }
  if (const auto component = oomw::component_of_function(text)) {
    OOMW_CHECK(!component->kind.empty() && component->module.size() <= 1024);
  }
  return 0;
}
