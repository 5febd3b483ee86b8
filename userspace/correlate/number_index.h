// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace oomw {

// Maps a key to the numbers of the entries with that key, newest (largest) last. O(log n) per call; a key without
// numbers takes no space.
template <typename Key>
class NumberIndex {
 public:
  void add(const Key& key, std::uint64_t number) { numbers_[key].insert(number); }
  void remove(const Key& key, std::uint64_t number) {
    const auto found = numbers_.find(key);
    if (found == numbers_.end()) return;
    found->second.erase(number);
    if (found->second.empty()) numbers_.erase(found);
  }
  [[nodiscard]] const std::set<std::uint64_t>& all(const Key& key) const {
    static const std::set<std::uint64_t> kNone;
    const auto found = numbers_.find(key);
    return found == numbers_.end() ? kNone : found->second;
  }
  // At most `max`, newest first.
  [[nodiscard]] std::vector<std::uint64_t> newest(const Key& key, std::size_t max) const {
    std::vector<std::uint64_t> result;
    const std::set<std::uint64_t>& numbers = all(key);
    for (auto it = numbers.rbegin(); it != numbers.rend() && result.size() < max; ++it) result.push_back(*it);
    return result;
  }
  [[nodiscard]] bool empty() const { return numbers_.empty(); }

 private:
  std::map<Key, std::set<std::uint64_t>> numbers_;
};

}  // namespace oomw
