// SPDX-License-Identifier: Apache-2.0
#include "web/site/api.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr const char* kJson = "application/json; charset=utf-8";
constexpr std::size_t kWorthPacking = 4'096;

HttpStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return kHttpNotFound;
    case ErrorCode::kInvalid:
      return kHttpBadRequest;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kLimit:
      return kHttpUnavailable;
    default:
      return kHttpInternalError;
  }
}

}  // namespace

HttpResponse json_text_response(std::string text, const HttpRequest& request) {
  const bool is_packed = request.accepts_gzip && text.size() >= kWorthPacking;
  HttpResponse response{kHttpOk, kJson, nullptr, is_packed};
  response.body = std::make_shared<const std::string>(is_packed ? pprof::gzip(text) : std::move(text));
  return response;
}

HttpResponse json_response(const nlohmann::json& json, const HttpRequest& request) {
  return json_text_response(to_json_text(json), request);
}

HttpResponse error_response(const Error& error) {
  const nlohmann::json json = {{"error", printable(error.message, 512)}};
  return {status_of(error.code), kJson, std::make_shared<const std::string>(to_json_text(json)), false};
}

Route worker_route(std::string path, std::function<Result<HttpResponse>(const HttpRequest&)> answer) {
  auto handler = [answer = std::move(answer)](const HttpRequest& request) {
    auto response = answer(request);
    return response ? std::move(*response) : error_response(response.error());
  };
  return {"GET", std::move(path), std::move(handler), false, RunsOn::kWorker};
}

}  // namespace oomw
