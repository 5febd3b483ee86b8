// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/names.h"

namespace oomw::v8 {

// What one object holds beside itself, on average over samples: strings, numbers, arrays, plain objects and the memory
// of ArrayBuffers, down to a few steps. A lower bound: objects of other classes are not followed, and what two samples
// reach belongs to neither. Borrows all.
class HeldSizes {
 public:
  static constexpr std::size_t kMaxNodes = 96, kMaxSamples = 32, kMaxWords = 64;
  static constexpr int kMaxDepth = 5;

  HeldSizes(CachedReader& memory, const AddressSpace& space, const Constants& constants, const Shapes& shapes,
            ConstructorNames& names)
      : memory_(memory), space_(space), constants_(constants), shapes_(shapes), names_(names) {}

  // of_plain: the samples are plain objects, whose number has those in it that they hold.
  [[nodiscard]] double average(std::span<const std::uint64_t> samples, bool of_plain);

 private:
  struct Node {
    std::uint64_t tagged = 0;
    int depth = 0;
  };
  struct Reached {
    std::size_t sample = 0;
    std::uint64_t bytes = 0;
    bool is_shared = false;
  };

  void follow(std::uint64_t address, std::size_t sample);
  void visit(const Node& node, std::size_t sample, std::vector<Node>& open);
  void open_children(std::uint64_t address, std::uint64_t bytes, std::uint64_t from, int depth,
                     std::vector<Node>& open);
  [[nodiscard]] bool may_follow(const Shape& shape);
  [[nodiscard]] std::uint64_t memory_of_buffer(std::uint64_t address);

  CachedReader& memory_;
  const AddressSpace& space_;
  const Constants& constants_;
  const Shapes& shapes_;
  ConstructorNames& names_;
  std::map<std::uint64_t, Reached> reached_;  // by tagged address
  bool is_of_plain_ = false;
};

}  // namespace oomw::v8
