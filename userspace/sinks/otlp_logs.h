// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "sinks/delivery.h"
#include "sinks/http_client.h"
#include "sinks/otlp_record.h"
#include "sinks/otlp_settings.h"

namespace oomw {

// OTLP/HTTP: one log record for each form of an incident. Revisions carry the same oomwitness.incident.id and a higher
// oomwitness.incident.revision.
class OtlpLogs final : public Destination {
 public:
  OtlpLogs(OtlpSettings settings, OtlpMapping mapping, std::shared_ptr<const std::atomic<bool>> stopping,
           const Clock& clock);
  [[nodiscard]] Delivery deliver(const StoredIncident& stored, unsigned nth) override;

 private:
  const OtlpSettings settings_;
  const OtlpMapping mapping_;
  const Clock& clock_;
  HttpClient client_;
};

// The answer to an export: a success may still have rejected the record (partial_success), and one of another content
// type is not a Collector's.
[[nodiscard]] Delivery otlp_delivery_of(const HttpAnswer& answer, bool is_json);

// POSTs bodies that are encoded already; one thread at a time.
[[nodiscard]] std::function<Delivery(const std::string& body)> otlp_poster(
    const OtlpSettings& settings, std::shared_ptr<const std::atomic<bool>> stopping);

}  // namespace oomw
