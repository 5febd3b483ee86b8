// SPDX-License-Identifier: Apache-2.0
#include "web/http.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace oomw {
namespace {

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// One element of Accept-Encoding: "gzip", "gzip;q=0.5"; a weight of 0 means "not this one".
bool offers_gzip(std::string_view element) {
  const std::size_t semicolon = element.find(';');
  if (!equals_ignoring_case(trim(element.substr(0, semicolon)), "gzip")) return false;
  if (semicolon == std::string_view::npos) return true;
  const std::string_view weight = trim(element.substr(semicolon + 1));
  return weight.find_first_of("123456789") != std::string_view::npos;
}

bool accepts_gzip(std::string_view headers) {
  for (const std::string_view line : split(headers, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (!equals_ignoring_case(trim(line.substr(0, colon)), "accept-encoding")) continue;
    const auto elements = split(line.substr(colon + 1), ',');
    if (std::ranges::any_of(elements, offers_gzip)) return true;
  }
  return false;
}

std::string_view reason_of(HttpStatus status) {
  switch (status) {
    case kHttpOk:
      return "OK";
    case kHttpBadRequest:
      return "Bad Request";
    case kHttpNotFound:
      return "Not Found";
    case kHttpMethodNotAllowed:
      return "Method Not Allowed";
    case kHttpHeadTooLarge:
      return "Request Header Fields Too Large";
    case kHttpUnavailable:
      return "Service Unavailable";
  }
  return "Error";
}

}  // namespace

std::optional<HttpRequest> parse_request_head(std::string_view head) {
  const std::size_t end = head.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const auto words = split(head.substr(0, end), ' ');
  if (words.size() != 3 || words[0].empty() || !words[1].starts_with('/')) return std::nullopt;
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") return std::nullopt;
  return HttpRequest{words[0], words[1].substr(0, words[1].find('?')), accepts_gzip(head.substr(end + 2))};
}

std::string response_head(const HttpResponse& response) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head += reason_of(response.status);
  head += "\r\nContent-Type: " + response.type;
  head += "\r\nContent-Length: " + std::to_string(response.body ? response.body->size() : 0);
  head += "\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  if (response.status == kHttpMethodNotAllowed) head += "Allow: GET\r\n";
  if (response.is_gzip) head += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";
  return head + "\r\n";
}

}  // namespace oomw
