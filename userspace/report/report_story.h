// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// Markdown, one line each, all workload text escaped.

// "container web of pod shop/cart-7d9f", "unit nginx.service", "cgroup /a/b".
[[nodiscard]] std::string place_text(const Incident& incident);
// What happened, in one paragraph: who, by whose limit, how fast, and what the memory was.
[[nodiscard]] std::string story_text(const Incident& incident);

}  // namespace oomw
