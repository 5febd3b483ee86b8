// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "incidents/correlator.h"
#include "unit/model/event_builders.h"

namespace oomw::testing {

// A model and a correlator that see the same events.
class CorrelatorFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t kWallOffset = 1'795'000'000'000'000'000;

  explicit CorrelatorFixture(std::initializer_list<Event> events) {
    for (const Event& event : events) apply(event);
  }
  void apply(const Event& event) {
    model_.apply(event);
    correlator_.apply(event, model_);
  }
  std::vector<Incident> take(std::int64_t ms) { return correlator_.take_ready(at_ms(ms), model_, kWallOffset); }

  MemoryModel model_;
  Correlator correlator_{CorrelatorConfig{}};
};

}  // namespace oomw::testing
