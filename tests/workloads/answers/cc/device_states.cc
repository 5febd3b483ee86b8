// SPDX-License-Identifier: Apache-2.0
// The last state of each device of a fleet, by its name. Devices choose a new name whenever they start again.
#include <cstdint>
#include <string>
#include <unordered_map>

#include "pace.h"

struct DeviceState {
  double temperatures[40];
  std::string firmware;
  uint64_t seen;
};

class DeviceRegistry {
 public:
  __attribute__((noinline)) void observe(const std::string& name, double temperature, uint64_t now) {
    DeviceState& state = states_[name];
    for (double& t : state.temperatures) t = temperature;
    state.firmware = "firmware-2.14.7-" + std::to_string(now % 5);
    state.seen = now;
  }

 private:
  std::unordered_map<std::string, DeviceState> states_;
};

int main() {
  DeviceRegistry registry;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 4500, number); number < due; ++number) {
      registry.observe("device-" + std::to_string(number * 104729), number % 40, number);
    }
  }
}
