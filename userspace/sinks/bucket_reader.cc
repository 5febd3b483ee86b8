// SPDX-License-Identifier: Apache-2.0
#include "sinks/bucket_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "incident/incident.h"
#include "store/directory_names.h"

namespace oomw {
namespace {

Error error_of(const S3Outcome& outcome, const std::string& what) {
  const bool is_absent = outcome.kind == S3Outcome::Kind::kNotFound;
  return {is_absent ? ErrorCode::kNotFound : ErrorCode::kUnavailable, what + ": " + outcome.detail};
}

bool is_id(const std::string& id) { return is_incident_directory(id) && id_of_directory(id) == id; }

// The day's or cluster's folder, without the incident.
std::string cluster_folder(const std::string& prefix, const std::string& cluster) {
  const std::string some = incident_key(prefix, cluster, "20000101T000000Z-00000000");
  return some.substr(0, some.find("2000-01-01/", some.size() - 37));
}

}  // namespace

std::vector<BucketIncident> incidents_of_objects(const std::string& day, const std::vector<S3Object>& objects) {
  std::map<std::string, BucketIncident, std::greater<>> by_id;
  for (const S3Object& object : objects) {
    if (!object.key.starts_with(day)) continue;
    const std::string rest = object.key.substr(day.size());
    const std::size_t slash = rest.find('/');
    const std::string id = rest.substr(0, slash);
    if (slash == std::string::npos || !is_id(id)) continue;
    BucketIncident& incident = by_id[id];
    incident.id = id;
    ++incident.files;
    incident.bytes += std::min<std::uint64_t>(object.bytes, BucketReader::kMaxFileBytes);
    incident.is_whole = incident.is_whole || rest.substr(slash + 1) == "incident.json";
  }
  std::vector<BucketIncident> incidents;
  for (auto& [id, incident] : by_id) incidents.push_back(std::move(incident));
  return incidents;
}

BucketReader::BucketReader(S3Client client, std::string prefix, std::string cluster)
    : client_(std::move(client)), prefix_(std::move(prefix)), cluster_(std::move(cluster)) {}

Result<std::vector<S3Object>> BucketReader::objects_of(const std::string& folder) {
  std::vector<S3Object> objects;
  std::string continuation;
  for (std::size_t page = 0; page < kMaxPages; ++page) {
    S3Listing listing;
    const S3Outcome outcome = client_.list(folder, "", continuation, listing);
    if (outcome.kind != S3Outcome::Kind::kOk) return tl::make_unexpected(error_of(outcome, "listing the bucket"));
    std::move(listing.objects.begin(), listing.objects.end(), std::back_inserter(objects));
    continuation = listing.continuation;
    if (continuation.empty()) return objects;
  }
  return fail(ErrorCode::kLimit, "more than 100,000 objects below " + printable(folder));
}

Result<std::vector<std::string>> BucketReader::days() {
  const std::string folder = cluster_folder(prefix_, cluster_);
  std::vector<std::string> days;
  std::string continuation;
  for (std::size_t page = 0; page < kMaxPages; ++page) {
    S3Listing listing;
    const S3Outcome outcome = client_.list(folder, "/", continuation, listing);
    if (outcome.kind != S3Outcome::Kind::kOk) return tl::make_unexpected(error_of(outcome, "listing the bucket"));
    for (std::string& day : listing.common_prefixes) {
      if (day.starts_with(folder)) days.push_back(std::move(day));
    }
    continuation = listing.continuation;
    if (continuation.empty()) break;
  }
  std::sort(days.begin(), days.end(), std::greater<>());
  return days;
}

Result<> BucketReader::add_day(const std::string& day, std::vector<BucketIncident>& incidents) {
  ASSIGN_OR_RETURN(const std::vector<S3Object> objects, objects_of(day));
  for (BucketIncident& incident : incidents_of_objects(day, objects)) {
    if (incidents.size() < kMaxIncidents) incidents.push_back(std::move(incident));
  }
  return {};
}

Result<std::vector<BucketIncident>> BucketReader::list() {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, days());
  std::vector<BucketIncident> incidents;
  for (const std::string& day : all) {
    if (incidents.size() >= kMaxIncidents) break;
    RETURN_IF_ERROR(add_day(day, incidents));
  }
  return incidents;
}

Result<> BucketReader::pull_file(const std::string& key, const std::string& path) {
  const std::string temporary = path + ".tmp-" + std::to_string(::getpid());
  (void)::unlink(temporary.c_str());
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  const S3Outcome outcome =
      client_.get(key, kMaxFileBytes, [&](std::string_view bytes) { return write_all(fd.get(), bytes); });
  Result<> done;
  if (outcome.kind != S3Outcome::Kind::kOk) done = tl::make_unexpected(error_of(outcome, "getting " + printable(key)));
  if (done && ::fsync(fd.get()) != 0) done = fail_errno(errno, "fsync " + temporary);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) done = fail_errno(errno, "rename " + temporary);
  if (!done) (void)::unlink(temporary.c_str());
  return done;
}

Result<std::string> BucketReader::pull(const std::string& id, const std::string& directory) {
  if (!is_id(id)) return fail(ErrorCode::kInvalid, printable(id) + " is not an incident's id");
  const std::string folder = incident_key(prefix_, cluster_, id), target = directory + "/incidents/" + id;
  ASSIGN_OR_RETURN(std::vector<S3Object> objects, objects_of(folder));
  std::vector<std::string> names;
  for (const S3Object& object : objects) {
    const std::string name = object.key.starts_with(folder) ? object.key.substr(folder.size()) : "";
    if (!name.empty() && !name.starts_with('.') && is_plain_file_name(name)) names.push_back(name);
  }
  if (names.empty()) return fail(ErrorCode::kNotFound, "no incident " + id + " below " + printable(folder));
  if (names.size() > kMaxFiles) return fail(ErrorCode::kLimit, "more than 1,000 files of one incident");
  std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name == "incident.json", name); });
  RETURN_IF_ERROR(make_directories(target, 0700));
  for (const std::string& name : names) RETURN_IF_ERROR(pull_file(folder + name, target + "/" + name));
  if (names.back() == "incident.json") return target;
  return fail(ErrorCode::kUnavailable, "incident " + id + " is not whole yet: its incident.json is not in the bucket");
}

}  // namespace oomw
