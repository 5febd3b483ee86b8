// SPDX-License-Identifier: Apache-2.0
#include "web/http.h"

#include <arpa/inet.h>

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

// Every value of a header.
std::vector<std::string_view> values_of(std::string_view headers, std::string_view name) {
  std::vector<std::string_view> values;
  for (const std::string_view line : split(headers, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !equals_ignoring_case(trim(line.substr(0, colon)), name)) continue;
    values.push_back(trim(line.substr(colon + 1)));
  }
  return values;
}

bool accepts_gzip(std::string_view headers) {
  return std::ranges::any_of(values_of(headers, "accept-encoding"), [](std::string_view value) {
    return std::ranges::any_of(split(value, ','), offers_gzip);
  });
}

// A malformed escape stays as it is.
std::string decoded(std::string_view text, bool is_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '%' && i + 2 < text.size() ? parse_u64(text.substr(i + 1, 2), 16) : std::nullopt;
    if (code) {
      out += static_cast<char>(*code);
      i += 2;
    } else {
      out += is_query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// "*" is any part that is not empty, "*.svg" one that ends so.
bool fits_part(std::string_view wanted, std::string_view part) {
  if (!wanted.starts_with('*')) return wanted == part;
  return part.size() >= wanted.size() && part.ends_with(wanted.substr(1));
}

bool is_numeric_address(const std::string& text) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, text.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

std::string_view reason_of(HttpStatus status) {
  switch (status) {
    case kHttpOk:
      return "OK";
    case kHttpBadRequest:
      return "Bad Request";
    case kHttpForbidden:
      return "Forbidden";
    case kHttpNotFound:
      return "Not Found";
    case kHttpMethodNotAllowed:
      return "Method Not Allowed";
    case kHttpHeadTooLarge:
      return "Request Header Fields Too Large";
    case kHttpInternalError:
      return "Internal Server Error";
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
  const std::string_view headers = head.substr(end + 2);
  const std::size_t question = words[1].find('?');
  const auto hosts = values_of(headers, "host");
  return HttpRequest{words[0], words[1].substr(0, question),
                     question == std::string_view::npos ? std::string_view() : words[1].substr(question + 1),
                     hosts.size() == 1 ? hosts.front() : std::string_view(), accepts_gzip(headers)};
}

std::string response_head(const HttpResponse& response) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head += reason_of(response.status);
  head += "\r\nContent-Type: " + response.type;
  if (!response.stream) {
    head += "\r\nContent-Length: " + std::to_string(response.body ? response.body->size() : 0);
  }
  head += "\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  if (response.is_gzip) head += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";
  return head + response.more_head + "\r\n";
}

bool fits(std::string_view pattern, std::string_view path) {
  if (pattern.find('*') == std::string_view::npos) return pattern == path;
  return std::ranges::equal(split(pattern, '/'), split(path, '/'), fits_part);
}

std::vector<std::string> parts_of(std::string_view pattern, std::string_view path) {
  const auto wanted = split(pattern, '/'), parts = split(path, '/');
  std::vector<std::string> found;
  for (std::size_t i = 0; i < std::min(wanted.size(), parts.size()); ++i) {
    if (wanted[i].starts_with('*'))
      found.push_back(decoded(parts[i].substr(0, parts[i].size() - wanted[i].size() + 1), false));
  }
  return found;
}

std::string query_value(std::string_view query, std::string_view name) {
  for (const std::string_view pair : split(query, '&')) {
    const std::size_t equals = pair.find('=');
    if (decoded(pair.substr(0, equals), true) != name) continue;
    return equals == std::string_view::npos ? "" : decoded(pair.substr(equals + 1), true);
  }
  return "";
}

bool is_local_host(std::string_view host) {
  std::string name(host);
  if (name.starts_with('[')) {
    const std::size_t end = name.find(']');
    if (end == std::string::npos) return false;
    const std::string rest = name.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || !parse_u64(rest.substr(1)))) return false;
    return is_numeric_address(name.substr(1, end - 1));
  }
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    if (!parse_u64(std::string_view(name).substr(colon + 1))) return false;
    name.resize(colon);
  }
  return equals_ignoring_case(name, "localhost") || is_numeric_address(name);
}

}  // namespace oomw
