// SPDX-License-Identifier: Apache-2.0
#include "sinks/kubernetes_event.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bounded_curl.h"
#include "base/text.h"
#include "kubernetes/api_request.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxWhy = 256, kMaxAnswer = 400, kMaxAction = 160;
constexpr std::size_t kMaxMessage = 960;  // an Event takes 1,024 bytes, and a few more are lost when it is escaped
constexpr Nanoseconds kPostTimeout = std::chrono::seconds(10);

std::string limit_text(const Incident& incident) {
  if (incident.scope == "node") return "the node was out of memory";
  const std::string size = incident.limit_bytes ? " of " + human_bytes(*incident.limit_bytes) : "";
  if (incident.scope == "pod") {
    return "the limit" + size + " of its pod" +
           (incident.limit_shares.size() > 1 ? ", which its containers share," : "") + " was used up";
  }
  return (incident.scope == "ancestor" ? "a limit" + size + " above it was used up"
                                       : "its limit" + size + " was used up");
}

// A reader of a namespace's Events sees pods come and go; the workload stays.
std::string workload_text(const Incident& incident) {
  const std::string workload = incident.pod ? to_text(incident.pod->workload) : "";
  return workload.empty() ? "" : " of " + printable(workload, kMaxWhy);
}

std::string answer_text(const Incident& incident) {
  if (incident.answer) {
    const std::string& action = incident.answer->action;
    return " " + printable(shortened(incident.answer->sentence, kMaxAnswer), kMaxAnswer) +
           (action.empty() ? "" : " What to do: " + printable(action, kMaxAction)) +
           (incident.answer->again.empty() ? "" : " " + printable(incident.answer->again, kMaxAction));
  }
  return incident.verdict ? fmt::format(" Likely cause: {}.", incident.verdict->cause) : "";
}

std::string evidence_text(const Incident& incident, const std::string& directory) {
  const std::string node = incident.pod && !incident.pod->node.empty() ? " on node " + incident.pod->node : "";
  const auto coverage =
      incident.coverage_ratio ? fmt::format(" (heap profile covers {:.0f} %)", *incident.coverage_ratio * 100) : "";
  return fmt::format(" Evidence{}{}: {}, or `oomwitness show {}`.", coverage, node, directory, incident.id);
}

}  // namespace

std::optional<PodEvent> pod_event_of(const Incident& incident, const std::string& directory,
                                     const std::string& api_uid) {
  const ContainerIdentity& who = incident.container;
  if (who.pod_name.empty() || who.pod_namespace.empty()) return std::nullopt;
  const std::string comm = incident.victims.empty() ? "a process" : printable(incident.victims.front().comm, 32);
  const std::int32_t pid = incident.victims.empty() ? 0 : incident.victims.front().process.pid;
  PodEvent event;
  event.id = incident.id;
  event.time = incident.time;
  event.name_space = who.pod_namespace;
  event.pod = who.pod_name;
  event.pod_uid = api_uid.empty() ? who.pod_uid : api_uid;
  event.container = who.name;
  const std::string head = fmt::format("The kernel OOM-killed {} (pid {}){} because {}.", comm, pid,
                                       workload_text(incident), limit_text(incident));
  const std::string evidence = evidence_text(incident, directory);
  // A message that is too long is cut at its end, which names the evidence: the answer gives way instead.
  const std::size_t taken = std::min(head.size() + evidence.size(), kMaxMessage);
  const std::string answer = answer_text(incident);
  event.message = head + (answer.empty() ? "" : " " + printable(answer.substr(1), kMaxMessage - taken)) + evidence;
  return event;
}

Delivery event_delivery_of(const ApiOutcome& outcome) {
  switch (outcome.error) {
    case ApiError::kNone:
    case ApiError::kConflict:
      return Delivery::sent();
    case ApiError::kForbidden:
      return Delivery::refused(DeliveryReason::kForbidden, outcome.detail);
    case ApiError::kRedirect:
      return Delivery::refused(DeliveryReason::kRedirect, outcome.detail);
    case ApiError::kHttp:  // 403, 404: its namespace goes or is gone; 422: the server rejects it
      return Delivery::refused(DeliveryReason::kRefused, outcome.detail);
    case ApiError::kConnect:
      return Delivery::retry(DeliveryReason::kConnect, outcome.detail);
    case ApiError::kTls:
      return Delivery::retry(DeliveryReason::kTls, outcome.detail);
    case ApiError::kTimeout:
      return Delivery::retry(DeliveryReason::kTimeout, outcome.detail);
    case ApiError::kCut:
      return Delivery::retry(DeliveryReason::kCut, outcome.detail);
    case ApiError::kToken:
      return Delivery::retry(DeliveryReason::kSetup, outcome.detail);
    case ApiError::kUnauthorized:
      return Delivery::retry(DeliveryReason::kUnauthorized, outcome.detail);
    case ApiError::kRateLimited:
      return Delivery::retry(DeliveryReason::kRateLimited, outcome.detail, outcome.retry_after);
    case ApiError::kServer:
      return Delivery::retry(DeliveryReason::kUnavailable, outcome.detail, outcome.retry_after);
    default:
      return Delivery::retry(DeliveryReason::kBadAnswer, outcome.detail);
  }
}

KubernetesEvents::KubernetesEvents(ApiTarget target, FindUid find_uid,
                                   std::shared_ptr<const std::atomic<bool>> stopping, const Clock& clock)
    : target_(std::move(target)),
      find_uid_(std::move(find_uid)),
      stopping_(std::move(stopping)),
      clock_(clock),
      token_(target_.token_file) {}

ApiOutcome KubernetesEvents::post(const PodEvent& event) {
  const std::string json = event_json(event, target_.node);
  if (json.empty()) return {ApiError::kHttp, "no name that the API would take", {}};
  const Result<std::string> bearer = token_.get(clock_.now());
  if (!bearer) return {ApiError::kToken, bearer.error().message, {}};
  ApiRequest request(target_, *bearer, {event_path(event), json, kPostTimeout, {}, {}, {}});
  end_requests_when(*stopping_, request.handle());
  return request.perform();
}

Delivery KubernetesEvents::deliver(const StoredIncident& stored, unsigned) {
  const auto event = pod_event_of(stored.incident, stored.directory, find_uid_ ? find_uid_(stored.incident.id) : "");
  if (!event) return Delivery::nothing();
  (void)pace_.take(clock_.now());
  const ApiOutcome outcome = post(*event);
  if (outcome.error == ApiError::kUnauthorized) token_.forget();
  if (outcome.error == ApiError::kForbidden) paused_until_ = clock_.now() + kForbiddenPause;
  return event_delivery_of(outcome);
}

Nanoseconds KubernetesEvents::pause() const {
  return std::max({Nanoseconds(0), pace_.next() - clock_.now(), paused_until_ - clock_.now()});
}

}  // namespace oomw
