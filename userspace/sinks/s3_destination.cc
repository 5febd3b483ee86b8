// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3_destination.h"

#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "sinks/http_client.h"
#include "store/stored_files.h"

namespace oomw {
namespace {

DeliveryReason reason_of_failure(S3Failure failure) {
  switch (failure) {
    case S3Failure::kConnect:
      return DeliveryReason::kConnect;
    case S3Failure::kTls:
      return DeliveryReason::kTls;
    case S3Failure::kTimeout:
      return DeliveryReason::kTimeout;
    case S3Failure::kTooLong:
    case S3Failure::kOther:
      return DeliveryReason::kBadAnswer;
    default:
      return DeliveryReason::kCut;
  }
}

std::string version_of(const std::string& key, const StoredFile& file) {
  return key + "\n" + std::to_string(file.bytes) + "\n" + std::to_string(file.inode) + "\n" +
         std::to_string(file.modified_ns);
}

}  // namespace

Delivery delivery_of(const S3Outcome& outcome, WallTime now) {
  using Kind = S3Outcome::Kind;
  switch (outcome.kind) {
    case Kind::kOk:
      return Delivery::sent();
    case Kind::kUnreachable:
      return Delivery::retry(reason_of_failure(outcome.failure), outcome.detail);
    case Kind::kBusy:
      return Delivery::retry(DeliveryReason::kUnavailable, outcome.detail, retry_after_of(outcome.retry_after, now));
    case Kind::kForbidden:
      return Delivery::retry(DeliveryReason::kForbidden, outcome.detail);
    case Kind::kNotFound:
      return Delivery::retry(DeliveryReason::kSetup, outcome.detail);
    case Kind::kMisplaced:
      return Delivery::retry(DeliveryReason::kRedirect, outcome.detail);
    case Kind::kTooLarge:
      return Delivery::refused(DeliveryReason::kTooLarge, outcome.detail);
    case Kind::kRefused:
      break;
  }
  return Delivery::refused(DeliveryReason::kRefused, outcome.detail);
}

S3Destination::S3Destination(S3Client client, std::string prefix, std::string cluster)
    : client_(std::move(client)), prefix_(std::move(prefix)), cluster_(std::move(cluster)) {}

Delivery S3Destination::deliver(const StoredIncident& stored, unsigned) {
  const Result<std::vector<std::string>> names = stored_file_names(stored.directory);
  if (!names) return Delivery::refused(DeliveryReason::kUnreadable, printable(names.error().message));
  const std::string folder = incident_key(prefix_, cluster_, stored.incident.id);
  for (const std::string& name : *names) {
    Delivery delivery = send(stored.directory, name, folder);
    if (delivery.outcome != Delivery::Outcome::kSent) return delivery;
  }
  return Delivery::sent();
}

Delivery S3Destination::send(const std::string& directory, const std::string& name, const std::string& folder) {
  const Result<StoredFile> file = open_stored_file(directory, name);
  if (!file) {
    // A person may have deleted one file of an incident: the rest is worth sending.
    if (file.error().code == ErrorCode::kNotFound && name != "incident.json") return Delivery::sent();
    return Delivery::refused(DeliveryReason::kUnreadable, printable(file.error().message));
  }
  const std::string key = folder + name;
  std::string version = version_of(key, *file);
  if (sent_.contains(version)) return Delivery::sent();
  Delivery delivery = delivery_of(client_.put_file(key, file->fd.get(), file->bytes), SystemClock().wall_now());
  if (delivery.outcome == Delivery::Outcome::kSent) {
    remember(std::move(version));
  } else {
    delivery.detail = printable(name) + ": " + delivery.detail;
  }
  return delivery;
}

void S3Destination::remember(std::string version) {
  if (!sent_.insert(version).second) return;
  sent_by_age_.push_back(std::move(version));
  if (sent_by_age_.size() <= kMaxRemembered) return;
  sent_.erase(sent_by_age_.front());
  sent_by_age_.pop_front();
}

}  // namespace oomw
