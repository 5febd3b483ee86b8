// SPDX-License-Identifier: Apache-2.0
// A process's answer on the port of a Collector's own metrics, and on that of Go programs; and
// function names, which a binary makes up.

#include "base/result.h"
#include "captures/collector_metrics.h"
#include "captures/memstats_text.h"
#include "facts/collector_components.h"
#include "fuzz/text_target.h"

void fuzz_text(std::string_view text) {
  if (const auto figures = oomw::collector_figures_of(text)) {
    OOMW_CHECK(figures->queue_sizes.size() <= oomw::kMaxCollectorIds);
    OOMW_CHECK(figures->receiver_refused.size() <= oomw::kMaxCollectorIds);
    for (const auto& [id, amount] : figures->queue_sizes) {
      OOMW_CHECK(!id.empty() && id.find('\n') == std::string::npos);
      OOMW_CHECK(amount <= 1'000'000'000'000'000'000u);
    }
  }
  (void)oomw::collector_cpu_seconds(text);
  const oomw::MemStats stats = oomw::memstats_of(text);
  OOMW_CHECK(stats.empty() || stats.at("HeapReleased") <= stats.at("HeapIdle"));
  for (const auto& [name, bytes] : stats) OOMW_CHECK(bytes < 1ull << 53);
  if (const auto component = oomw::component_of_function(text)) {
    OOMW_CHECK(!component->kind.empty() && component->module.size() <= 1024);
  }
}
