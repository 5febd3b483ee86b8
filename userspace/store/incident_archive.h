// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw {

using ByteSink = std::function<Result<>(std::string_view bytes)>;

// A tar (POSIX ustar) of an incident's directory: <id>/FILE, byte for byte as on disk, incident.json last. Unpacked
// anywhere it can be read by `oomwitness show DIRECTORY`. In pieces of at most 64 KiB: its memory does not grow with
// the evidence. On an error what was given to `sink` is no whole archive.
[[nodiscard]] Result<> write_incident_archive(const std::string& directory, const std::string& id,
                                              const ByteSink& sink);

}  // namespace oomw
