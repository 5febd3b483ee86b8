// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "daemon/capture_once.h"
#include "daemon/config.h"

namespace oomw::cli {

// What fills a living process, printed: its largest parts, types and holders, read in the sandboxed reader. For
// programs without heap profiles. kUnavailable: the process could not be read; kNotFound: there is none.
[[nodiscard]] Result<> print_memory_contents(const Config& config, const CaptureSelector& selector);

}  // namespace oomw::cli
