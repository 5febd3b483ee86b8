// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace oomw {
namespace {

constexpr std::size_t kMaxLetters = 64;  // of a typed word; the cost is the product of both lengths

// Insertions, deletions, replacements, and two neighbours swapped: the commonest slip of all.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> before, two_before;  // the rows above
  for (std::size_t i = 0; i < a.size(); ++i) {
    two_before = std::exchange(before, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({before[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, before[j + 1] + 1});
      const bool is_swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (is_swapped) row[j + 1] = std::min(row[j + 1], two_before[j - 1] + 1);
    }
  }
  return row.back();
}

bool is_near(std::string_view word, const std::string& candidate, std::size_t edits) {
  constexpr std::size_t kShortestStart = 3;
  if (word.size() >= kShortestStart && candidate.starts_with(word)) return true;
  return edits <= std::max(word.size(), candidate.size()) / 3;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kMaxLetters) return "";
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = edits_between(word, candidate);
    if (!is_near(word, candidate, edits) || (best != nullptr && edits >= least)) continue;
    best = &candidate;
    least = edits;
  }
  return best == nullptr ? "" : " (did you mean '" + *best + "'?)";
}

}  // namespace oomw
