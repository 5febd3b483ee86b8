// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtimes/v8/constants.h"
#include "runtimes/v8/names.h"

namespace oomw::v8 {

// A Map, Set, array or an object whose properties are a table. What it holds lies in a table of its own, whose numbers
// must add up.
struct Container {
  std::string_view kind;  // "Map", "Set", "array", "object"
  std::uint64_t count = 0;
  std::uint64_t places = 0;                    // in which entries may stand, some of them empty
  std::uint64_t bytes = 0;                     // of the table
  std::uint64_t entries = 0, entry_bytes = 8;  // the first one's address
  bool has_keys = false;                       // a value stands behind each
  bool is_of_numbers = false;                  // nothing in it refers to anything
};

// tagged: any word. nullopt: no container, one without a sound table, or an empty one.
[[nodiscard]] std::optional<Container> container_at(ConstructorNames& memory, const Constants& constants,
                                                    std::uint64_t tagged);
// The words of an entry, the value first.
[[nodiscard]] std::vector<std::uint64_t> entry_of(ConstructorNames& memory, const Container& container,
                                                  std::uint64_t place);

}  // namespace oomw::v8
