// SPDX-License-Identifier: Apache-2.0
// What fills a process, as an analysis would list it, minute after minute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "analyses/contents_runtime.h"
#include "support/mib.h"
#include "trends/heap_trends.h"

namespace oomw::test {

using Contents = std::map<std::string, double>;  // name -> MiB; " as X" ends a holder's

inline HeapAnalysed analysed_contents(const Contents& contents, double whole_mib, MonotonicTime time,
                                      RuntimeKind of = RuntimeKind::kCpython) {
  HeapAnalysed analysed;
  analysed.of = of;
  analysed.result = CaptureResult::kOk;
  analysed.time = time;
  analysed.parts = {{"anonymous", "", static_cast<std::uint64_t>(whole_mib * kMiB), "mappings"}};
  for (const auto& [name, mib] : contents) {
    const std::size_t as = name.find(" as ");
    HeapFiller filler{"type", name.substr(0, as), "", static_cast<std::uint64_t>(mib * kMiB), 1, 0};
    if (as != std::string::npos) filler.kind = "holder", filler.held_as = "`" + name.substr(as + 4) + "`";
    analysed.fillers.push_back(filler);
  }
  std::ranges::stable_sort(analysed.fillers, std::ranges::greater(), &HeapFiller::bytes);
  if (analysed.fillers.size() > HeapAnalysed::kMaxFillers) analysed.fillers.resize(HeapAnalysed::kMaxFillers);
  return analysed;
}

// Judged after each reading as the daemon does it, with its parameters.
class ContentsStory {
 public:
  explicit ContentsStory(RuntimeKind of = RuntimeKind::kCpython) : of_(of) {}

  void read(double minute, const Contents& contents, double whole_mib) {
    const MonotonicTime time{static_cast<std::int64_t>(minute * 60e9)};
    trend.add(process.reading_of(analysed_contents(contents, whole_mib, time, of_)),
              {time, ReadingOrigin::kScheduled, false});
    const TrendSeries series = series_of(trend, config.leak.min_gained_bytes, *trend.after_start_up());
    report = find_leaks(series, kLimit, config.leak);
    if (report.readings < config.leak.min_readings) return;
    suspicion.add(report.is_alarming, report.span_seconds, to_seconds(config.suspect_after));
    was_suspected |= suspicion.is_raised();
  }
  [[nodiscard]] std::vector<std::string> name_of(const SiteTrend& site) const {
    return frames_of_site(trend, site.site, *process.names(clock_, {}), 2);
  }

  static constexpr std::uint64_t kLimit = std::uint64_t{1} << 30;
  const TrendConfig config = contents_trends_config({});
  ContentsProcess process{{7, 1}, {}};
  HeapTrend trend;
  LeakReport report;
  Suspicion suspicion;
  bool was_suspected = false;

 private:
  const RuntimeKind of_;
  SystemClock clock_;
};

}  // namespace oomw::test
