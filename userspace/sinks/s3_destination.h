// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <set>
#include <string>

#include "sinks/delivery.h"
#include "sinks/s3/s3_client.h"

namespace oomw {

// Copies an incident's files to <prefix>/<cluster>/<yyyy-mm-dd>/<id>/ of a bucket, incident.json last: where that
// object is, all others are. A revision sends again only the files that changed. Needs PutObject alone; what is kept
// how long is the bucket's to decide. Files are sent from disk in pieces: memory does not grow with them.
class S3Destination final : public Destination {
 public:
  static constexpr std::size_t kMaxRemembered = 4'096;  // files; a forgotten one is sent again

  S3Destination(S3Client client, std::string prefix, std::string cluster);
  [[nodiscard]] Delivery deliver(const StoredIncident& stored, unsigned nth) override;

 private:
  [[nodiscard]] Delivery send(const std::string& directory, const std::string& name, const std::string& folder);
  void remember(std::string version);

  S3Client client_;
  const std::string prefix_, cluster_;
  std::set<std::string> sent_;  // key, size, inode and time of what the bucket has
  std::deque<std::string> sent_by_age_;
};

// What a refusal by S3 means for delivery. Keys, rights and the bucket are for a person to mend, and no incident is
// lost meanwhile: such refusals are tried again until the outbox's budget ends.
[[nodiscard]] Delivery delivery_of(const S3Outcome& outcome, WallTime now);

}  // namespace oomw
