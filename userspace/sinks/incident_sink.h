// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// How an incident lies on disk.
struct StoredAt {
  std::string directory;
  bool is_revision = false;  // an earlier form of the same incident was published before
};

// A destination that learns of every incident, each revision included. A sink decides by itself whether a revision
// matters to it.
class IncidentSink {
 public:
  virtual ~IncidentSink() = default;
  // The incident is on disk. Core thread: returns at once, and whatever may wait is queued, bounded and counted.
  virtual void publish(const Incident& incident, const StoredAt& at) = 0;
};

}  // namespace oomw
