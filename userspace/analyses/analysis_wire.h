// SPDX-License-Identifier: Apache-2.0
// A HeapAnalysed on its way from the reader.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "events/heap_analysed.h"

namespace oomw {

// Cuts lists and texts to the bounds of HeapAnalysed, and makes texts printable. Shares become 0 to 1.
void bound(HeapAnalysed& analysed);

// Bounded. kLimit: longer than a message of the reader even so.
[[nodiscard]] Result<std::string> encode_analysed(HeapAnalysed analysed);
// Bounded whatever it holds: the reader may be in the hands of what it read. kInvalid: no HeapAnalysed.
[[nodiscard]] Result<HeapAnalysed> decode_analysed(std::string_view text);

}  // namespace oomw
