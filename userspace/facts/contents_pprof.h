// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "events/contents_file.h"
#include "events/heap_analysed.h"
#include "pprof/profile.h"

namespace oomw {

// What fills a process's memory as a file for pprof, so that whatever shows, draws or compares profiles serves programs
// without heap profiles, too. Stacks from the root: the part of the memory, the runtime, then a type or a size of
// blocks; for a holder, what it is and the name that holds it. Sample types:
//   - contents/bytes: the parts, and in them the types or sizes; together the memory that was read;
//   - objects/count: of the same types and sizes;
//   - held/bytes: what each holder holds. It is among the contents, and one holder may be within another.
// Texts become printable. At most kMaxContents of each list count. Pure.
inline constexpr std::size_t kMaxContents = 256;
inline constexpr char kContentsType[] = "contents";
inline constexpr char kHeldType[] = "held";  // bytes that are kept by a holder, also in a Go program's holders.pb.gz
[[nodiscard]] pprof::Profile contents_profile(const HeapAnalysed& found, WallTime taken);

}  // namespace oomw
