// SPDX-License-Identifier: Apache-2.0
#include "pprof/text_stacks.h"

#include <utility>

namespace oomw::pprof {

void TextStacks::add(const std::vector<std::string>& frames, std::vector<std::int64_t> values) {
  Sample sample;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) sample.location_ids.push_back(id_of(*frame));
  sample.values = std::move(values);
  profile_.samples.push_back(std::move(sample));
}

std::uint64_t TextStacks::id_of(const std::string& text) {
  const auto [known, is_new] = ids_.try_emplace(text, ids_.size() + 1);
  if (is_new) {
    profile_.functions.push_back({known->second, text, text, "", 0});
    profile_.locations.push_back({known->second, 0, 0, {{known->second, 0}}});
  }
  return known->second;
}

}  // namespace oomw::pprof
