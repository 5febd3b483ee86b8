// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// Runs in the reader: kUnwindSamplesJob. parameters: the ranges of the process's code; files: as growth/growth_wire.h
// has them. The answer is in its file. Executables stay parsed for the next job, in growth::CodeFiles' bounds.
[[nodiscard]] Result<std::string> unwind_samples_job(std::string_view parameters, std::span<const UniqueFd> files);

}  // namespace oomw
