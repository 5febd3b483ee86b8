// SPDX-License-Identifier: Apache-2.0
// Buckets as a walk at the kill recorded them (include/oomwitness/goheap.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "runtimes/go/bucket_decoder.h"

namespace oomw::go {

// Feeds a decoder from whole records in the order of the list; call once for each chunk. The bytes were laid out by our
// own programs, the values in them by the workload, and neither is trusted: a record that cannot be one is counted as
// rejected_shape and ends the chunk, since its length cannot be trusted (kInvalid). A full decoder is kLimit. Records
// before that are kept either way.
[[nodiscard]] Result<> decode_bucket_records(std::span<const std::byte> records, std::uint64_t text_address,
                                             BucketDecoder& decoder);

}  // namespace oomw::go
