// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace oomw {

enum class ObjectFile { kOom, kWatermark, kReclaim, kLifecycle, kGoHeap, kGrowth };

// The ELF of one compiled bpf/*.bpf.c, embedded at build; static storage.
[[nodiscard]] std::span<const std::byte> object_bytes(ObjectFile file);
[[nodiscard]] std::string_view to_string(ObjectFile file);

}  // namespace oomw
