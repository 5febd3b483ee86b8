// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace oomw::pprof {

// The style of a flame graph, and the script that zooms and searches in one. Constants: no name from a
// profile ever becomes part of them.
extern const char* const kFlameStyle;
extern const char* const kFlameScript;

}  // namespace oomw::pprof
