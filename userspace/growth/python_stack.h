// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "growth/growth_wire.h"
#include "growth/python_code.h"
#include "growth/unwinder.h"

namespace oomw::growth {

// Where Python is among the mapped code, as addresses in the process; of version 0: nowhere.
[[nodiscard]] PythonSymbols find_python(const std::vector<CodeRange>& code);

// The Python frames of a sample, innermost first.
[[nodiscard]] std::vector<GrowthFrame> python_frames(const Sample& sample, PythonCodes& codes, PythonReader* reader);

// Puts the program's frames in the place of the interpreter's: what an innermost function in C did comes first, and
// what started the interpreter last.
[[nodiscard]] std::vector<GrowthFrame> merge_python(std::vector<GrowthFrame> native, std::vector<GrowthFrame> python);

}  // namespace oomw::growth
