// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/names.h"

namespace oomw::v8 {

struct NamedShape {
  const ShapeAmount* amount = nullptr;
  std::string name;
};

// Names for the shapes with the most bytes. The process runs on while it is read: a name that two readings do not agree
// on was torn, and its objects are "(object)". Borrows all.
class ShapeNames {
 public:
  static constexpr std::size_t kMaxShapes = 1024;
  // Of an object's shape: a fresh Node has a thousand that are less, whose names would be half of what is read.
  static constexpr std::uint64_t kWorthNaming = 1024;

  ShapeNames(const AddressSpace& space, const Constants& constants, const Shapes& shapes)
      : reader_(space, kMaxBytes, kBlock),
        again_(space, kMaxBytes, kBlock),
        first_(reader_, constants, shapes),
        second_(again_, constants, shapes),
        constants_(constants),
        shapes_(shapes) {}

  // The most bytes first; borrows the amounts.
  [[nodiscard]] std::vector<NamedShape> of(std::span<const ShapeAmount> amounts);

  [[nodiscard]] CachedReader& memory() { return reader_; }
  [[nodiscard]] ConstructorNames& constructors() { return first_; }
  [[nodiscard]] ConstructorNames& constructors_again() { return second_; }
  [[nodiscard]] bool is_used_up() const { return reader_.is_used_up() || again_.is_used_up(); }

 private:
  static constexpr std::uint64_t kMaxBytes = 96u << 20;
  static constexpr std::size_t kBlock = 1024;  // maps, functions and their names lie apart

  CachedReader reader_, again_;
  ConstructorNames first_, second_;
  const Constants& constants_;
  const Shapes& shapes_;
};

}  // namespace oomw::v8
