// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/enum_names.h"
#include "store/incident_reader.h"

namespace oomw {

// Why an incident was not delivered. The names are metric labels.
enum class DeliveryReason : std::uint8_t {
  kNone,
  kConnect,  // refused, no route, no such host
  kTls,      // the certificate is not of a CA that is trusted, or of another host
  kTimeout,
  kCut,           // closed without a whole answer
  kRateLimited,   // 429
  kUnavailable,   // 502, 503, 504
  kBadAnswer,     // a success that is none: endless, or not of the protocol
  kDisk,          // a file could not be written
  kRedirect,      // 3xx: none is followed
  kUnauthorized,  // 401
  kForbidden,     // 403
  kTooLarge,      // 413
  kRefused,       // any other status
  kRejected,      // accepted in part: not this record
  kSetup,         // the sink's own settings: a file of headers that cannot be read
  kUnreadable,    // incident.json cannot be read
  kAge,           // undelivered for longer than the budget
  kBytes,         // more bytes undelivered than the budget
};
template <>
inline constexpr auto kEnumNames<DeliveryReason> = std::to_array<std::string_view>(
    {"none", "connect", "tls", "timeout", "cut", "rate_limited", "unavailable", "bad_answer", "disk", "redirect",
     "unauthorized", "forbidden", "too_large", "refused", "rejected", "setup", "unreadable", "age", "bytes"});

// How one try to deliver an incident ended.
struct Delivery {
  enum class Outcome : std::uint8_t {
    kSent,
    kNothing,  // there is nothing to deliver of this incident here, now or later
    kRetry,    // may work later
    kRefused,  // would fail again: dead-lettered
  };
  Outcome outcome = Outcome::kSent;
  DeliveryReason reason = DeliveryReason::kNone;
  std::string detail;         // for people, printable; "" when sent
  Nanoseconds retry_after{};  // requested by the other side; 0 = it requested none

  [[nodiscard]] static Delivery sent() { return {}; }
  [[nodiscard]] static Delivery nothing() { return {Outcome::kNothing, DeliveryReason::kNone, "", {}}; }
  [[nodiscard]] static Delivery retry(DeliveryReason reason, std::string detail, Nanoseconds retry_after = {}) {
    return {Outcome::kRetry, reason, std::move(detail), retry_after};
  }
  [[nodiscard]] static Delivery refused(DeliveryReason reason, std::string detail) {
    return {Outcome::kRefused, reason, std::move(detail), {}};
  }
};

// Where incidents are delivered to. One Outbox owns it and calls it from its thread only.
class Destination {
 public:
  virtual ~Destination() = default;
  // May block, but not for longer than the destination's own timeout. The same incident may come again, under the same
  // id: the marker of a delivery is written after it. `nth`: 1 for the incident, 2 for its first revision sent, ...
  [[nodiscard]] virtual Delivery deliver(const StoredIncident& stored, unsigned nth) = 0;
  // False: only the first form of an incident is delivered.
  [[nodiscard]] virtual bool takes_revisions() const { return true; }
  // Asked after each delivery: how long none may follow, for a destination with a pace of its own.
  [[nodiscard]] virtual Nanoseconds pause() const { return {}; }
  // Where what is old is worth less: a backlog must not hold up the incident of now.
  [[nodiscard]] virtual bool is_newest_first() const { return false; }
};

}  // namespace oomw
