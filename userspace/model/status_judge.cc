// SPDX-License-Identifier: Apache-2.0
#include "model/status_judge.h"

#include <fmt/format.h>

namespace oomw {
namespace {

constexpr const char* kOomKilled = "OOMKilled";
constexpr const char* kKillNotInStatus = "kill_not_in_status";

std::string end_text(const PodTermination& end) {
  const std::string code = end.exit_code ? fmt::format(" (exit code {})", *end.exit_code) : "";
  return (end.reason.empty() ? "no reason" : end.reason) + code;
}

}  // namespace

void StatusJudge::on_kill(const OomKill& kill, const CgroupState* container) {
  if (!begun_) begun_ = kill.time;
  if (container == nullptr || container->identity.pod_uid.empty() || container->identity.id.empty()) return;
  remember(container->identity.id, {kill.time, kill.victim, container->id});
}

void StatusJudge::remember(const std::string& run, const Kill& kill) {
  const bool is_new = kills_.insert_or_assign(run, kill).second;
  if (!is_new) return;
  if (waiting_.size() >= kMax) waiting_.pop_front();
  waiting_.emplace_back(kill.time, run);
  by_age_.push_back(run);
  if (by_age_.size() <= kMax) return;
  if (const auto oldest = kills_.find(by_age_.front()); oldest != kills_.end()) {
    forgot_ = oldest->second.time;
    kills_.erase(oldest);
  }
  by_age_.pop_front();
}

bool StatusJudge::is_first_look(const std::string& run) {
  if (!judged_.insert(run).second) return false;
  judged_by_age_.push_back(run);
  if (judged_by_age_.size() > 2 * kMax) {
    judged_.erase(judged_by_age_.front());
    judged_by_age_.pop_front();
  }
  return true;
}

std::vector<StatusFinding> StatusJudge::on_pod(const PodSeen& pod) {
  if (!begun_) begun_ = pod.time;
  std::vector<StatusFinding> findings;
  for (const PodContainer& container : pod.containers) {
    // The older run first: its end may withdraw a claim.
    for (const auto* end : {&container.earlier_termination, &container.last_termination}) {
      if (*end) judge(**end, container, pod, findings);
    }
  }
  return findings;
}

void StatusJudge::judge(const PodTermination& how, const PodContainer& container, const PodSeen& pod,
                        std::vector<StatusFinding>& findings) {
  if (!how.finished || how.container_id.empty()) return;
  const End end{how, container, pod, {how.finished->ns - pod.wall_offset_ns}};
  if (auto withdrawal = withdrawal_of(end)) findings.push_back(std::move(*withdrawal));
  if (auto finding = claim_of(end)) {
    claim(how.container_id, *finding);
    findings.push_back(std::move(*finding));
  }
}

void StatusJudge::claim(const std::string& run, const StatusFinding& finding) {
  ++counts_[finding.kind];
  if (!claims_.insert_or_assign(run, finding).second) return;
  claims_by_age_.push_back(run);
  if (claims_by_age_.size() <= kMax) return;
  claims_.erase(claims_by_age_.front());
  claims_by_age_.pop_front();
}

bool StatusJudge::is_at_kill(const End& end) const {
  const auto kill = kills_.find(end.how.container_id);
  return kill != kills_.end() && kill->second.time > end.finished - kBefore &&
         kill->second.time < end.finished + kAfter;
}

// A runtime may detect the OOM kill after it reported the end, and then corrects the reason.
std::optional<StatusFinding> StatusJudge::withdrawal_of(const End& end) {
  const auto found = claims_.find(end.how.container_id);
  if (found == claims_.end()) return std::nullopt;
  const bool claims_it_goes_on = found->second.kind == kKillNotInStatus;
  const bool is_agreed = is_at_kill(end) && (claims_it_goes_on || end.how.reason == kOomKilled);
  if (!is_agreed) return std::nullopt;
  StatusFinding finding = std::move(found->second);
  std::erase(claims_by_age_, found->first);
  claims_.erase(found);
  ++withdrawn_[finding.kind];
  finding.is_withdrawn = true;
  finding.text = fmt::format("a later status reports that container {} of pod {}/{} ended with this kill: {}",
                             end.container.name, end.pod.name_space, end.pod.name, end_text(end.how));
  return finding;
}

std::optional<StatusFinding> StatusJudge::claim_of(const End& end) {
  const std::string& run = end.how.container_id;
  const bool is_before_us = end.finished - kBefore < *begun_ || (forgot_ && end.finished - kBefore < *forgot_);
  const auto kill = kills_.find(run);
  if (kill == kills_.end() && is_before_us) return std::nullopt;
  if (!is_first_look(run)) return std::nullopt;
  const bool is_at_end = is_at_kill(end);
  const bool says_oom = end.how.reason == kOomKilled;
  if (says_oom == is_at_end) return std::nullopt;
  const std::string who =
      fmt::format("container {} of pod {}/{}", end.container.name, end.pod.name_space, end.pod.name);
  if (is_at_end) {
    return StatusFinding{
        "kill_with_other_reason",
        fmt::format("the kernel killed in {}, whose end status puts down to {}", who, end_text(end.how)),
        kill->second.victim};
  }
  std::string text = fmt::format("status says {} of {}, but no kill was seen in the {} s before its end", kOomKilled,
                                 who, std::chrono::duration_cast<std::chrono::seconds>(kBefore).count());
  if (kill == kills_.end()) return StatusFinding{"oom_killed_without_kill", std::move(text), {}};
  text += fmt::format(": this kill was {:.0f} s earlier", to_seconds(end.finished - kill->second.time));
  return StatusFinding{"oom_killed_without_kill", std::move(text), kill->second.victim};
}

std::vector<StatusFinding> StatusJudge::tick(MonotonicTime now, const MemoryModel& model) {
  std::vector<StatusFinding> findings;
  while (!waiting_.empty() && now - waiting_.front().first >= kWindow) {
    const std::string run = std::move(waiting_.front().second);
    waiting_.pop_front();
    const auto kill = kills_.find(run);
    if (kill == kills_.end() || judged_.contains(run)) continue;
    auto finding = judge_quiet(run, kill->second, model);
    if (!finding) continue;
    claim(run, *finding);
    findings.push_back(std::move(*finding));
  }
  return findings;
}

std::optional<StatusFinding> StatusJudge::judge_quiet(const std::string& run, const Kill& kill,
                                                      const MemoryModel& model) const {
  const PodContainer* container = model.pods().find_container(run);
  const CgroupState* cgroup = model.find_cgroup(kill.cgroup);
  const bool goes_on = cgroup != nullptr && cgroup->identity.id == run && !cgroup->removed_at;
  if (!goes_on || container == nullptr || !container->is_running || !model.pods().is_current()) return std::nullopt;
  return StatusFinding{
      kKillNotInStatus,
      fmt::format("container {} goes on after this kill, and its status shows nothing of it", container->name),
      kill.victim};
}

}  // namespace oomw
