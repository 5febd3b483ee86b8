// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// Markdown, one line each, all workload text escaped.

// "container web of pod shop/cart-7d9f", "unit nginx.service", "cgroup /a/b".
[[nodiscard]] std::string place_text(const Incident& incident);
// The kill in one paragraph: the victim, the owner of the limit, the pace, and the kinds of memory.
[[nodiscard]] std::string story_text(const Incident& incident);

}  // namespace oomw
