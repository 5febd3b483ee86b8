// SPDX-License-Identifier: Apache-2.0
// What a pod's annotations ask of us. Whoever may write a pod writes them, so any value may come: what is
// not exactly one of ours is as good as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/memory_model.h"

namespace oomw {

inline constexpr std::string_view kCaptureWish = "oomwitness.io/capture";       // "true" | "false"
inline constexpr std::string_view kPprofPortWish = "oomwitness.io/pprof-port";  // "1" to "65535"
inline constexpr std::string_view kNotOptedIn = "not_opted_in", kOptedOut = "opted_out";

// Where the pod says that its pprof endpoint listens; none: it does not say.
[[nodiscard]] std::optional<std::uint16_t> wished_pprof_port(const PodSeen& pod);

// Why the living processes of this cgroup's container are left alone: kOptedOut, or with is_opt_in
// kNotOptedIn also where the API has not told of the pod yet; "" = they may be asked. What is in no pod
// has nobody to ask and is not meant by is_opt_in.
[[nodiscard]] std::string_view why_left_alone(CgroupId cgroup, const MemoryModel& model, bool is_opt_in);

// The same pod's port.
[[nodiscard]] std::optional<std::uint16_t> wished_pprof_port(CgroupId cgroup, const MemoryModel& model);

}  // namespace oomw
