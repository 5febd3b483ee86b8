// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/event_loop.h"

namespace oomw::test {

// An event loop that runs until what a test waits for stops it, or in vain.
class LoopFixture : public ::testing::Test {
 protected:
  void run_for(Nanoseconds time) {
    const WatchId end = loop->add_once(time, [this] { loop->stop(); });
    loop->run();
    loop->remove(end);
  }
  void run() { run_for(std::chrono::seconds(20)); }

  std::unique_ptr<EventLoop> loop = *EventLoop::make();
};

}  // namespace oomw::test
