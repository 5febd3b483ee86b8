// SPDX-License-Identifier: Apache-2.0
// The sinks that the configuration asks for.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/daemon_impl.h"
#include "sinks/sink_set.h"

namespace oomw {

void Daemon::Impl::start_sinks() {
  SinkSet set = make_sinks(config.sinks, {process_environment(), options.print_line, sinks_stopping, &clock});
  for (const std::string& problem : set.problems) log::error("sink is off: {}", problem);
  for (NamedDestination& sink : set.sinks) {
    log::info("incidents are delivered to sink {}", sink.name);
    outboxes.push_back(std::make_unique<Outbox>(std::move(sink.name), config.data_dir, config.sinks.budget,
                                                std::move(sink.destination), sinks_stopping, clock));
  }
  writer->set_held([this](const std::string& name) {
    return std::ranges::any_of(outboxes, [&](const auto& outbox) { return outbox->holds(name); });
  });
}

void Daemon::Impl::add_sink_stats(MetricsSnapshot& snapshot) const {
  for (const auto& outbox : outboxes) {
    const SinkStats stats = outbox->stats();
    SinkMetrics& metrics = snapshot.sinks[outbox->name()];
    metrics.sent = stats.sent;
    for (const auto& [reason, count] : stats.failed) metrics.failed[std::string(to_string(reason))] = count;
    for (const auto& [reason, count] : stats.dead_lettered) {
      metrics.dead_lettered[std::string(to_string(reason))] = count;
    }
    metrics.waiting = stats.waiting;
    if (stats.oldest_unsent) {
      metrics.oldest_unsent_seconds =
          std::max(0.0, static_cast<double>(clock.wall_now().ns - stats.oldest_unsent->ns) / 1e9);
    }
  }
}

}  // namespace oomw
