// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_logs.h"

#include <cstdint>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/json_text.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr const char* kProtobuf = "application/x-protobuf";
constexpr const char* kJson = "application/json";
// The answers to logs and to metrics have the same fields; in JSON one of them has another name.
constexpr unsigned kPartialSuccess = 1;                      // Export...ServiceResponse
constexpr unsigned kRejectedRecords = 1, kErrorMessage = 2;  // Export...PartialSuccess

struct PartialSuccess {
  std::int64_t rejected = 0;
  std::string message;
};

// nullopt: not a response.
std::optional<PartialSuccess> partial_success_of(const std::string& protobuf) {
  try {
    PartialSuccess found;
    protozero::pbf_reader response(protobuf);
    while (response.next()) {
      if (response.tag_and_type() !=
          protozero::tag_and_type(kPartialSuccess, protozero::pbf_wire_type::length_delimited)) {
        response.skip();
        continue;
      }
      protozero::pbf_reader partial = response.get_message();
      while (partial.next()) {
        if (partial.tag() == kRejectedRecords && partial.wire_type() == protozero::pbf_wire_type::varint) {
          found.rejected = partial.get_int64();
        } else if (partial.tag() == kErrorMessage &&
                   partial.wire_type() == protozero::pbf_wire_type::length_delimited) {
          found.message = partial.get_string();
        } else {
          partial.skip();
        }
      }
    }
    return found;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

// Nothing of it is copied but texts and numbers: copying a value calls itself for each level, and an answer may have
// thousands.
std::optional<PartialSuccess> partial_success_of_json(const std::string& text) {
  try {
    const nlohmann::json response = parse_json(text);
    if (!response.is_object()) return std::nullopt;
    PartialSuccess found;
    const auto partial = response.find("partialSuccess");
    if (partial == response.end()) return found;
    found.message = partial->value("errorMessage", "");
    const char* key = partial->contains("rejectedDataPoints") ? "rejectedDataPoints" : "rejectedLogRecords";
    const auto rejected = partial->find(key);
    if (rejected == partial->end()) return found;
    found.rejected = rejected->is_string()
                         ? static_cast<std::int64_t>(parse_u64(rejected->get<std::string>()).value_or(0))
                         : rejected->get<std::int64_t>();
    return found;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Delivery otlp_delivery_of(const HttpAnswer& answer, bool is_json) {
  Delivery delivery = delivery_of(answer);
  if (delivery.outcome != Delivery::Outcome::kSent || answer.body.empty()) return delivery;
  if (!answer.content_type.starts_with(is_json ? kJson : kProtobuf)) {
    return Delivery::retry(DeliveryReason::kBadAnswer, "a success of another content type: not an OTLP receiver");
  }
  const auto partial = is_json ? partial_success_of_json(answer.body) : partial_success_of(answer.body);
  if (!partial) return Delivery::retry(DeliveryReason::kBadAnswer, "a success that is not an OTLP answer");
  if (partial->rejected <= 0) return delivery;
  return Delivery::refused(DeliveryReason::kRejected, printable(partial->message, 256));
}

std::function<Delivery(const std::string& body)> otlp_poster(const OtlpSettings& settings,
                                                             std::shared_ptr<const std::atomic<bool>> stopping) {
  auto client = std::make_shared<HttpClient>(settings.endpoint, std::move(stopping));
  return [client, is_json = settings.is_json, is_gzip = settings.is_gzip](const std::string& body) {
    return otlp_delivery_of(client->post({body, is_json ? kJson : kProtobuf, is_gzip}), is_json);
  };
}

OtlpLogs::OtlpLogs(OtlpSettings settings, OtlpMapping mapping, std::shared_ptr<const std::atomic<bool>> stopping,
                   const Clock& clock)
    : settings_(std::move(settings)),
      mapping_(std::move(mapping)),
      clock_(clock),
      client_(settings_.endpoint, std::move(stopping)) {}

Delivery OtlpLogs::deliver(const StoredIncident& stored, unsigned nth) {
  const OtlpRecord record = otlp_record_of(stored.incident, stored.directory, nth, clock_.wall_now(), mapping_);
  const std::string body = settings_.is_json ? to_otlp_json(record) : to_otlp_protobuf(record);
  const HttpAnswer answer = client_.post({body, settings_.is_json ? kJson : kProtobuf, settings_.is_gzip});
  return otlp_delivery_of(answer, settings_.is_json);
}

}  // namespace oomw
