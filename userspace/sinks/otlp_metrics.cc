// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_metrics.h"

#include <utility>

namespace oomw {
namespace {

// Several containers as one request.
std::string joined(std::string body, std::string next, bool is_json) {
  if (is_json && !body.empty()) body += ',';
  return std::move(body) + std::move(next);
}

}  // namespace

OtlpMetrics::OtlpMetrics(bool is_json, Post post, OtlpMapping mapping, ReadProcess read_process,
                         std::shared_ptr<std::atomic<bool>> stopping, const Clock& clock, Nanoseconds interval)
    : is_json_(is_json),
      post_(std::move(post)),
      mapping_(std::move(mapping)),
      read_process_(std::move(read_process)),
      stopping_(std::move(stopping)),
      start_(clock.wall_now()),
      interval_(interval) {}

OtlpMetrics::~OtlpMetrics() {
  thread_.close();
  *stopping_ = true;
}

void OtlpMetrics::offer(MemoryReport report) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_) ++stats_.reports_left_out;
    stats_.containers_left_out += report.containers_left_out;
    stats_.processes_left_out += report.processes_left_out;
    waiting_ = std::move(report);
  }
  (void)thread_.post([this] { send_newest(); });  // no room: the task that waits will send it
}

OtlpMetricsStats OtlpMetrics::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void OtlpMetrics::send_newest() {
  std::optional<MemoryReport> report;
  {
    const std::lock_guard lock(mutex_);
    report.swap(waiting_);
  }
  if (!report) return;
  std::string body;
  for (const ContainerUsage& reading : report->containers) {
    body = joined(std::move(body), encoded(reading), is_json_);
    if (body.size() < kMaxRequest) continue;
    if (!post(std::exchange(body, ""))) return;
  }
  if (!body.empty()) (void)post(std::move(body));
}

std::string OtlpMetrics::encoded(const ContainerUsage& reading) const {
  std::vector<ProcessUsage> processes;
  for (const ContainerUsage::Process& process : reading.processes) {
    if (auto usage = read_process_(process)) processes.push_back(std::move(*usage));
  }
  const OtlpContainerMetrics metrics = otlp_metrics_of(reading, processes, start_, mapping_);
  return is_json_ ? to_otlp_json(metrics) : to_otlp_protobuf(metrics);
}

bool OtlpMetrics::post(std::string body) {
  if (is_json_) body = R"({"resourceMetrics":[)" + std::move(body) + "]}";
  const Delivery delivery = post_(body);
  if (*stopping_) return false;
  const std::lock_guard lock(mutex_);
  ++stats_.requests[delivery.reason];
  return delivery.outcome == Delivery::Outcome::kSent;
}

}  // namespace oomw
