// SPDX-License-Identifier: Apache-2.0
#include "events/leak_suspicion.h"

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

std::string GrowingContents::text() const {
  if (name.empty()) return "";
  return fmt::format("{}: {} to {} in {:.0f} s", name, human_bytes(first_bytes), human_bytes(last_bytes), seconds);
}

}  // namespace oomw
