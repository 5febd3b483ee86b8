// SPDX-License-Identifier: Apache-2.0
// Bytes become types once, here: every cast and bounds check of the kernel boundary lives in
// decode.cc, and tests/fuzz/decode_fuzz.cc feeds it arbitrary bytes.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "events/event.h"

namespace oomw {

// One ring buffer record (struct oomw_*) to one event. kInvalid: short, unknown type, or a wrong size field.
// Nothing is read beyond `record`.
[[nodiscard]] Result<Event> decode(std::span<const std::byte> record);

}  // namespace oomw
