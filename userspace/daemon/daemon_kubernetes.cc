// SPDX-License-Identifier: Apache-2.0
// The daemon's use of the Kubernetes API.
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "daemon/daemon_impl.h"
#include "model/pod_annotations.h"

namespace oomw {

void Daemon::Impl::start_pods() {
  Result<std::optional<ApiTarget>> target = find_api(config.kubernetes, process_environment());
  if (!target.has_value()) return log::warn("Kubernetes API is not asked: {}", target.error().message);
  if (!*target) return;
  log::info("pods of node {} from {}", (*target)->node, (*target)->server);
  const auto post = [this](std::vector<Event> events) {
    return loop->post([this, events = std::move(events)] {
      for (const Event& event : events) queue.push(event);
    });
  };
  // An API that cannot be reached shows at the next scrape, not 5 s later; with a full queue, 5 s later.
  const auto changed = [this] { (void)loop->post([this] { publisher->request(); }); };
  pods = std::make_unique<PodSource>(std::move(**target), config.kubernetes.max_pods, clock, post, changed);
}

// The owner of a pod may forbid us to read its living processes. The kernel's reading of an exiting process costs the
// pod nothing, so it is still done.
void Daemon::Impl::apply_annotations(CaptureOrder& order) const {
  const CgroupId leaf = order.crossing.leaf_cgroup ? order.crossing.leaf_cgroup : order.crossing.cgroup;
  const CaptureReason why = why_left_alone(leaf, pipeline->model(), config.kubernetes.capture_opt_in);
  if (why == CaptureReason::kNone) return;
  if (order.decision.action == TriggerAction::kPrepare) order.decision.action = TriggerAction::kNone;
  if (order.decision.action != TriggerAction::kCapture) return;
  order.decision.action = TriggerAction::kSkip;
  order.decision.reason = why;
}

void Daemon::Impl::say_findings() {
  for (const StatusFinding& finding : pipeline->take_findings()) {
    publisher->request();
    const std::string text = printable(finding.text);
    if (finding.is_withdrawn) {
      log::info("Kubernetes and the kernel agree after all ({}): {}", finding.kind, text);
    } else {
      log::warn("Kubernetes and the kernel disagree ({}): {}", finding.kind, text);
    }
  }
}

void Daemon::Impl::add_pod_stats(MetricsSnapshot& snapshot) const {
  PodSourceStats stats = pods->stats();
  KubernetesMetrics& metrics = snapshot.kubernetes.emplace();
  metrics.state = std::move(stats.state);
  if (stats.last_contact) metrics.last_contact_seconds = to_seconds(clock.now() - *stats.last_contact);
  metrics.lists = stats.lists;
  metrics.watches = stats.watches;
  metrics.pods = stats.pods;
  metrics.errors = std::move(stats.errors);
  add_event_counts(metrics.events);
  metrics.disagreements = pipeline->disagreements();
  metrics.disagreements_withdrawn = pipeline->disagreements_withdrawn();
}

}  // namespace oomw
