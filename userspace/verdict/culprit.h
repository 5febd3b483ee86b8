// SPDX-License-Identifier: Apache-2.0
// Whom an answer names.
#pragma once

#include <optional>
#include <string>

#include "facts/operation_patterns.h"
#include "incident/incident.h"

namespace oomw {

// Whether somebody of the victim's own is to be named: the cause is the growth of its memory, or none is known ("").
[[nodiscard]] bool names_somebody(const std::string& cause);
// Whether there is an owner, and one to be told of. What a Collector's component keeps fills a limit that is too small
// only if it is half of that limit: requests on their way through an exporter are some of any busy Collector's memory,
// and only a part of the heap may be traced.
[[nodiscard]] bool is_owner_told(const Incident& incident, const std::string& cause);
// The component of a Collector that allocated most; nullopt: none has a quarter of the heap, or it is no Collector.
[[nodiscard]] std::optional<AnswerCulprit> allocating_component(const Incident& incident);
// Who keeps it comes before who allocated it, and what fills it before who grew it; nullopt: nobody is known. Pure.
// The returned strings are printable.
[[nodiscard]] std::optional<AnswerCulprit> find_culprit(const Incident& incident, const std::string& cause,
                                                        const OperationPatterns& patterns);

}  // namespace oomw
