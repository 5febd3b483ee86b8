// SPDX-License-Identifier: Apache-2.0
#include "model/pod_annotations.h"

#include <limits>

#include "base/text.h"

namespace oomw {
namespace {

std::string_view annotation_of(const PodSeen& pod, std::string_view key) {
  const auto found = pod.annotations.find(std::string(key));
  return found == pod.annotations.end() ? std::string_view() : std::string_view(found->second);
}

const ContainerIdentity* identity_of(CgroupId cgroup, const MemoryModel& model) {
  const CgroupState* container = model.container_of(cgroup);
  return container == nullptr ? nullptr : &container->identity;
}

}  // namespace

std::optional<std::uint16_t> annotated_pprof_port(const PodSeen& pod) {
  constexpr std::size_t kMostDigits = 5;
  const std::string_view text = annotation_of(pod, kPprofPortAnnotation);
  if (text.size() > kMostDigits) return std::nullopt;
  const auto port = parse_u64(text);
  if (!port || *port == 0 || *port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

std::optional<std::uint16_t> annotated_pprof_port(CgroupId cgroup, const MemoryModel& model) {
  const ContainerIdentity* identity = identity_of(cgroup, model);
  const PodSeen* pod = identity == nullptr ? nullptr : model.pods().find_pod(*identity);
  return pod == nullptr ? std::nullopt : annotated_pprof_port(*pod);
}

std::map<std::string, std::string> resource_attributes_of(const PodSeen& pod) {
  std::map<std::string, std::string> attributes;
  for (const auto& [key, value] : pod.annotations) {
    if (key.starts_with(kResourceAnnotations)) attributes.emplace(key.substr(kResourceAnnotations.size()), value);
  }
  return attributes;
}

CaptureReason why_left_alone(CgroupId cgroup, const MemoryModel& model, bool is_opt_in) {
  const ContainerIdentity* identity = identity_of(cgroup, model);
  if (identity == nullptr) return CaptureReason::kNone;
  const PodSeen* pod = model.pods().find_pod(*identity);
  const std::string_view value = pod == nullptr ? std::string_view() : annotation_of(*pod, kCaptureAnnotation);
  if (value == "false") return CaptureReason::kOptedOut;
  const bool is_in_pod = pod != nullptr || !identity->pod_uid.empty();
  return is_opt_in && is_in_pod && value != "true" ? CaptureReason::kNotOptedIn : CaptureReason::kNone;
}

}  // namespace oomw
