// SPDX-License-Identifier: Apache-2.0
#include "system/argument_reader.h"

#include <utility>

namespace oomw {

ArgumentReader::ArgumentReader(EventLoop& loop, const Clock& clock, Read read, Deliver deliver)
    : functions_(std::make_shared<const Functions>(Functions{std::move(read), std::move(deliver)})),
      readings_(loop, clock, "oomw-args", {kThreads, kSpares, kMaxWaiting, kMaxPerOwner, kMaxAge}) {}

void ArgumentReader::read(ProcessKey process, const std::string& owner) {
  readings_.ask(owner, [functions = functions_, process]() -> SlowReadings::Tell {
    auto seen = functions->read(process.pid, SystemClock().now());
    if (!seen.has_value() || seen->process != process) return nullptr;
    if (seen->cmdline.empty() && !seen->go.gogc_percent && !seen->go.memory_limit_bytes) return nullptr;
    return [functions, seen = std::move(*seen)] { functions->deliver(seen); };
  });
}

}  // namespace oomw
