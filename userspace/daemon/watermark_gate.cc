// SPDX-License-Identifier: Apache-2.0
#include "daemon/watermark_gate.h"

#include <utility>
#include <variant>

#include "base/log.h"

namespace oomw {

namespace {

FileEventsConfig crossings_config(const std::vector<std::uint32_t>& levels_percent, std::size_t max_watched) {
  FileEventsConfig config;
  config.max_watched = max_watched;
  config.watermarks = true;
  config.levels_percent = levels_percent;
  config.poll_slow = config.poll_fast = WatermarkGate::kPoll;
  if (levels_percent.empty()) return config;
  const std::uint32_t first = levels_percent.front();
  const std::uint32_t ahead =
      first > 2 * WatermarkGate::kAheadPercent ? first - WatermarkGate::kAheadPercent : first / 2;
  if (ahead > 0) config.levels_percent.insert(config.levels_percent.begin(), ahead);
  return config;
}

}  // namespace

WatermarkGate::WatermarkGate(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock,
                             const std::vector<std::uint32_t>& levels_percent, const WatermarkGateConfig& config,
                             SetAttached set_attached)
    : clock_(clock),
      hold_(config.hold),
      set_attached_(std::move(set_attached)),
      held_until_(clock.now() + config.hold) {
  auto made = FileEvents::make(loop, cgroups, clock, crossings_config(levels_percent, config.max_watched),
                               [this](const Event&) { hold_open(); });
  if (made.has_value()) crossings_ = std::move(*made);
}

void WatermarkGate::on_event(const Event& event) {
  if (crossings_) crossings_->on_event(event);
  const auto* created = std::get_if<CgroupCreated>(&event);
  if (created != nullptr && !created->existed) hold_open();
}

void WatermarkGate::tick() {
  if (!crossings_ || !crossings_->watches_every_limit()) hold_open();
  if (clock_.now() >= held_until_) set(false);
}

void WatermarkGate::hold_open() {
  held_until_ = clock_.now() + hold_;
  set(true);
}

// A hook that could not be attached is tried again with the next request for it.
void WatermarkGate::set(bool is_open) {
  if (is_open == is_open_) return;
  if (Result<> done = set_attached_(is_open); !done.has_value()) {
    log::error("the hook on page faults: {}", done.error().message);
    return;
  }
  is_open_ = is_open;
  ++changes_;
}

}  // namespace oomw
