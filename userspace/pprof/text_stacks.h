// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pprof/profile.h"

namespace oomw::pprof {

// Fills a profile whose frames are plain texts, not code. Each text is one function with one location.
class TextStacks {
 public:
  explicit TextStacks(Profile& profile) : profile_(profile) {}  // outlives this
  // The root first. values: one for each sample type of the profile.
  void add(const std::vector<std::string>& frames, std::vector<std::int64_t> values);

 private:
  [[nodiscard]] std::uint64_t id_of(const std::string& text);

  Profile& profile_;
  std::map<std::string, std::uint64_t> ids_;
};

}  // namespace oomw::pprof
