// SPDX-License-Identifier: Apache-2.0
#include "store/fair_retention.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace oomw {
namespace {

struct Amount {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  [[nodiscard]] std::uint64_t by(LossReason bound) const { return bound == LossReason::kBytes ? bytes : count; }
};

struct Candidate {
  std::size_t index = 0;
  bool is_free = false;  // neither the first, the best nor the newest of its workload
};

class Chooser {
 public:
  Chooser(const std::vector<KeptIncident>& incidents, const Retention& retention)
      : incidents_(incidents), retention_(retention) {
    order_.reserve(incidents.size());
    for (std::size_t i = 0; i < incidents.size(); ++i) order_.push_back(i);
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
      return std::tie(incidents[a].time, incidents[a].name) < std::tie(incidents[b].time, incidents[b].name);
    });
    for (const std::size_t index : order_) add(index);
    for (auto& [name, workload] : workloads_) renew(workload);
  }

  std::vector<Loss> run(std::optional<WallTime> now, std::size_t max_losses) {
    if (now) drop_old(*now, max_losses);
    while (losses_.size() < max_losses && drop_one()) {
    }
    return std::move(losses_);
  }

 private:
  struct Workload {
    std::vector<std::size_t> members;  // oldest first
    Amount amount;
    Amount* tenant = nullptr;
    bool is_readable = true;
    std::optional<Candidate> candidate;  // none: only the newest of all is left
  };

  void add(std::size_t index) {
    const KeptIncident& incident = incidents_[index];
    Workload& workload = workloads_[incident.facts.workload];
    workload.is_readable = !incident.facts.workload.empty();
    workload.tenant = &tenants_[incident.facts.tenant];
    workload.members.push_back(index);
    for (Amount* amount : {&workload.amount, workload.tenant, &total_}) {
      ++amount->count;
      amount->bytes += incident.bytes;
    }
  }

  void drop(std::size_t index, LossReason reason) {
    const KeptIncident& incident = incidents_[index];
    Workload& workload = workloads_.at(incident.facts.workload);
    std::erase(workload.members, index);
    for (Amount* amount : {&workload.amount, workload.tenant, &total_}) {
      --amount->count;
      amount->bytes -= incident.bytes;
    }
    renew(workload);
    losses_.push_back({index, reason});
  }

  void drop_old(WallTime now, std::size_t max_losses) {
    for (const std::size_t index : order_) {
      if (losses_.size() >= max_losses || now.ns - incidents_[index].time.ns <= retention_.age.count()) return;
      drop(index, LossReason::kAge);
    }
  }

  bool drop_one() {
    const bool is_count_over = total_.count > retention_.count;
    if (!is_count_over && (total_.bytes <= retention_.bytes || total_.count <= 1)) return false;
    const LossReason bound = is_count_over ? LossReason::kCount : LossReason::kBytes;
    const Workload* worst = nullptr;
    for (const auto& [name, workload] : workloads_) {
      if (workload.candidate && (worst == nullptr || rank(workload, bound) > rank(*worst, bound))) worst = &workload;
    }
    if (worst != nullptr) {
      drop(worst->candidate->index, bound);
    } else {
      drop(order_.back(), bound);
    }
    return true;
  }

  // The highest loses. Ties go to the older incident.
  [[nodiscard]] std::tuple<bool, bool, std::uint64_t, std::uint64_t, std::int64_t> rank(const Workload& workload,
                                                                                        LossReason bound) const {
    const Candidate& candidate = *workload.candidate;
    std::uint64_t own = workload.amount.by(bound), tenants = workload.tenant->by(bound);
    if (!candidate.is_free) std::swap(own, tenants);
    return {!workload.is_readable, candidate.is_free, own, tenants, -incidents_[candidate.index].time.ns};
  }

  void renew(Workload& workload) { workload.candidate = candidate_of(workload); }

  [[nodiscard]] std::optional<Candidate> candidate_of(const Workload& workload) const {
    const std::vector<std::size_t>& members = workload.members;
    if (members.empty()) return std::nullopt;
    const std::size_t first = members.front(), newest = members.back();
    if (!workload.is_readable && first != order_.back()) return Candidate{first, true};
    const std::size_t best = best_of(members);
    for (const std::size_t index : members) {
      if (index != first && index != best && index != newest) return Candidate{index, true};
    }
    for (const std::size_t index : {first, newest}) {
      if (index != best && index != order_.back()) return Candidate{index, false};
    }
    return best != order_.back() ? std::optional(Candidate{best, false}) : std::nullopt;
  }

  // Of those with the most evidence the newest.
  [[nodiscard]] std::size_t best_of(const std::vector<std::size_t>& members) const {
    std::size_t best = members.front();
    for (const std::size_t index : members) {
      if (incidents_[index].facts.evidence >= incidents_[best].facts.evidence) best = index;
    }
    return best;
  }

  const std::vector<KeptIncident>& incidents_;
  const Retention& retention_;
  std::vector<std::size_t> order_;  // oldest first
  std::map<std::string, Workload> workloads_;
  std::unordered_map<std::string, Amount> tenants_;  // its nodes stay where they are
  Amount total_;
  std::vector<Loss> losses_;
};

}  // namespace

std::vector<Loss> choose_losses(const std::vector<KeptIncident>& incidents, const Retention& retention,
                                std::optional<WallTime> now, std::size_t max_losses) {
  return Chooser(incidents, retention).run(now, max_losses);
}

}  // namespace oomw
