// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinks/delivery.h"
#include "sinks/http_client.h"
#include "sinks/otlp_record.h"
#include "store/stored_files.h"

namespace oomw {

using ProfileLabels = std::vector<std::pair<std::string, std::string>>;

// The series that an incident's profile belongs to, as Pyroscope wants it: `service_name` is the same as in the log
// record. `__delta__` "false": without it older servers take a heap for a counter. Pure.
[[nodiscard]] ProfileLabels profile_labels_of(const Incident& incident, const OtlpMapping& mapping);
// The body of push.v1's Push as JSON, or of Parca's WriteRaw. Pure.
[[nodiscard]] std::string push_body(const ProfileLabels& labels, const std::string& id, std::string_view gzip_profile,
                                    bool is_parca);
// A UUID that is the same for the same text.
[[nodiscard]] std::string uuid_of(std::string_view text);
[[nodiscard]] std::string base64(std::string_view bytes);

// A place that profiles are sent to.
struct ProfileStore {
  using Fold = std::function<Result<std::string>(const StoredFile& profile)>;
  using Send =
      std::function<Delivery(const Incident& incident, const IncidentCapture& capture, const std::string& folded)>;
  std::string name;                    // of the note
  std::optional<Nanoseconds> max_age;  // it takes no older ones
  Fold fold;                           // what Send wants of a profile
  Send send;
};
// It takes none of more than an hour. Pyroscope's push.v1, or Parca's writeraw.
[[nodiscard]] ProfileStore pyroscope_store(HttpEndpoint endpoint, bool is_parca, OtlpMapping mapping,
                                           ProfileStore::Fold fold, std::shared_ptr<const std::atomic<bool>> stopping);

// Sends an incident's best heap profile, once: stores add up profiles of the same time, so two of one heap would show
// twice its size. Waits kSettle after the kill first, within which the walk at the kill joins the incident.
//   - one that is too old for the store is dead-lettered;
//   - the note .profile-NAME in the incident's directory names the file that was sent.
class ProfilePush final : public Destination {
 public:
  static constexpr Nanoseconds kSettle = std::chrono::seconds(5);

  ProfilePush(ProfileStore store, std::shared_ptr<const std::atomic<bool>> stopping, const Clock& clock);
  [[nodiscard]] Delivery deliver(const StoredIncident& stored, unsigned nth) override;

 private:
  [[nodiscard]] bool settle(WallTime kill) const;
  [[nodiscard]] Delivery send(const Incident& incident, const IncidentCapture& capture, const std::string& directory);

  const ProfileStore store_;
  const std::shared_ptr<const std::atomic<bool>> stopping_;
  const Clock& clock_;
};

}  // namespace oomw
