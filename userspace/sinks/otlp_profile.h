// SPDX-License-Identifier: Apache-2.0
// A heap profile in OpenTelemetry's form, of which the wire format is alpha: messages of opentelemetry.proto.profiles
// v1development, proto 1.11.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pprof/profile.h"
#include "sinks/otlp_resource.h"
#include "sinks/otlp_settings.h"
#include "sinks/profile_push.h"

namespace oomw {

// Two messages, encoded: the tables, and a Profile that points into them; without its time and id.
struct OtlpProfile {
  std::string dictionary, profile;
};

// What is in use (else the last sample type), a sample for each stack. Locations and functions that the profile names
// but does not have are left out. Pure; runs in the reader process.
[[nodiscard]] OtlpProfile otlp_profile_of(const pprof::Profile& profile);

// The profile of an incident: 32 hex digits, for the log record and the Profile. There is one, whichever capture it is.
[[nodiscard]] std::string otlp_profile_id(const std::string& incident_id);

// ExportProfilesServiceRequest.
[[nodiscard]] std::string otlp_profile_request(const std::vector<OtlpAttribute>& resource, std::string_view dictionary,
                                               std::string_view profile, WallTime time, const std::string& incident_id);

// An OTLP/HTTP receiver as a store of profiles. fold: as OTLP (fold_job.h).
[[nodiscard]] ProfileStore otlp_profile_store(OtlpSettings settings, OtlpMapping mapping, ProfileStore::Fold fold,
                                              std::shared_ptr<const std::atomic<bool>> stopping);

}  // namespace oomw
