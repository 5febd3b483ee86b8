// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "incident/incident.h"

namespace oomw::test {

inline IncidentAnswer sample_answer() {
  IncidentAnswer answer;
  answer.sentence = "Memory leak in cart: main.(*Cache).Put (cache.go:44) allocated 92 % of the heap.";
  answer.cause = "leak";
  answer.culprit = AnswerCulprit{.claim = "allocates",
                                 .code = "main.(*Cache).Put (cache.go:44)",
                                 .path = {"main.(*Cache).Put", "bytes.Clone"},
                                 .operation_kind = "endpoint",
                                 .operation = "main.report",
                                 .share = 0.92,
                                 .bytes = 118u << 20,
                                 .evidence = "at_kill"};
  answer.action = "Free or bound what main.(*Cache).Put keeps.";
  return answer;
}

}  // namespace oomw::test
