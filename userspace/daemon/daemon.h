// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/config.h"
#include "events/event.h"
#include "sinks/incident_sink.h"

namespace oomw {

struct RunOptions {
  std::string record_path;  // write every event here; "" = no recording
  bool standby = false;     // if another daemon has the data directory: wait ready, take over when it ends
  // "shop/cart-7d9f/cart", the unit or the path of a cgroup, as a person knows it; printable, "" = not known.
  using PlaceOf = std::function<std::string(CgroupId)>;
  // Called on the core thread for events that a human wants to see (kills, crossings, captures).
  std::function<void(const Event&, const PlaceOf&)> on_event;
  // How many lines of on_event were left out because one container caused too many, and the last such cgroup.
  std::function<std::pair<std::uint64_t, CgroupId>()> lines_left_out;
  // Puts a line on standard output, for sinks that write there; false: dropped. Any thread.
  std::function<bool(std::string line)> print_line;
  // Every incident that is on disk goes to these, and to those that the configuration asks for.
  std::vector<std::unique_ptr<IncidentSink>> sinks;
};

// Wires everything; owns every thread. Members are destroyed in reverse order of construction:
// intake stops first, the store and the log last.
class Daemon {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> make(Config config, RunOptions options);
  ~Daemon();
  // Blocks until SIGINT or SIGTERM (or stop()); the calling thread becomes the core thread.
  [[nodiscard]] Result<> run();
  void stop();  // any thread

 private:
  Daemon();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
