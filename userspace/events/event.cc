// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

namespace oomw {

MonotonicTime time_of(const Event& event) {
  return std::visit([](const auto& e) { return e.time; }, event);
}

}  // namespace oomw
