// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/credential_source.h"

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "sinks/s3/xml_reader.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxSecretBytes = 8'192;  // a session token has some 1,500

// Printable ASCII only: it becomes a header.
bool is_secret(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSecretBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<TimedCredentials> checked(TimedCredentials timed) {
  const AwsCredentials& keys = timed.credentials;
  const bool has_token = !keys.session_token.empty();
  if (is_secret(keys.access_key_id) && is_secret(keys.secret_access_key) &&
      (!has_token || is_secret(keys.session_token))) {
    return timed;
  }
  return fail(ErrorCode::kInvalid, "no usable access key and secret in it");
}

// The host of a URL, with its brackets if it is an IPv6 address, without the port.
std::string host_of(std::string_view url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string_view::npos) return "";
  std::string_view host = url.substr(begin + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.find('@') != std::string_view::npos) return "";
  if (host.starts_with('[')) return std::string(host.substr(0, host.find(']') + 1));
  return std::string(host.substr(0, host.find(':')));
}

// Plain HTTP is for the addresses that AWS reserves for this, and for this host.
bool may_ask(const std::string& url) {
  static constexpr std::array<std::string_view, 5> kTrusted = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
                                                               "127.0.0.1", "[::1]"};
  const std::string host = host_of(url);
  if (url.starts_with("https://")) return !host.empty();
  return url.starts_with("http://") && std::find(kTrusted.begin(), kTrusted.end(), host) != kTrusted.end();
}

std::optional<CredentialPlan> static_plan(const AwsEnvironment& environment) {
  CredentialPlan plan;
  plan.kind = CredentialKind::kStatic;
  plan.fixed = {environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                environment("AWS_SESSION_TOKEN")};
  if (plan.fixed.access_key_id.empty() || plan.fixed.secret_access_key.empty()) return std::nullopt;
  return plan;
}

std::optional<CredentialPlan> web_identity_plan(const CredentialSettings& settings, const AwsEnvironment& environment) {
  CredentialPlan plan;
  plan.kind = CredentialKind::kWebIdentity;
  plan.token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  plan.role_arn = environment("AWS_ROLE_ARN");
  if (plan.token_file.empty() || plan.role_arn.empty()) return std::nullopt;
  const std::string name = environment("AWS_ROLE_SESSION_NAME"), url = environment("AWS_ENDPOINT_URL_STS");
  plan.session_name = name.empty() ? "oomwitness" : name;
  plan.sts_url = url.empty() ? "https://sts." + settings.region + ".amazonaws.com/" : url;
  return plan;
}

CredentialPlan endpoint_plan(const AwsEnvironment& environment) {
  CredentialPlan plan;
  plan.endpoint_url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (plan.endpoint_url.empty() && relative.starts_with('/')) plan.endpoint_url = "http://169.254.170.2" + relative;
  if (plan.endpoint_url.empty()) return plan;
  plan.kind = CredentialKind::kEndpoint;
  plan.token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  plan.authorization_value = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  return plan;
}

CredentialPlan file_plan(const CredentialSettings& settings, const AwsEnvironment& environment) {
  CredentialPlan plan;
  plan.file = settings.file.empty() ? environment("AWS_SHARED_CREDENTIALS_FILE") : settings.file;
  plan.profile = settings.profile.empty() ? "default" : settings.profile;
  if (!plan.file.empty()) plan.kind = CredentialKind::kFile;
  return plan;
}

Result<CredentialPlan> first_of(const CredentialSettings& settings, const AwsEnvironment& environment) {
  if (!settings.file.empty()) return file_plan(settings, environment);
  if (const auto plan = static_plan(environment)) return *plan;
  if (const auto plan = web_identity_plan(settings, environment)) {
    if (may_ask(plan->sts_url)) return *plan;
    return fail(ErrorCode::kInvalid, "AWS_ENDPOINT_URL_STS is neither https:// nor on this host");
  }
  CredentialPlan plan = file_plan(settings, environment);
  if (plan.kind == CredentialKind::kNone) plan = endpoint_plan(environment);
  if (plan.kind == CredentialKind::kEndpoint && !may_ask(plan.endpoint_url)) {
    return fail(ErrorCode::kInvalid, "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor an address for this");
  }
  return plan;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Result<CredentialPlan> plan_credentials(const CredentialSettings& settings, const AwsEnvironment& environment) {
  return first_of(settings, environment);
}

Result<TimedCredentials> parse_credentials_file(std::string_view text, std::string_view profile) {
  TimedCredentials timed;
  const std::map<std::string_view, std::string*> keys = {
      {"aws_access_key_id", &timed.credentials.access_key_id},
      {"aws_secret_access_key", &timed.credentials.secret_access_key},
      {"aws_session_token", &timed.credentials.session_token}};
  bool is_ours = false, has_section = false;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.starts_with('[')) {
      is_ours = line.ends_with(']') && trim(line.substr(1, line.size() - 2)) == profile;
      has_section = has_section || is_ours;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!is_ours || equals == std::string_view::npos) continue;
    const auto key = keys.find(trim(line.substr(0, equals)));
    if (key != keys.end()) *key->second = trim(line.substr(equals + 1));
  }
  if (!has_section) return fail(ErrorCode::kInvalid, "no section [" + printable(profile, 64) + "] in it");
  return checked(std::move(timed));
}

Result<TimedCredentials> parse_sts_answer(std::string_view xml) {
  TimedCredentials timed;
  RETURN_IF_ERROR(read_xml(xml, {nullptr, [&](std::string_view parent, std::string_view name, std::string text) {
                                   if (parent != "Credentials") return;
                                   if (name == "AccessKeyId") timed.credentials.access_key_id = std::move(text);
                                   if (name == "SecretAccessKey") timed.credentials.secret_access_key = std::move(text);
                                   if (name == "SessionToken") timed.credentials.session_token = std::move(text);
                                   if (name == "Expiration") timed.expires = parse_rfc3339(text);
                                 }}));
  if (!timed.expires) return fail(ErrorCode::kInvalid, "no time of expiration in it");
  return checked(std::move(timed));
}

Result<TimedCredentials> parse_endpoint_answer(std::string_view json) {
  const auto parsed = parse_json(json);
  if (!parsed.is_object()) return fail(ErrorCode::kInvalid, "not a JSON object");
  TimedCredentials timed;
  timed.credentials = {text_of(parsed, "AccessKeyId"), text_of(parsed, "SecretAccessKey"), text_of(parsed, "Token")};
  timed.expires = parse_rfc3339(text_of(parsed, "Expiration"));
  return checked(std::move(timed));
}

std::string sts_request_body(const CredentialPlan& plan, const std::string& token) {
  return "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + uri_encoded(plan.role_arn, false) +
         "&RoleSessionName=" + uri_encoded(plan.session_name, false) + "&WebIdentityToken=" + uri_encoded(token, false);
}

}  // namespace oomw
