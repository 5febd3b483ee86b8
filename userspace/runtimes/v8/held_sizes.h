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
// of ArrayBuffers, where it was made, of errors, down to a few steps. A lower bound: objects of other classes are not
// followed, and what two samples reach belongs to neither. Borrows all.
class HeldSizes {
 public:
  static constexpr std::size_t kMaxNodes = 96, kMaxSamples = 32, kMaxWords = 64, kWordsOfEntry = 16;
  static constexpr int kMaxDepth = 5, kMaxDepthOfEntry = 12;

  HeldSizes(CachedReader& memory, const AddressSpace& space, const Constants& constants, const Shapes& shapes,
            ConstructorNames& names)
      : memory_(memory), space_(space), constants_(constants), shapes_(shapes), names_(names) {}

  // of_plain: the samples are plain objects, whose number has those in it that they hold of the same shape.
  [[nodiscard]] double average(std::span<const std::uint64_t> samples, bool of_plain);
  // Of the entries of a container, each the tagged words that it consists of: with the objects themselves, whatever
  // their class, and the variables that closures share. Of a long array inside some elements stand for all.
  [[nodiscard]] double average_of_entries(std::span<const std::vector<std::uint64_t>> entries);

 private:
  struct Node {
    std::uint64_t tagged = 0;
    int depth = 0;
    double weight = 1;  // for so many like it
  };
  struct Reached {
    std::size_t sample = 0;
    double bytes = 0;
    bool is_shared = false;
  };

  enum class Mode { kClass, kPlain, kEntry };

  void follow(std::uint64_t address, std::size_t sample);
  void follow_all(std::vector<Node>& open, std::size_t sample);
  [[nodiscard]] double average_of(std::size_t samples) const;
  void visit(const Node& node, std::size_t sample, std::vector<Node>& open);
  void open_children(std::uint64_t address, std::uint64_t bytes, std::uint64_t from, const Node& child, bool may_sample,
                     std::vector<Node>& open);
  [[nodiscard]] bool may_count(const Shape& shape, Nature nature);
  [[nodiscard]] bool may_lead_on(const Shape& shape) const;
  [[nodiscard]] bool may_follow(const Shape& shape);
  [[nodiscard]] std::uint64_t memory_of_buffer(std::uint64_t address);

  CachedReader& memory_;
  const AddressSpace& space_;
  const Constants& constants_;
  const Shapes& shapes_;
  ConstructorNames& names_;
  std::map<std::uint64_t, Reached> reached_;  // by tagged address
  Mode mode_ = Mode::kClass;
  std::uint64_t own_map_ = 0;  // the shape of the sample at hand
};

}  // namespace oomw::v8
