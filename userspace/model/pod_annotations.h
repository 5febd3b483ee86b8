// SPDX-License-Identifier: Apache-2.0
// Settings in a pod's annotations. Anyone who may write a pod may write them, so any value is possible: a setting that
// is not exactly a known value counts as absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/memory_model.h"

namespace oomw {

inline constexpr std::string_view kCaptureAnnotation = "oomwitness.io/capture";       // "true" | "false"
inline constexpr std::string_view kPprofPortAnnotation = "oomwitness.io/pprof-port";  // "1" to "65535"

// OpenTelemetry's convention: what its users say about their service, as attributes of its telemetry.
inline constexpr std::string_view kResourceAnnotations = "resource.opentelemetry.io/";

// The pod's pprof port; none: the pod does not name one.
[[nodiscard]] std::optional<std::uint16_t> annotated_pprof_port(const PodSeen& pod);

// The pod's annotations of kResourceAnnotations, without that prefix. Names and values are as hostile as any.
[[nodiscard]] std::map<std::string, std::string> resource_attributes_of(const PodSeen& pod);

// Why the living processes of this cgroup's container must not be read: kOptedOut, or with is_opt_in kNotOptedIn, also
// while the API has not reported the pod yet; kNone: they may be read. is_opt_in applies to pods only.
[[nodiscard]] CaptureReason why_left_alone(CgroupId cgroup, const MemoryModel& model, bool is_opt_in);

// The same for the pod of this cgroup.
[[nodiscard]] std::optional<std::uint16_t> annotated_pprof_port(CgroupId cgroup, const MemoryModel& model);

}  // namespace oomw
