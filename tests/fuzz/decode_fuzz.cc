// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <span>
#include <vector>

#include "events/decode.h"
#include "events/record.h"
#include "fuzz/text_target.h"

// Any bytes, and the same bytes with a truthful size field so that the fuzzer gets past it. What
// decodes must also survive being recorded and read back.
namespace {

void feed(std::span<const std::byte> record) {
  const auto event = oomw::decode(record);
  if (!event.has_value()) return;
  const std::string line = oomw::to_json_line(*event);
  const auto again = oomw::event_from_json_line(line);
  OOMW_CHECK(again.has_value());
  OOMW_CHECK(oomw::to_json_line(*again) == line);
}

}  // namespace

void fuzz_text(std::string_view record) {
  feed(std::as_bytes(std::span(record)));
  std::vector<char> honest(record.begin(), record.end());
  const auto claimed = static_cast<std::uint32_t>(record.size());
  if (record.size() >= 8) std::memcpy(honest.data() + 4, &claimed, sizeof(claimed));
  feed(std::as_bytes(std::span(honest)));
}
