// SPDX-License-Identifier: Apache-2.0
// What a server answers to a delivery, and what lies in the files that say what became of one.

#include "base/result.h"
#include "fuzz/text_target.h"
#include "sinks/delivery_marker.h"
#include "sinks/http_client.h"
#include "sinks/otlp_logs.h"
#include "sinks/sink_status.h"

namespace {

void try_answer(std::string_view body, const char* content_type, bool is_json) {
  oomw::HttpAnswer answer;
  answer.status = 200;
  answer.body = body;
  answer.content_type = content_type;
  const oomw::Delivery delivery = oomw::otlp_delivery_of(answer, is_json);
  OOMW_CHECK(delivery.detail.size() <= 4'096);
  OOMW_CHECK(delivery.outcome == oomw::Delivery::Outcome::kSent || delivery.reason != oomw::DeliveryReason::kNone);
}

}  // namespace

void fuzz_text(std::string_view text) {
  // Longer answers are cut off before anybody parses them.
  if (text.size() > oomw::HttpClient::kMaxAnswer) return;
  try_answer(text, "application/x-protobuf", false);
  try_answer(text, "application/json", true);
  const oomw::Nanoseconds wait = oomw::retry_after_of(text.substr(0, 256), oomw::WallTime{1'795'230'245'000'000'000});
  OOMW_CHECK(wait >= oomw::Nanoseconds(0) && wait <= std::chrono::hours(1));
  if (const auto lines = oomw::parse_header_lines(text)) {
    for (const std::string& line : *lines) OOMW_CHECK(line.find_first_of("\r\n") == std::string::npos);
  }
  if (const auto marker = oomw::parse_marker(text)) {
    OOMW_CHECK(oomw::parse_marker(oomw::to_marker_text(*marker)).has_value());
  }
  (void)oomw::parse_sink_status(text);
}
