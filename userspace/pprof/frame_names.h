// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pprof/profile.h"

namespace oomw::pprof {

// The functions of stacks by name, as numbers. Functions of the same name count as one, as in `go tool
// pprof`'s reports. Several profiles may be added, and then share their numbers.
//   - a frame without a name shows its binary, "[server]", or "<unknown>";
//   - an inlined call is a frame of its own.
class FrameNames {
 public:
  // A stack as numbers of names, leaf first.
  using Stack = std::vector<std::uint32_t>;
  using ByLocation = std::unordered_map<std::uint64_t, Stack>;

  FrameNames() = default;
  FrameNames(FrameNames&&) = default;
  FrameNames& operator=(FrameNames&&) = default;

  // The frames of each of the profile's locations.
  [[nodiscard]] ByLocation add(const Profile& profile);
  [[nodiscard]] const std::string& name(std::uint32_t number) const { return *names_[number]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

  // Unknown locations are left out, and so are the frames nearest the root beyond kMaxStackFrames: Go
  // records 1,024 calls at most, but a file may claim anything.
  static constexpr std::size_t kMaxStackFrames = 4096;
  [[nodiscard]] static Stack stack_of(const Sample& sample, const ByLocation& locations);

 private:
  [[nodiscard]] std::uint32_t number_of(const std::string& name);

  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> names_;  // keys of numbers_, whose nodes do not move
};

// One location may stand for thousands of inlined calls, and each of a million stacks may contain it. A file
// with more frames than this in all (about a second's work) is not a heap profile but an attack.
class FrameBudget {
 public:
  // False: there is no room left for them.
  [[nodiscard]] bool take(std::size_t frames) {
    if (frames > left_) return false;
    left_ -= frames;
    return true;
  }

 private:
  std::size_t left_ = 128'000'000;
};

// Index of the sample type to show: "" = the profile's default; -1 if there is none of that name.
[[nodiscard]] int chosen_type(const Profile& profile, const std::string& type);

}  // namespace oomw::pprof
