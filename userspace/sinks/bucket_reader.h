// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sinks/s3/s3_client.h"

namespace oomw {

// An incident in a bucket, as its keys say.
struct BucketIncident {
  std::string id;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  bool is_whole = false;  // its incident.json is there, which is sent last
};

// Reads what S3Destination wrote: for people, with keys that may list and get. What the bucket answers is not trusted:
// names that lead elsewhere are left out, and everything is bounded.
class BucketReader {
 public:
  static constexpr std::size_t kMaxIncidents = 1'000;  // listed at once, newest first
  static constexpr std::size_t kMaxPages = 100;        // of one listing, 1,000 objects each
  static constexpr std::size_t kMaxFiles = 1'000;      // of one incident
  static constexpr std::size_t kMaxFileBytes = 256u << 20;

  BucketReader(S3Client client, std::string prefix, std::string cluster);

  // Newest first.
  [[nodiscard]] Result<std::vector<BucketIncident>> list();
  // Writes the incident's files to directory/incidents/<id>, incident.json last, each whole or absent; returns that
  // folder. kNotFound: the bucket has no such incident.
  [[nodiscard]] Result<std::string> pull(const std::string& id, const std::string& directory);

 private:
  [[nodiscard]] Result<std::vector<S3Object>> objects_of(const std::string& folder);
  [[nodiscard]] Result<std::vector<std::string>> days();
  [[nodiscard]] Result<> add_day(const std::string& day, std::vector<BucketIncident>& incidents);
  [[nodiscard]] Result<> pull_file(const std::string& key, const std::string& path);

  S3Client client_;
  const std::string prefix_, cluster_;
};

// Counts objects by the folder that they lie in, below `day`; newest first. Pure.
[[nodiscard]] std::vector<BucketIncident> incidents_of_objects(const std::string& day,
                                                               const std::vector<S3Object>& objects);

}  // namespace oomw
