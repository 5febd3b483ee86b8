// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pprof/growth_text.h"

namespace oomw::pprof {

// The functions that grew most from the first profile to the last, with their size in each: a table, one
// line per function, the most grown first. `stages` are of one process, oldest first. "" with fewer than three of
// them (growth_text() then shows all), or if they have no such type. Names go through printable().
[[nodiscard]] std::string stages_text(const std::vector<NamedProfile>& stages, const std::string& type,
                                      std::size_t rows);

}  // namespace oomw::pprof
