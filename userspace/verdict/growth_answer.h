// SPDX-License-Identifier: Apache-2.0
// The part of the answer that comes from growth by first touch. It shows who needed memory first, which is not who
// keeps it: temporary data that tops the heap takes the blame of a leak that is carved from its warm pages, and a
// collector's threads take that of the program. So code is named as what grew the memory only if what fills it agrees:
//   - the filler is held by a name of a Python module and has most of the memory, the code of a handler in that
//   module's
//     file refers to that name, and this place has most of the growth of all such ones. Others may have more: of what
//     they touched nothing can be in the holder; or
//   - the filler is held by a name of a Python module, and stacks of the place pass through that module's file; or
//   - the filler is a class, and a method of it is in the place's stacks;
//   - the place has most of the growth, collectors have little, and what was lost is little.
// Else the sentence says what is known, or why nothing is.
#pragma once

#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// The place that grew what fills the memory; nullptr: none, or not proved.
[[nodiscard]] const IncidentGrowth::Place* proved_grower(const Incident& incident);
// What fills the memory, with the operation that grew it, if that is proved.
[[nodiscard]] AnswerCulprit with_growth(const Incident& incident, AnswerCulprit filler);
// As a culprit with the claim "grows".
[[nodiscard]] std::optional<AnswerCulprit> growing_culprit(const Incident& incident);
// "generate (app.py:41) grew it by 80.0 MiB (92 % of the growth) for endpoint report; 5000 objects of type ...".
[[nodiscard]] std::string grower_text(const Incident& incident, const AnswerCulprit& culprit);
// The code that touched most of the growth first, if the samples can be trusted that far; nullptr: none.
[[nodiscard]] const IncidentGrowth::Place* touched_most(const Incident& incident);
// Whether what touched the memory first before a pause went on after it: code with half of all growth has half of what
// came in the last quarter of the time from the first sample to the newest, too. Where no code is named, one whole
// stack with a quarter of all.
[[nodiscard]] bool same_code_went_on(const Incident& incident);
// What to do about a leak of which nobody is known to allocate, fill or keep it.
[[nodiscard]] std::string action_without_culprit(const Incident& incident);
// What to do about memory that is not on a heap.
[[nodiscard]] std::string mappings_action(const Incident& incident);
// Beside what filled the memory: " Its growth was first touched mostly in ..."; "" = that names no code.
[[nodiscard]] std::string touched_text(const Incident& incident);

// Whether growth_text() may name code: then nobody says that none is known.
[[nodiscard]] bool shows_code(const Incident& incident);
// "Which code it was is not known", or only who keeps it.
[[nodiscard]] std::string not_known(const Incident& incident);
// A sentence to add, beginning with a blank; "" = nothing was sampled, or the culprit is not about it.
[[nodiscard]] std::string growth_text(const Incident& incident, const std::optional<AnswerCulprit>& culprit);

}  // namespace oomw
