// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "process/target_process.h"

namespace oomw {

// Connections of a process to one peer that do not get on, by the kernel's tables of its network namespace.
struct StalledPeer {
  std::string address;           // numeric, with its port: "10.0.0.7:4317", "[fd00::7]:4317"
  std::uint64_t unanswered = 0;  // connections that the peer has neither taken nor refused
  std::uint64_t tries = 0;       // most repetitions of one of their requests
  std::uint64_t stuck = 0;       // connections on which the peer takes no more: data is sent again, or it has no room
  std::uint64_t unacknowledged_bytes = 0;  // of those
  friend bool operator==(const StalledPeer&, const StalledPeer&) = default;
};

// Only of sockets that the process itself holds; most sockets first, at most kMaxStalledPeers. Empty also where the
// tables cannot be read. 5 ms, as find_endpoints(). A connection that was refused has left no socket: see the next.
inline constexpr std::size_t kMaxStalledPeers = 3;
[[nodiscard]] std::vector<StalledPeer> stalled_peers(const TargetProcess& process);

// How many attempts to connect failed in the process's network namespace since that was made, refused or never
// answered, by whichever process; 0 if it is the node's own, where they say nothing about one process.
[[nodiscard]] std::uint64_t failed_connects(const TargetProcess& process);

// Both as notes of an analysis (events/connection_note.h); empty: nothing is wrong as far as these show it.
[[nodiscard]] std::vector<std::string> connection_notes(const TargetProcess& process);

}  // namespace oomw
