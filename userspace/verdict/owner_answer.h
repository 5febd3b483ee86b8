// SPDX-License-Identifier: Apache-2.0
// The part of the answer that comes from the search for owners: who keeps the memory.
#pragma once

#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// The holder that may be called the owner; nullptr: none was proved.
[[nodiscard]] const IncidentHolder* owner_of(const Incident& incident);
// As a culprit with the claim "keeps".
[[nodiscard]] std::optional<AnswerCulprit> owning_culprit(const Incident& incident);
// The same if the path from the root leads through a component of a Collector.
[[nodiscard]] std::optional<AnswerCulprit> owning_component(const Incident& incident);
// "Kept by processor batch: 93 % of the heap (88.1 MiB) hangs on goroutine main.work -> .queue -> ...".
[[nodiscard]] std::string owner_text(const IncidentHolder& owner);
// "300 of 310 goroutines wait in runtime.chansend, called by main.handle."; "" unless most stand at one place and are
// too many for a pool of workers.
[[nodiscard]] std::string waiting_text(const Incident& incident);
// What to do about such a culprit.
[[nodiscard]] std::string owner_action(const AnswerCulprit& culprit);

}  // namespace oomw
