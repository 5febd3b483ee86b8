// SPDX-License-Identifier: Apache-2.0
// A HeapAnalysed on its way from the reader.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "events/heap_analysed.h"

namespace oomw {

// What does not fit a message loses its smallest entries, and a note says how many; kLimit: longer even so.
[[nodiscard]] Result<std::string> encode_analysed(HeapAnalysed analysed);
// Within the bounds of HeapAnalysed, every text printable: the reader may be in the hands of what it read. kInvalid: no
// HeapAnalysed.
[[nodiscard]] Result<HeapAnalysed> decode_analysed(std::string_view text);

}  // namespace oomw
