// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "incident/incident.h"

namespace oomw {

// Incidents that wait for the disk. A storm of kills is faster than a slow disk, so they are bounded by their length
// as JSON, and the least important data is given up first:
//   - first writes and amendments are taken apart. Within each kind the workloads (IncidentFacts) take turns, and each
//     one's oldest goes first: a container's flood neither delays nor displaces another's. Only the newest form of an
//     incident waits, at the place of its first form;
//   - over max_bytes amendments are dropped, whose incidents are whole on disk. The workload with the most bytes loses
//     its oldest one;
//   - then the workload with the most bytes gives up something of its first writes: its oldest one that is not slim yet
//     is slimmed (series, lists and captures without a profile are dropped; the victims, the time and the cause stay,
//     with notes on what is missing), or when all are slim its oldest is dropped;
//   - a workload's only incident is dropped when no other workload has anything to give up. All three are counted.
// No clock, file, thread or lock.
class EvidenceBacklog {
 public:
  // A thousand full incidents, or 2,500 slim ones, which take 12 MiB of memory.
  static constexpr std::uint64_t kMaxBytes = 8u << 20;

  explicit EvidenceBacklog(std::uint64_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  void add_first(Incident incident);
  void add_amendment(Incident incident);
  // Its first form is on disk: what waits to be written at first is an amendment now. One that was slimmed meanwhile is
  // dropped, since it would replace what is whole.
  void make_amendment(const std::string& id);
  // One that was taken and could not be written. It goes behind the others, so that one that can never be written does
  // not hold them up; it is dropped if a newer form came meanwhile.
  void put_back_first(Incident incident);
  void put_back_amendment(Incident incident);
  [[nodiscard]] std::optional<Incident> take_first() { return take(firsts_); }
  [[nodiscard]] std::optional<Incident> take_amendment() { return take(amendments_); }

  [[nodiscard]] std::size_t firsts() const { return firsts_.by_place.size(); }
  [[nodiscard]] std::size_t amendments() const { return amendments_.by_place.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t dropped_incidents() const { return dropped_incidents_; }
  [[nodiscard]] std::uint64_t dropped_amendments() const { return dropped_amendments_; }
  [[nodiscard]] std::uint64_t slimmed() const { return slimmed_; }

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // turn, arrival: the lowest is taken first
  struct Waiting {
    Incident incident;
    std::string workload;  // of its first form
    std::uint64_t bytes = 0;
    bool is_slim = false;
  };
  struct Share {
    std::uint64_t bytes = 0;
    std::uint64_t last_turn = 0;
    std::set<Place> places, full;  // all, and those not slim
  };
  using Shares = std::unordered_map<std::string, Share>;
  struct Queue {
    std::map<Place, Waiting> by_place;
    std::unordered_map<std::string, Place> places;  // by incident id
    Shares shares;                                  // by workload; those with something waiting
    std::uint64_t turn = 0;                         // of what was taken last
  };

  void add(Queue& queue, Incident incident);
  void put_back(Queue& queue, Incident incident);
  void put(Queue& queue, const Place& place, Incident incident);
  void count_bytes(Queue& queue, const Place& place, Waiting& waiting, std::uint64_t bytes);
  [[nodiscard]] std::optional<Incident> take(Queue& queue);
  Incident take(Queue& queue, const Place& place);
  void make_room();
  [[nodiscard]] static bool is_worse(const Share& a, const Share& b);
  [[nodiscard]] static Shares::const_iterator loser_of(const Queue& queue, bool is_spared);
  void give_up_first_write();
  void slim(const Place& place);

  const std::uint64_t max_bytes_;
  Queue firsts_, amendments_;
  std::uint64_t next_arrival_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t dropped_incidents_ = 0, dropped_amendments_ = 0, slimmed_ = 0;
};

}  // namespace oomw
