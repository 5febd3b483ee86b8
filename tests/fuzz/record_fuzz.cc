// SPDX-License-Identifier: Apache-2.0

#include "events/record.h"
#include "fuzz/text_target.h"

// Any line: refused, or an event that writes and reads as itself from then on.
void fuzz_text(std::string_view text) {
  const auto event = oomw::event_from_json_line(text);
  if (!event.has_value()) return;
  const std::string line = oomw::to_json_line(*event);
  const auto again = oomw::event_from_json_line(line);
  OOMW_CHECK(again.has_value());
  OOMW_CHECK(oomw::to_json_line(*again) == line);
}
