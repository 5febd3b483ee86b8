// SPDX-License-Identifier: Apache-2.0
#include "analyses/stalled_connections.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "captures/endpoint_finder.h"
#include "captures/listener_table.h"
#include "captures/netns_socket.h"
#include "events/contents_file.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxTableBytes = 512u << 10, kMaxCounterBytes = 16u << 10;

void add(const TcpSocket& socket, std::map<std::string, StalledPeer>& peers) {
  const bool is_unanswered = socket.state == TcpState::kSynSent;
  const bool is_stuck = socket.state == TcpState::kEstablished && socket.unacknowledged_bytes > 0 &&
                        (socket.retransmits > 0 || socket.is_refused_room);
  if (!is_unanswered && !is_stuck) return;
  const bool is_v6 = socket.peer_address.find(':') != std::string::npos;
  std::string address =
      fmt::format("{}{}{}:{}", is_v6 ? "[" : "", socket.peer_address, is_v6 ? "]" : "", socket.peer_port);
  StalledPeer& peer = peers[address];
  peer.address = std::move(address);
  if (is_unanswered) {
    ++peer.unanswered;
    peer.tries = std::max(peer.tries, socket.retransmits);
  } else {
    ++peer.stuck;
    peer.unacknowledged_bytes += socket.unacknowledged_bytes;
  }
}

std::string note_of(const StalledPeer& peer) {
  std::string text;
  if (peer.unanswered > 0) text = fmt::format("{} not answered (tried {} times)", peer.unanswered, peer.tries + 1);
  if (peer.stuck > 0) {
    text += fmt::format("{}{} with {} that it does not take", text.empty() ? "" : ", ", peer.stuck,
                        human_bytes(peer.unacknowledged_bytes));
  }
  return fmt::format("{}to {}: {}", kConnectionNote, peer.address, text);
}

}  // namespace

std::vector<StalledPeer> stalled_peers(const TargetProcess& process) {
  const auto held = sockets_of(process.dir_fd());
  if (!held) return {};
  std::map<std::string, StalledPeer> peers;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const auto table = read_prefix_at(process.dir_fd(), table_of(family), kMaxTableBytes);
    if (!table) continue;
    for_each_socket(*table, family, [&](const TcpSocket& socket) {
      if (held->contains(socket.local.inode)) add(socket, peers);
    });
  }
  std::vector<StalledPeer> most;
  for (auto& [address, peer] : peers) most.push_back(std::move(peer));
  std::ranges::stable_sort(most, std::greater{}, [](const StalledPeer& p) { return p.unanswered + p.stuck; });
  if (most.size() > kMaxStalledPeers) most.resize(kMaxStalledPeers);
  return most;
}

// Two lines that begin with "Tcp:", the names and the figures.
std::uint64_t failed_connects(const TargetProcess& process) {
  const auto ns = open_network_namespace(process.dir_fd());
  const auto text = read_prefix_at(process.dir_fd(), "net/snmp", kMaxCounterBytes);
  if (!ns || ns->is_ours || !text) return 0;
  std::vector<std::string_view> names;
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.starts_with("Tcp: ")) continue;
    const auto fields = split(line, ' ');
    const auto name = std::ranges::find(names, "AttemptFails");
    const auto at = static_cast<std::size_t>(name - names.begin());
    if (name != names.end() && at < fields.size()) return parse_u64(fields[at]).value_or(0);
    names = fields;
  }
  return 0;
}

std::vector<std::string> connection_notes(const TargetProcess& process) {
  std::vector<std::string> notes;
  for (const StalledPeer& peer : stalled_peers(process)) notes.push_back(note_of(peer));
  if (const std::uint64_t failed = failed_connects(process); failed > 0) {
    notes.push_back(
        fmt::format("{}{} attempts to connect have failed in its network namespace", kConnectionNote, failed));
  }
  return notes;
}

}  // namespace oomw
