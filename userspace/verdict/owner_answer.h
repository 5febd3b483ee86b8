// SPDX-License-Identifier: Apache-2.0
// The part of the answer that comes from the search for owners: who keeps the memory.
#pragma once

#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// "exporter/otlp" -> "exporter otlp"; a helper package serves all components of its kind: "a processor".
[[nodiscard]] std::string component_text(const std::string& component);
// The holder that may be called the owner; nullptr: none was proved.
[[nodiscard]] const IncidentHolder* owner_of(const Incident& incident);
// As a culprit with the claim "keeps". Its operation is the Collector's component that the path from the root leads
// through, if any.
[[nodiscard]] std::optional<AnswerCulprit> owning_culprit(const Incident& incident);
// "Kept by processor batch: 93 % of the heap (88.1 MiB) hangs on goroutine main.work -> .queue -> ...". There is an
// owner.
[[nodiscard]] std::string owner_text(const Incident& incident);
// "300 of 310 goroutines wait in runtime.chansend, called by main.handle."; "" unless most stand at one place and are
// too many for a pool of workers.
[[nodiscard]] std::string standing_text(const Incident& incident);
// The same, and "340 goroutines waited at the kill (chan send)." where most did: idle connections all wait for one
// thing.
[[nodiscard]] std::string waiting_text(const Incident& incident);
// Whether a list of goroutines tells anything: some do the same by the hundred, or the text above names them. A healthy
// program has a handful, each in its place.
[[nodiscard]] bool goroutines_matter(const Incident& incident);
// "Connections of the process: to 10.0.0.7:4317: 2 not answered (tried 5 times)."; "" unless the culprit is a
// Collector's exporter and some were found that do not get on.
[[nodiscard]] std::string connections_text(const Incident& incident, const AnswerCulprit& culprit);
// What to do about such a culprit.
[[nodiscard]] std::string owner_action(const Incident& incident, const AnswerCulprit& culprit);

}  // namespace oomw
