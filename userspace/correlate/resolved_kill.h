// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/event.h"
#include "model/kill_ledger.h"
#include "model/limit_scope.h"
#include "model/memory_model.h"

namespace oomw {

struct OpenIncident;

// Everything known about a reported kill, found in one step (Correlator::resolve) before anything counts or keeps it.
// Ledger, accounting, judge and correlator read it; none of them asks the model or the correlator again.
struct ResolvedKill {
  enum class Report : std::uint8_t {
    kFirst,
    kLate,   // the kernel's count reported this kill before, and it is in the ledger
    kAgain,  // of a known victim; then `place` and `labels` are empty
  };
  // Includes the model's data on the victim, and its decision's owner where an earlier victim's report was better.
  OomKill kill;
  Report report = Report::kFirst;
  CgroupId container;  // the victim's, else its own cgroup
  LimitPlace place;
  KillLabels labels;
  // The incident that the kill joins (kFirst), names (kLate) or completes (kAgain); null: the kill opens one. Valid
  // until the correlator's next change.
  OpenIncident* incident = nullptr;
};

// mark_victim(int pid) and the kernel log know less of the victim than the model does.
[[nodiscard]] OomKill completed(OomKill kill, const MemoryModel& model);
// What the model alone knows of a completed kill.
[[nodiscard]] ResolvedKill resolved_by_model(OomKill kill, const MemoryModel& model);

}  // namespace oomw
