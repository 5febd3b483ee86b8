// SPDX-License-Identifier: Apache-2.0
#include "captures/listener_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace oomw {
namespace {

// get_tcp4_sock() in the kernel's net/ipv4/tcp_ipv4.c:
// sl local_address rem_address st tx:rx tr:tm->when retrnsmt uid timeout inode references socket rto
constexpr std::size_t kLocalColumn = 1, kPeerColumn = 2, kStateColumn = 3, kQueueColumn = 4, kTimerColumn = 5,
                      kRetransmitColumn = 6, kProbeColumn = 8, kInodeColumn = 9, kRtoColumn = 12;
constexpr std::uint64_t kProbeTimer = 4;

std::vector<std::string_view> columns_of(std::string_view row) {
  std::vector<std::string_view> columns;
  for (const std::string_view part : split(row, ' ')) {
    if (part.empty()) continue;
    columns.push_back(part);
    if (columns.size() > kRtoColumn) break;
  }
  return columns;
}

// The kernel prints each 32-bit word of a network-order address as a host-order number.
std::optional<std::vector<std::uint8_t>> address_bytes(std::string_view hex) {
  std::vector<std::uint8_t> bytes(hex.size() / 2);
  for (std::size_t i = 0; i + 8 <= hex.size(); i += 8) {
    const auto word = parse_u64(hex.substr(i, 8), 16);
    if (!word) return std::nullopt;
    const auto narrow = static_cast<std::uint32_t>(*word);
    std::memcpy(bytes.data() + i / 2, &narrow, sizeof(narrow));
  }
  return bytes;
}

std::string numeric(int domain, const void* bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  return inet_ntop(domain, bytes, text, sizeof(text)) ? text : "";
}

bool set_address(ListeningSocket& out, std::string_view hex) {
  if (hex.size() != (out.family == IpFamily::kV4 ? 8u : 32u)) return false;
  const auto bytes = address_bytes(hex);
  if (!bytes) return false;
  out.is_wildcard = std::all_of(bytes->begin(), bytes->end(), [](std::uint8_t b) { return b == 0; });
  in6_addr v6{};
  if (out.family == IpFamily::kV6) std::memcpy(&v6, bytes->data(), sizeof(v6));
  if (out.family == IpFamily::kV6 && !IN6_IS_ADDR_V4MAPPED(&v6)) {
    out.address = numeric(AF_INET6, &v6);
    return true;
  }
  out.address = numeric(AF_INET, bytes->data() + (bytes->size() - sizeof(in_addr)));
  out.family = IpFamily::kV4;
  return true;
}

// "0100007F:06F1"
std::optional<ListeningSocket> parse_end(std::string_view text, IpFamily family) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_u64(text.substr(colon + 1), 16);
  ListeningSocket out;
  out.family = family;
  if (!port || *port > 65535 || !set_address(out, text.substr(0, colon))) return std::nullopt;
  out.port = static_cast<std::uint16_t>(*port);
  return out;
}

TcpState state_of(std::string_view text) {
  for (const TcpState state : {TcpState::kEstablished, TcpState::kSynSent, TcpState::kListen}) {
    if (parse_u64(text, 16) == static_cast<std::uint64_t>(state)) return state;
  }
  return TcpState::kOther;
}

// Probes are counted until their answer comes, which on a healthy network is at once and says that there is no room
// still. What stays is the time until the next one: from the second on longer than the timeout.
bool is_refused_room(const std::vector<std::string_view>& columns) {
  if (parse_u64(columns[kProbeColumn]).value_or(0) > 0) return true;
  const std::string_view timer = columns[kTimerColumn];
  const std::size_t colon = timer.find(':');
  if (colon == std::string_view::npos || parse_u64(timer.substr(0, colon), 16) != kProbeTimer) return false;
  if (columns.size() <= kRtoColumn) return false;  // the kernel leaves it out of rows that are no connections
  const auto left = parse_u64(timer.substr(colon + 1), 16), timeout = parse_u64(columns[kRtoColumn]);
  return left && timeout && *left > *timeout;
}

std::optional<TcpSocket> parse_row(std::string_view row, IpFamily family) {
  const auto columns = columns_of(row);
  if (columns.size() <= kInodeColumn) return std::nullopt;
  auto local = parse_end(columns[kLocalColumn], family), peer = parse_end(columns[kPeerColumn], family);
  const auto inode = parse_u64(columns[kInodeColumn]);
  if (!local || !peer || !inode || *inode == 0) return std::nullopt;
  TcpSocket out;
  out.state = state_of(columns[kStateColumn]);
  out.local = std::move(*local);
  out.local.inode = *inode;
  out.peer_address = std::move(peer->address);
  out.peer_port = peer->port;
  const std::string_view queues = columns[kQueueColumn];
  out.unacknowledged_bytes = parse_u64(queues.substr(0, queues.find(':')), 16).value_or(0);
  out.retransmits = parse_u64(columns[kRetransmitColumn], 16).value_or(0);
  out.is_refused_room = is_refused_room(columns);
  return out;
}

}  // namespace

void for_each_socket(std::string_view table, IpFamily family, const std::function<void(const TcpSocket&)>& visit) {
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    if (const auto row = parse_row(table.substr(0, end), family)) visit(*row);
    table.remove_prefix(std::min(end + 1, table.size()));
  }
}

std::vector<ListeningSocket> parse_listeners(std::string_view table, IpFamily family) {
  std::vector<ListeningSocket> out;
  for_each_socket(table, family, [&](const TcpSocket& socket) {
    if (socket.state == TcpState::kListen && out.size() < kMaxListeners) out.push_back(socket.local);
  });
  return out;
}

std::vector<std::string> connect_addresses(const ListeningSocket& listener) {
  if (!listener.is_wildcard) return {listener.address};
  if (listener.family == IpFamily::kV4) return {"127.0.0.1"};
  return {"127.0.0.1", "::1"};
}

bool could_answer(const ListeningSocket& other, const ListeningSocket& ours, const std::string& address) {
  if (other.port != ours.port) return false;
  const auto addresses = connect_addresses(other);
  if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) return false;
  return ours.is_wildcard || !other.is_wildcard;
}

}  // namespace oomw
