// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sinks/delivery.h"
#include "sinks/http_client.h"

namespace oomw {

// POSTs incident.json as it is on disk, with headers that may name the incident (header_field_of), or within the
// envelope of a CloudEvent 1.0 (structured mode), whose id is the incident's and whose `oomwrevision` counts its forms.
class Webhook final : public Destination {
 public:
  Webhook(HttpEndpoint endpoint, bool is_cloud_event, std::string source,
          std::shared_ptr<const std::atomic<bool>> stopping);
  [[nodiscard]] Delivery deliver(const StoredIncident& stored, unsigned nth) override;

 private:
  const bool is_cloud_event_;
  const std::string source_;
  HttpClient client_;
};

// "" = `json` is not JSON. source: "/clusters/prod/nodes/n1".
[[nodiscard]] std::string cloud_event_of(const Incident& incident, std::string_view json, const std::string& source,
                                         unsigned nth);
// What "{name}" in a header stands for: id, revision, namespace, pod, container, node, scope or cause; "" where that is
// not known. nullopt: another name.
[[nodiscard]] std::optional<std::string> header_field_of(const Incident& incident, unsigned nth, std::string_view name);
// The node and the cluster that an incident is of, as a URI reference.
[[nodiscard]] std::string event_source_of(const Incident& incident, const std::string& prefix);

}  // namespace oomw
