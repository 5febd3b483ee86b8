// SPDX-License-Identifier: Apache-2.0
#include "daemon/trend_once.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "captures/live_read.h"
#include "captures/provenance.h"
#include "daemon/trend_evidence.h"
#include "runtimes/go/go_processes.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxNamed = 10, kMaxNamedFrames = 12;

// The readings of one process.
class Watch {
 public:
  Watch(const Config& config, const TrendWish& wish)
      : config_(config), wish_(wish), processes_(clock_, {.proc_root = config.proc_root}, {}) {}

  // False: it could not be read; why_not() says so.
  [[nodiscard]] bool read(const CaptureTarget& target) {
    const MonotonicTime deadline = clock_.now() + config_.live_timeout;
    LiveRead read = read_live(processes_, target.process, clock_, deadline);
    if (read.failure) {
      why_not_ = read.failure->reason + ": " + read.failure->detail;
      return false;
    }
    process_ = read.process;
    trend_.add(*read.snapshot, {read.taken, ReadingOrigin::kRequest, false});
    const std::string profile = wish_.wants_profiles ? profile_of(target, std::move(read), deadline) : "";
    if (wish_.on_reading) wish_.on_reading(trend_.readings().back(), profile);
    return true;
  }

  [[nodiscard]] TrendFindings findings() const {
    TrendFindings findings;
    findings.process = process_->key;
    findings.report = find_leaks(trend_, std::nullopt, config_.trend.leak);
    name_sites(findings);
    return findings;
  }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  [[nodiscard]] std::string profile_of(const CaptureTarget& target, LiveRead read, MonotonicTime deadline) const {
    CaptureRequest request;
    request.trigger = "trend";
    CaptureFinished event;
    event.method = CaptureMethod::kLive;
    event.time = event.started = read.taken;
    event.process = read.process->key;
    const std::string comment = provenance_comment(CaptureMethod::kLive, request, target, clock_.wall_of(read.taken));
    return store_snapshot(std::move(*read.snapshot), *read.process, std::move(event), comment, clock_, deadline)
        .profile;
  }

  void name_sites(TrendFindings& findings) const {
    std::unique_ptr<FdSource> file;
    std::unique_ptr<go::Symbolizer> symbolizer;
    if (process_->exe) {
      file = std::make_unique<FdSource>(process_->exe->fd());
      if (auto opened = go::Symbolizer::open(*file)) symbolizer = std::move(*opened);
    }
    const auto named = [&](const std::vector<SiteTrend>& sites) {
      std::vector<NamedSite> found;
      for (const SiteTrend& site : std::span(sites).first(std::min(sites.size(), kMaxNamed))) {
        found.push_back({site, frames_of_site(trend_, site.site, symbolizer.get(), kMaxNamedFrames)});
      }
      return found;
    };
    findings.suspects = named(findings.report.suspects);
    findings.likely = named(findings.report.likely);
  }

  const Config& config_;
  const TrendWish& wish_;
  const SystemClock clock_;
  GoProcesses processes_;
  GoProcessPtr process_;
  HeapTrend trend_;
  std::string why_not_;
};

}  // namespace

Result<TrendFindings> watch_trend(const Config& config, const CaptureSelector& selector, const TrendWish& wish) {
  ASSIGN_OR_RETURN(const std::vector<CaptureTarget> targets, find_targets(config, selector));
  Watch watch(config, wish);
  const auto target = std::ranges::find_if(targets, [&](const CaptureTarget& t) { return watch.read(t); });
  if (target == targets.end()) return fail(ErrorCode::kUnavailable, watch.why_not());
  for (std::size_t taken = 1; taken < wish.readings && wish.wait(); ++taken) {
    if (!watch.read(*target)) break;
  }
  return watch.findings();
}

}  // namespace oomw
