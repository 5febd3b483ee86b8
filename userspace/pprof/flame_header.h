// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pprof/flame_graph.h"

namespace oomw::pprof {

// The lines above the frames. Plain text, not yet escaped.
struct FlameHeader {
  std::string title;               // "otelcol (pid 17): in use 188 MiB"
  std::vector<std::string> lines;  // when, how and from where; how to read it
};

// The program and its pid come from the comment that oomwitness leaves in its profiles, else from the
// first mapping's file.
[[nodiscard]] FlameHeader flame_header(const Profile& profile, int type_index, const FlameTree& tree,
                                       const FlameOptions& options);

// The profile holds both ends of a diff(), or negative values from one.
[[nodiscard]] bool is_diff(const Profile& profile, int type_index);

}  // namespace oomw::pprof
