// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtimes/cpython/objects.h"

namespace oomw::cpython {

struct ContainerSize {
  std::uint64_t bytes = 0;
  std::string element;       // the type that most elements have; "" if there is no such
  bool is_measured = false;  // enough elements were sound
};

// Estimates what would be free without a container: itself and what only it refers to. Of elements at random places
// the bytes are added up with everything they refer to, each divided by how many refer to it.
class SizeEstimate {
 public:
  static constexpr int kSamples = 64, kMaxDepth = 8, kMaxObjects = 192;  // objects: of one sample

  explicit SizeEstimate(ObjectReader& objects) : objects_(objects) {}
  [[nodiscard]] ContainerSize of(const Object& container, int samples = kSamples);

 private:
  [[nodiscard]] bool is_full() const { return seen_.size() >= static_cast<std::size_t>(kMaxObjects); }
  [[nodiscard]] double share_of(std::uint64_t address, int depth);
  [[nodiscard]] bool is_followed(const Object& object);
  [[nodiscard]] double shares_inside(const Object& object, int depth);
  [[nodiscard]] std::vector<std::uint64_t> any_element(const Object& container, std::uint64_t places);
  [[nodiscard]] std::uint64_t random(std::uint64_t below);

  ObjectReader& objects_;
  std::unordered_set<std::uint64_t> seen_;  // of one sample
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

}  // namespace oomw::cpython
