// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtimes/jvm/jvm.h"

namespace oomw::jvm {

enum class Generation { kYoung, kOld, kHumongous };

// A piece of the heap that is filled with objects from its start to its end, one behind the other.
struct HeapSpace {
  AddressSpan objects;
  Generation generation = Generation::kOld;
  // One large object that ends in the spaces behind it (G1).
  [[nodiscard]] bool may_reach_out() const { return generation == Generation::kHumongous; }
};

// Those of G1, Parallel and Serial; kUnsupported for other collectors.
[[nodiscard]] Result<std::vector<HeapSpace>> read_heap_spaces(const Jvm& jvm);

}  // namespace oomw::jvm
