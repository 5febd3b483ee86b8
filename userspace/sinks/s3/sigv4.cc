// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/sigv4.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "sinks/s3/sha256.h"

namespace oomw {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

// "20150830T123600Z" of "2015-08-30T12:36:00.000000000Z"
std::string amz_date(WallTime now) {
  std::string date;
  for (const char c : to_rfc3339(now)) {
    if (c == '.') break;
    if (c != '-' && c != ':') date += c;
  }
  if (!date.ends_with('Z')) date += 'Z';
  return date;
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Without white space at its ends, and with one space for each run of spaces within.
std::string folded(std::string_view value) {
  std::string text;
  for (const char c : trim(value)) {
    if (c != ' ' || !text.ends_with(' ')) text += c;
  }
  return text;
}

struct CanonicalHeaders {
  std::string lines, names;
};

CanonicalHeaders canonical_headers(const AwsRequest& request) {
  std::map<std::string, std::string> sorted = {{"host", request.host}};
  for (const auto& [name, value] : request.headers) sorted[lower(name)] = folded(value);
  CanonicalHeaders canonical;
  for (const auto& [name, value] : sorted) {
    canonical.lines.append(name).append(":").append(value).append("\n");
    canonical.names.append(canonical.names.empty() ? "" : ";").append(name);
  }
  return canonical;
}

std::string scope_text(const AwsScope& scope, const std::string& date) {
  return date.substr(0, 8) + "/" + scope.region + "/" + scope.service + "/aws4_request";
}

std::string signing_key(const AwsCredentials& credentials, const AwsScope& scope, const std::string& date) {
  const std::string of_date = hmac_sha256("AWS4" + credentials.secret_access_key, std::string_view(date).substr(0, 8));
  return hmac_sha256(hmac_sha256(hmac_sha256(of_date, scope.region), scope.service), "aws4_request");
}

}  // namespace

std::string uri_encoded(std::string_view text, bool keeps_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c) || (keeps_slash && c == '/')) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4];
    encoded += kDigits[byte & 15];
  }
  return encoded;
}

std::string canonical_query(const HttpFields& query) {
  HttpFields encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(uri_encoded(name, false), uri_encoded(value, false));
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    text.append(text.empty() ? "" : "&").append(name).append("=").append(value);
  }
  return text;
}

void sign(AwsRequest& request, const AwsCredentials& credentials, const AwsScope& scope, WallTime now) {
  const std::string date = amz_date(now);
  request.headers.emplace_back("x-amz-date", date);
  if (!credentials.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  const CanonicalHeaders headers = canonical_headers(request);
  const std::string canonical = request.method + "\n" + uri_encoded(request.path, true) + "\n" +
                                canonical_query(request.query) + "\n" + headers.lines + "\n" + headers.names + "\n" +
                                request.payload_sha256;
  const std::string to_sign =
      std::string(kAlgorithm) + "\n" + date + "\n" + scope_text(scope, date) + "\n" + to_hex(sha256(canonical));
  const std::string signature = to_hex(hmac_sha256(signing_key(credentials, scope, date), to_sign));
  request.headers.emplace_back("Authorization", std::string(kAlgorithm) + " Credential=" + credentials.access_key_id +
                                                    "/" + scope_text(scope, date) + ", SignedHeaders=" + headers.names +
                                                    ", Signature=" + signature);
}

}  // namespace oomw
