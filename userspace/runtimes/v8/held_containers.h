// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtimes/memory_contents.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/containers.h"
#include "runtimes/v8/held_sizes.h"
#include "runtimes/v8/holder_names.h"
#include "runtimes/v8/names.h"

namespace oomw::v8 {

// Large Maps, Sets, arrays and tables of properties, with the name that holds them: a variable that closures share (as
// all of a module do that a function uses), or an attribute of one of few objects of a class. Sizes are estimates by
// samples of their entries. A container that has moved since the census is not found. Borrows all.
class HeldContainers {
 public:
  static constexpr std::size_t kMaxMeasured = 256;                    // names of containers, of those with most entries
  static constexpr std::size_t kMaxFound = 16u << 10, kMaxNames = 4;  // of each kind of place
  static constexpr std::uint64_t kMaxPlacesInside = 1u << 18;         // of all small containers

  // again: the same memory read once more. A name that both do not agree on was torn.
  HeldContainers(ConstructorNames& names, ConstructorNames& again, HeldSizes& sizes, const Constants& constants,
                 const NotedObjects& noted)
      : names_(names),
        first_(names, constants),
        second_(again, constants),
        sizes_(sizes),
        constants_(constants),
        noted_(noted) {}

  // Those of at least so many bytes; none has more than `most`.
  [[nodiscard]] std::vector<ContentFiller> find(double least, double most);

 private:
  struct Found {
    std::uint64_t tagged = 0;
    Container container;
    HolderPlace place;
  };

  void find_containers();
  void keep_largest();
  void find_owners();
  void find_holders();
  void add(std::uint64_t value, HolderPlace place);
  void add_inside(const Container& container, HolderPlace place);
  [[nodiscard]] std::optional<ContentFiller> measure(const Found& found, double least, double most);
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> entries_of(const Container& container, std::size_t most);
  [[nodiscard]] std::string description(HolderNames& names, const Container& container,
                                        const std::vector<std::vector<std::uint64_t>>& entries);

  ConstructorNames& names_;
  HolderNames first_, second_;
  HeldSizes& sizes_;
  const Constants& constants_;
  const NotedObjects& noted_;
  std::vector<Found> found_;
  std::array<std::unordered_map<std::uint64_t, std::size_t>, 6> names_of_;  // by kind of place: how many so far
  std::uint64_t places_inside_ = 0;
  std::unordered_map<std::uint64_t, HolderPlace> of_objects_;  // where an object stands that holds one
};

}  // namespace oomw::v8
