// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cli/commands.h"
#include "sinks/bucket_reader.h"

namespace oomw::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int print_list(const std::vector<BucketIncident>& incidents, bool json) {
  for (const BucketIncident& incident : incidents) {
    if (json) {
      const nlohmann::json line = {
          {"id", incident.id}, {"files", incident.files}, {"bytes", incident.bytes}, {"whole", incident.is_whole}};
      fmt::print("{}\n", to_json_text(line));
    } else {
      fmt::print("{:<27} {:>3} files {:>10}{}\n", incident.id, incident.files, human_bytes(incident.bytes),
                 incident.is_whole ? "" : "  (being sent)");
    }
  }
  if (incidents.empty() && !json) fmt::print("The bucket has no incidents of this cluster and prefix.\n");
  return kOk;
}

}  // namespace

int fetch_command(const CommandLine& line, const Config& config) {
  S3Config s3 = config.sinks.s3;
  if (!line.bucket.empty()) s3.bucket = line.bucket;
  if (!line.endpoint.empty()) s3.endpoint = line.endpoint;
  if (!line.region.empty()) s3.region = line.region;
  if (!line.prefix.empty()) s3.prefix = line.prefix;
  if (s3.bucket.empty()) {
    return report({ErrorCode::kInvalid, "which bucket? Use --bucket, or [sinks.s3] bucket in the configuration"});
  }
  const SystemClock clock;
  Result<S3Client> client = S3Client::make(s3, environment, clock, perform, nullptr);
  if (!client) return report(client.error());
  const std::string cluster = line.cluster.empty() ? config.sinks.cluster_name : line.cluster;
  BucketReader bucket(std::move(*client), s3.prefix, cluster);
  if (line.incident_id.empty()) {
    const auto incidents = bucket.list();
    return incidents ? print_list(*incidents, line.json) : report(incidents.error());
  }
  const std::string directory = line.output_path.empty() ? "oomwitness-fetched" : line.output_path;
  const auto pulled = bucket.pull(line.incident_id, directory);
  if (!pulled) return report(pulled.error());
  fmt::print("{}\nRead it: oomwitness show {} --data-dir {}\n", printable(*pulled, pulled->size()),
             printable(line.incident_id), printable(directory, directory.size()));
  return kOk;
}

}  // namespace oomw::cli
