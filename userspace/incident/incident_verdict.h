// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oomw {

// A cause that the evidence supports (one of those in design.md), its confidence and the numbers behind it.
struct Finding {
  std::string cause;
  double confidence = 0;  // see verdict.h
  std::vector<std::string> why = {};
};

struct SuggestedLimit {
  std::uint64_t bytes = 0;
  bool is_lower_bound = false;  // the limit cut the growth off, so the need may be larger
  std::string why;
};

struct IncidentVerdict {
  std::string cause;
  double confidence = 0;
  std::vector<std::string> why = {};
  std::optional<SuggestedLimit> suggested_limit = {};  // where a larger limit would help
  std::vector<Finding> also = {};                      // what else the evidence supports, strongest first
};

}  // namespace oomw
