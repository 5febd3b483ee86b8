// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "events/record.h"
#include "fuzz/cost_oracle.h"

// Any line: refused, or an event that writes and reads as itself from then on.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const oomw::fuzz::CostOracle oracle(size);
  const auto event = oomw::event_from_json_line({reinterpret_cast<const char*>(data), size});
  if (!event.has_value()) return 0;
  const std::string line = oomw::to_json_line(*event);
  const auto again = oomw::event_from_json_line(line);
  OOMW_CHECK(again.has_value());
  OOMW_CHECK(oomw::to_json_line(*again) == line);
  return 0;
}
