// SPDX-License-Identifier: Apache-2.0
#include "model/status_judge.h"

#include <fmt/format.h>

namespace oomw {
namespace {

constexpr const char* kOomKilled = "OOMKilled";

std::string end_text(const PodTermination& end) {
  const std::string code = end.exit_code ? fmt::format(" (exit code {})", *end.exit_code) : "";
  return (end.reason.empty() ? "no reason" : end.reason) + code;
}

}  // namespace

void StatusJudge::on_kill(const OomKill& kill, const MemoryModel& model) {
  if (!begun_) begun_ = kill.time;
  const CgroupState* container = model.container_of(model.cgroup_of(kill));
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
    if (auto finding = judge(container, pod)) findings.push_back(std::move(*finding));
  }
  for (const StatusFinding& finding : findings) ++counts_[finding.kind];
  return findings;
}

std::optional<StatusFinding> StatusJudge::judge(const PodContainer& container, const PodSeen& pod) {
  const auto& end = container.last_termination;
  if (!end || !end->finished || end->container_id.empty()) return std::nullopt;
  const MonotonicTime finished{end->finished->ns - pod.wall_offset_ns};
  const bool is_before_us = finished - kBefore < *begun_ || (forgot_ && finished - kBefore < *forgot_);
  const auto kill = kills_.find(end->container_id);
  if (kill == kills_.end() && is_before_us) return std::nullopt;
  if (!is_first_look(end->container_id)) return std::nullopt;
  const bool is_at_end =
      kill != kills_.end() && kill->second.time > finished - kBefore && kill->second.time < finished + kAfter;
  const bool says_oom = end->reason == kOomKilled;
  if (says_oom == is_at_end) return std::nullopt;
  const std::string who = fmt::format("container {} of pod {}/{}", container.name, pod.name_space, pod.name);
  if (is_at_end) {
    return StatusFinding{"kill_with_other_reason",
                         fmt::format("the kernel killed in {}, whose end status puts down to {}", who, end_text(*end)),
                         kill->second.victim};
  }
  std::string text = fmt::format("status says {} of {}, but no kill was seen in the {} s before its end", kOomKilled,
                                 who, std::chrono::duration_cast<std::chrono::seconds>(kBefore).count());
  if (kill == kills_.end()) return StatusFinding{"oom_killed_without_kill", std::move(text), {}};
  text += fmt::format(": this kill was {:.0f} s earlier", to_seconds(finished - kill->second.time));
  return StatusFinding{"oom_killed_without_kill", std::move(text), kill->second.victim};
}

std::vector<StatusFinding> StatusJudge::tick(MonotonicTime now, const MemoryModel& model) {
  std::vector<StatusFinding> findings;
  while (!waiting_.empty() && now - waiting_.front().first >= kWindow) {
    const std::string run = std::move(waiting_.front().second);
    waiting_.pop_front();
    const auto kill = kills_.find(run);
    if (kill == kills_.end() || judged_.contains(run)) continue;
    if (auto finding = judge_quiet(run, kill->second, model)) findings.push_back(std::move(*finding));
  }
  for (const StatusFinding& finding : findings) ++counts_[finding.kind];
  return findings;
}

std::optional<StatusFinding> StatusJudge::judge_quiet(const std::string& run, const Kill& kill,
                                                      const MemoryModel& model) const {
  const PodContainer* container = model.pods().find_container(run);
  const CgroupState* cgroup = model.find_cgroup(kill.cgroup);
  const bool goes_on = cgroup != nullptr && cgroup->identity.id == run && !cgroup->removed_at;
  if (!goes_on || container == nullptr || !container->is_running || !model.pods().is_current()) return std::nullopt;
  return StatusFinding{
      "kill_not_in_status",
      fmt::format("container {} goes on after this kill, and its status shows nothing of it", container->name),
      kill.victim};
}

}  // namespace oomw
