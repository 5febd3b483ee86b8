// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtimes/v8/constants.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {

// Where a value stands.
enum class HolderKind : std::uint8_t {
  kVariable,  // of a context: a variable that closures share
  kField,     // of an object
  kOutside,   // of the table of those of an object's properties that lie outside of it
};

struct NotedValue {
  std::uint64_t holder = 0, value = 0;  // tagged
  std::uint32_t shape = 0, word = 0;    // the holder's shape; which of its words
  HolderKind kind = HolderKind::kField;
};

// What the census came across that names and large containers are found by: what may be a large Map, Set, array or
// table, and the values that stand in variables that closures share and in the few objects that a class has. So nothing
// is read twice but what is found. Bounded.
class NotedObjects {
 public:
  static constexpr std::size_t kMaxScopes = 32u << 10, kMaxContainers = 256u << 10, kMaxValues = 256u << 10;
  static constexpr std::uint64_t kContextsOfScope = 2, kFewObjects = 32, kMaxWords = 256;
  static constexpr std::uint64_t kManyEntries = 64;  // of a container

  // object: its words, as far as they are in the block.
  void note(const Constants& constants, const Shape& shape, std::uint64_t tagged,
            std::span<const std::uint64_t> object);
  // All objects were noted.
  void end();

  [[nodiscard]] const std::vector<NotedValue>& values() const { return values_; }
  [[nodiscard]] bool may_be_container(std::uint64_t tagged) const;
  // Whether all objects of that shape were noted.
  [[nodiscard]] bool are_few(std::uint32_t shape) const { return shape < seen_.size() && seen_[shape] <= kFewObjects; }

 private:
  void add(std::span<const std::uint64_t> object, std::size_t from, NotedValue value);

  std::vector<NotedValue> values_;
  std::unordered_map<std::uint64_t, std::uint64_t> contexts_;  // by what describes them: how many
  std::vector<std::uint8_t> seen_;                             // objects by shape, one more than few at most
  std::vector<std::uint64_t> containers_;                      // in order after end()
};

}  // namespace oomw::v8
