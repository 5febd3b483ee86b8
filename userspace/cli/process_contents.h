// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "daemon/capture_once.h"
#include "daemon/config.h"
#include "events/heap_analysed.h"

namespace oomw::cli {

struct ProcessContents {
  std::int32_t pid = 0;
  HeapAnalysed found;
  std::string profile;   // for pprof (facts/contents_pprof.h)
  std::string document;  // of who keeps a Go heap (analyses/holders_document.h); from the reader, so it may be anything
};

// What fills a living process, read in the sandboxed reader: for programs without heap profiles. of: the first of the
// selected that is such a program; nullopt: the largest. kUnavailable: the process could not be read; kNotFound: there
// is none.
[[nodiscard]] Result<ProcessContents> read_process_contents(const Config& config, const CaptureSelector& selector,
                                                            std::optional<RuntimeKind> of = std::nullopt);
// Its largest parts, types and holders, as text.
[[nodiscard]] std::string to_text(const ProcessContents& contents);

}  // namespace oomw::cli
