// SPDX-License-Identifier: Apache-2.0
#include "web/metrics_route.h"

#include <memory>
#include <string>
#include <utility>

#include "export/prometheus.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr Nanoseconds kMaxAge = std::chrono::seconds(1);

using Text = std::shared_ptr<const std::string>;

// The last text, as long as somebody reads it: it is not held between scrapes.
class MetricsText {
 public:
  MetricsText(SnapshotSource snapshot, const Clock& clock, LiveFiguresSource live)
      : snapshot_(std::move(snapshot)), clock_(clock), live_(std::move(live)) {}

  HttpResponse answer(bool is_gzip) {
    const auto current = snapshot_();
    if (!current) return text_response(kHttpUnavailable, "starting\n");
    const MonotonicTime now = clock_.now();
    if (current->built != built_ || now - made_ > kMaxAge) {
      plain_.reset();
      packed_.reset();
      built_ = current->built;
      made_ = now;
    }
    HttpResponse response{kHttpOk, "text/plain; version=0.0.4; charset=utf-8", nullptr, is_gzip};
    response.body = is_gzip ? packed(*current) : plain(*current);
    return response;
  }

 private:
  Text plain(const MetricsSnapshot& snapshot) {
    Text text = plain_.lock();
    if (!text) plain_ = text = std::make_shared<const std::string>(to_prometheus_text(snapshot, live_()));
    return text;
  }

  Text packed(const MetricsSnapshot& snapshot) {
    Text text = packed_.lock();
    if (!text) packed_ = text = std::make_shared<const std::string>(pprof::gzip(*plain(snapshot)));
    return text;
  }

  const SnapshotSource snapshot_;
  const Clock& clock_;
  const LiveFiguresSource live_;
  MonotonicTime built_, made_;
  std::weak_ptr<const std::string> plain_, packed_;
};

}  // namespace

Route metrics_route(SnapshotSource snapshot, const Clock& clock, LiveFiguresSource live) {
  const auto text = std::make_shared<MetricsText>(std::move(snapshot), clock, std::move(live));
  return {"GET", "/metrics", [text](const HttpRequest& request) { return text->answer(request.accepts_gzip); }, false};
}

}  // namespace oomw
