// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_document.h"

#include "base/json_text.h"
#include "events/json_fields.h"

namespace oomw {
namespace trend_json {

struct Format {
  static constexpr bool kWritesNull = true;
  static constexpr bool kTimesAsText = true;
};

using enum Presence;

void describe(auto& v, Of<TrendDocument::Reading> auto& reading) {
  v("time", reading.time, kRequired);
  v("origin", reading.origin);
  v("is_baseline", reading.is_baseline);
  v("gc_cycle", reading.gc_cycle);
  v("live_bytes", reading.live_bytes);
  v("held_bytes", reading.held_bytes);
  v("buckets", reading.buckets);
  v("complete", reading.is_complete);
  v("file", reading.file, kNull);
}

void describe(auto& v, Of<TrendDocument::Site> auto& site) {
  v("judgement", site.judgement);
  v("readings", site.readings);
  v("growth_share", site.growth_share, kNull);
  v("pair_share", site.pair_share, kNull);
  v("chance", site.chance, kNull);
  v("slope_bytes_per_second", site.slope, kNull);
  v("slope_low_bytes_per_second", site.slope_low, kNull);
  v("slope_high_bytes_per_second", site.slope_high, kNull);
  v("gained_bytes", site.gained_bytes, kNull);
  v("noise_bytes", site.noise_bytes, kNull);
  v("return_share", site.return_share, kNull);
  v("first_live_bytes", site.first_bytes, kNull);
  v("last_live_bytes", site.last_bytes, kNull);
  v("first_held_bytes", site.held_first_bytes, kNull);
  v("last_held_bytes", site.held_last_bytes, kNull);
  v("frames", site.frames, kOmitted);
}

void describe(auto& v, Of<TrendDocument::Judged> auto& judged) {
  v("readings_that_count", judged.readings);
  v("span_seconds", judged.span_seconds, kNull);
  v("sites_seen", judged.sites_seen);
  v("sites_tested", judged.sites_tested);
  v("confidence", judged.confidence, kNull);
  v("whole", judged.whole);
  v("suspects", judged.suspects);
  v("likely", judged.likely);
  v("is_undecided", judged.is_undecided);
  v("sites", judged.sites);
}

void describe(auto& v, Of<TrendDocument> auto& document) {
  int version = TrendDocument::kSchemaVersion;
  v("schema_version", version);
  v.check(version == TrendDocument::kSchemaVersion, "schema_version", "a version that is known here");
  v.object("process", [&](auto& process) {
    process("pid", document.process.pid, kRequired);
    process("start_ticks", document.process.start_ticks);
  });
  v("of", document.of, kOmitted);
  v("readings", document.readings, kRequired);
  v("judged", document.judged, kRequired);
}

}  // namespace trend_json

std::string to_json(const TrendDocument& document) {
  return to_json_text(JsonWriter<trend_json::Format>::json_of(document), 2) + "\n";
}

Result<TrendDocument> trend_document_from_json(std::string_view text) {
  return from_json_text<trend_json::Format, TrendDocument>(text);
}

}  // namespace oomw
