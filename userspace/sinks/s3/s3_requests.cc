// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_requests.h"

#include <algorithm>

#include "base/text.h"

namespace oomw {
namespace {

// The rules of S3 for a bucket's name, short of those that nobody breaks. It becomes part of a host's name.
bool is_bucket_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), is_allowed) &&
         name.front() != '.' && name.front() != '-' && name.find("..") == std::string_view::npos;
}

bool is_host(std::string_view host) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
  return !host.empty() && host.find_first_not_of(kAllowed) == std::string_view::npos;
}

// The port that curl leaves out of the Host header.
std::string without_own_port(const std::string& scheme, std::string host) {
  const std::string_view own = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(own)) host.resize(host.size() - own.size());
  return host;
}

std::string without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

Result<S3Target> split_endpoint(const S3Config& config) {
  const std::string endpoint =
      config.endpoint.empty() ? "https://s3." + config.region + ".amazonaws.com" : config.endpoint;
  S3Target target;
  for (const char* scheme : {"https", "http"}) {
    const std::string start = std::string(scheme) + "://";
    if (!endpoint.starts_with(start)) continue;
    target.scheme = scheme;
    target.host = without_own_port(scheme, without_slashes(endpoint.substr(start.size())));
  }
  if (target.scheme.empty() || !is_host(target.host)) {
    return fail(ErrorCode::kInvalid, "sinks.s3.endpoint is not https://HOST[:PORT] or http://HOST[:PORT]");
  }
  return target;
}

AwsRequest request_of(const S3Target& target, const char* method, const std::string& key,
                      const std::string& payload_sha256) {
  AwsRequest request;
  request.method = method;
  request.host = target.host;
  request.path = target.path_prefix + "/" + key;
  request.payload_sha256 = payload_sha256;
  request.headers.emplace_back("x-amz-content-sha256", payload_sha256);
  return request;
}

}  // namespace

Result<S3Target> make_s3_target(const S3Config& config) {
  if (!is_bucket_name(config.bucket)) return fail(ErrorCode::kInvalid, "sinks.s3.bucket is not the name of a bucket");
  if (config.region.empty() || !is_host(config.region)) return fail(ErrorCode::kInvalid, "sinks.s3.region is wrong");
  ASSIGN_OR_RETURN(S3Target target, split_endpoint(config));
  target.scope = {config.region, "s3"};
  // A bucket with a dot has no certificate as a host below AWS' wildcard.
  const bool is_aws = config.endpoint.empty() && config.bucket.find('.') == std::string::npos;
  if (config.style == "virtual_host" || (config.style == "auto" && is_aws)) {
    target.host = config.bucket + "." + target.host;
  } else {
    target.path_prefix = "/" + config.bucket;
  }
  return target;
}

std::string incident_key(const std::string& prefix, const std::string& cluster, const std::string& id) {
  const std::string first = without_slashes(prefix);
  const std::string day = id.size() < 8 ? "undated" : id.substr(0, 4) + "-" + id.substr(4, 2) + "-" + id.substr(6, 2);
  return (first.empty() ? "" : first + "/") + to_file_component(cluster.empty() ? "default" : cluster) + "/" +
         to_file_component(day) + "/" + to_file_component(id) + "/";
}

std::string object_url(const std::string& bucket, const std::string& key) { return "s3://" + bucket + "/" + key; }

AwsRequest put_object(const S3Target& target, const std::string& key, const std::string& payload_sha256) {
  return request_of(target, "PUT", key, payload_sha256);
}

AwsRequest get_object(const S3Target& target, const std::string& key) {
  return request_of(target, "GET", key, std::string(kEmptySha256));
}

AwsRequest list_objects(const S3Target& target, const std::string& prefix, const std::string& delimiter,
                        const std::string& continuation) {
  AwsRequest request = request_of(target, "GET", "", std::string(kEmptySha256));
  request.query = {{"list-type", "2"}, {"prefix", prefix}};
  if (!delimiter.empty()) request.query.emplace_back("delimiter", delimiter);
  if (!continuation.empty()) request.query.emplace_back("continuation-token", continuation);
  return request;
}

std::string url_of(const S3Target& target, const AwsRequest& request) {
  const std::string query = canonical_query(request.query);
  return target.scheme + "://" + request.host + uri_encoded(request.path, true) + (query.empty() ? "" : "?" + query);
}

}  // namespace oomw
