// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/jvm/jvm.h"

namespace oomw::jvm {

// A collection of the JDK that a static field of the program leads to.
struct StaticHolder {
  std::string held_as;        // "`Outbox.PENDING`", "`PriceBoard.INSTANCE.ticks`"; printable
  std::string type;           // "java.util.concurrent.LinkedBlockingQueue"
  std::uint64_t entries = 0;  // as it counts them itself
};

struct StaticHolders {
  static constexpr std::size_t kMaxShown = 3, kMaxClasses = 1'000, kMaxObjects = 20'000;
  static constexpr std::uint64_t kFewestEntries = 1'000;
};

// Collections with many entries that static fields of these classes refer to, directly or by fields of at most two
// objects of the program's own between; the largest first. What a collection holds is not followed. again: the same
// memory read once more. Objects move: what both do not agree on was something else meanwhile.
[[nodiscard]] Result<std::vector<StaticHolder>> read_static_holders(const Jvm& jvm, const Jvm& again,
                                                                    const std::vector<std::uint64_t>& own_classes);

}  // namespace oomw::jvm
