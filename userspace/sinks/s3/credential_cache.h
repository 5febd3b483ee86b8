// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/s3/credential_source.h"
#include "sinks/s3/s3_call.h"

namespace oomw {

// The credentials that hold now: files and tokens are read again for each fetch, because they are replaced in place;
// what expires is fetched anew kEarly before. One thread; may block on the network and on the disk.
class CredentialCache {
 public:
  static constexpr Nanoseconds kEarly = std::chrono::minutes(5);
  static constexpr Nanoseconds kFileFor = std::chrono::minutes(1);  // then a file is read again

  CredentialCache(CredentialPlan plan, S3Perform perform, std::string ca_file);

  // kPermission: they are refused. kUnavailable: it may work later.
  [[nodiscard]] Result<AwsCredentials> get(WallTime now);
  // The server refused what get() gave: the next get() fetches anew.
  void forget() { held_.reset(); }

 private:
  [[nodiscard]] Result<TimedCredentials> fetch() const;
  [[nodiscard]] Result<TimedCredentials> from_sts() const;
  [[nodiscard]] Result<TimedCredentials> from_endpoint() const;

  const CredentialPlan plan_;
  const S3Perform perform_;
  const std::string ca_file_;
  std::optional<TimedCredentials> held_;
  WallTime fetched_;
};

}  // namespace oomw
