// SPDX-License-Identifier: Apache-2.0
#include "daemon/trend_once.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analyses/analysis.h"
#include "analyses/contents_runtime.h"
#include "captures/provenance.h"
#include "pprof/codec.h"
#include "runtimes/go/go_registry.h"
#include "runtimes/go/inspection_jobs.h"
#include "trends/trend_evidence.h"
#include "trends/trend_judgement.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxNamed = 10, kMaxNamedFrames = 12;

// The readings of one process.
class Watch {
 public:
  Watch(const Config& config, const TrendRequest& request)
      : config_(config),
        request_(request),
        inspector_(clock_),
        go_(clock_, {.proc_root = config.proc_root, .inspector = &inspector_}, {}),
        reader_(clock_, {}, 1),
        contents_(clock_, &reader_, nullptr, {.proc_root = config.proc_root, .least_bytes = 0, .reads_go = true}, {}) {}

  // False: it could not be read; why_not() has the reason.
  [[nodiscard]] bool read(const CaptureTarget& target) {
    if (runtime_ != nullptr) return read_by(*runtime_, target);
    if (read_by(go_, target)) return true;
    if (reason_ == CaptureReason::kGone || reason_ == CaptureReason::kPermission) return false;
    const std::string no_profile = std::exchange(why_not_, {});
    contents_.set_processes({target.process});
    if (read_by(contents_, target)) return true;
    why_not_ = no_profile + "; what fills it: " + why_not_;
    return false;
  }

  [[nodiscard]] TrendFindings findings() const {
    TrendFindings findings;
    findings.process = process_->key;
    findings.of = process_->kind();
    findings.is_judged = is_of_go() || are_contents_judged(findings.of);
    findings.report = find_leaks(trend_, std::nullopt, config_.trend.leak);
    const auto names = process_->names(clock_, clock_.now() + config_.live_timeout);
    findings.suspects = named(findings.report.suspects, *names);
    findings.likely = named(findings.report.likely, *names);
    if (!is_of_go()) findings.grown = named(grown_sites(trend_), *names);
    findings.ended = why_not_;
    return findings;
  }
  [[nodiscard]] bool is_of_go() const { return runtime_ == &go_; }
  [[nodiscard]] CaptureReason reason() const { return reason_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  [[nodiscard]] bool read_by(Runtime& runtime, const CaptureTarget& target) {
    const bool is_go = &runtime == &go_;
    const MonotonicTime deadline = clock_.now() + (is_go ? config_.live_timeout : kMaxAnalysisTime);
    HeapRead read = runtime.read(target.process, deadline);
    if (!read.reading) {
      reason_ = read.failure.reason;
      why_not_ = std::string(to_string(read.failure.reason)) + ": " + read.failure.detail;
      return false;
    }
    why_not_.clear();
    runtime_ = &runtime;
    process_ = read.process;
    trend_.add(*read.reading, {read.reading->as_of, ReadingOrigin::kRequest, false});
    const bool wants_profile = request_.wants_profiles && is_go;
    const std::string profile = wants_profile ? profile_of(target, std::move(*read.reading), deadline) : "";
    if (request_.on_reading) request_.on_reading(trend_.readings().back(), profile);
    return true;
  }

  [[nodiscard]] std::string profile_of(const CaptureTarget& target, HeapReading reading, MonotonicTime deadline) const {
    CaptureRequest request;
    request.trigger = {CaptureTrigger::Kind::kTrend};
    const WallTime taken = clock_.wall_of(reading.as_of);
    const std::string comment = provenance_comment(CaptureMethod::kLive, request, target, taken);
    return pprof::write(process_->names(clock_, deadline)->profile_of(reading, taken, {comment}));
  }

  [[nodiscard]] std::vector<NamedSite> named(const std::vector<SiteTrend>& sites, ProgramNames& names) const {
    std::vector<NamedSite> found;
    for (const SiteTrend& site : std::span(sites).first(std::min(sites.size(), kMaxNamed))) {
      found.push_back({site, frames_of_site(trend_, site.site, names, kMaxNamedFrames)});
    }
    return found;
  }

  const Config& config_;
  const TrendRequest& request_;
  const SystemClock clock_;
  go::SandboxedInspector inspector_;
  GoRegistry go_;
  reader::ReaderGroup reader_;
  ContentsRuntime contents_;
  Runtime* runtime_ = nullptr;  // that has read it
  RuntimeProcessPtr process_;
  HeapTrend trend_;
  CaptureReason reason_ = CaptureReason::kNone;
  std::string why_not_;
};

}  // namespace

Result<TrendFindings> watch_trend(const Config& config, const CaptureSelector& selector, const TrendRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<CaptureTarget> targets, find_targets(config, selector));
  Watch watch(config, request);
  const auto target = std::ranges::find_if(targets, [&](const CaptureTarget& t) { return watch.read(t); });
  if (target == targets.end()) {
    return fail(watch.reason() == CaptureReason::kPermission ? ErrorCode::kPermission : ErrorCode::kUnavailable,
                fmt::format("pid {} could not be read: {}", targets.front().process.pid, watch.why_not()));
  }
  if (request.wants_profiles && !watch.is_of_go()) {
    return fail(ErrorCode::kUnsupported, fmt::format("pid {} has no heap profiles; oomwitness capture -o FILE writes "
                                                     "what fills it, oomwitness diff compares two such files",
                                                     target->process.pid));
  }
  for (std::size_t taken = 1; taken < request.readings && request.wait(); ++taken) {
    if (!watch.read(*target)) break;
  }
  return watch.findings();
}

}  // namespace oomw
