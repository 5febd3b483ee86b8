// SPDX-License-Identifier: Apache-2.0
// Where S3 credentials come from, in the order of AWS' own tools: the environment, a web identity (a service account's
// role), a file, the container's endpoint (EKS Pod Identity, ECS). Pure: texts and answers are parameters.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/s3/sigv4.h"

namespace oomw {

using AwsEnvironment = std::function<std::string(const char* name)>;  // "" = not set

enum class CredentialKind { kNone, kStatic, kFile, kWebIdentity, kEndpoint };

struct CredentialPlan {
  CredentialKind kind = CredentialKind::kNone;
  AwsCredentials fixed;                           // kStatic
  std::string file, profile;                      // kFile
  std::string token_file;                         // kWebIdentity; kEndpoint: "" = none
  std::string role_arn, session_name, sts_url;    // kWebIdentity
  std::string endpoint_url, authorization_value;  // kEndpoint; the value "" = none
};

struct CredentialSettings {
  std::string file;     // of the configuration; "" = none
  std::string profile;  // "" = "default"
  std::string region;
};

// kNone: nothing is configured. kInvalid: what is configured must not be used, such as an endpoint by plain HTTP on
// another host, which would get the pod's token.
[[nodiscard]] Result<CredentialPlan> plan_credentials(const CredentialSettings& settings,
                                                      const AwsEnvironment& environment);

struct TimedCredentials {
  AwsCredentials credentials;
  std::optional<WallTime> expires;  // nullopt: never
};

// The section [profile] of an AWS credentials file.
[[nodiscard]] Result<TimedCredentials> parse_credentials_file(std::string_view text, std::string_view profile);
// The answer of AssumeRoleWithWebIdentity.
[[nodiscard]] Result<TimedCredentials> parse_sts_answer(std::string_view xml);
// The answer of a container's endpoint.
[[nodiscard]] Result<TimedCredentials> parse_endpoint_answer(std::string_view json);

// The body of AssumeRoleWithWebIdentity, which is not signed: the token is the proof.
[[nodiscard]] std::string sts_request_body(const CredentialPlan& plan, const std::string& token);

}  // namespace oomw
