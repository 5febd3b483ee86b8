// SPDX-License-Identifier: Apache-2.0
// What the handlers of /api/v1 share.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "web/http.h"

namespace oomw {

// 200 with JSON; packed for a client that takes that.
[[nodiscard]] HttpResponse json_response(const nlohmann::json& json, const HttpRequest& request);
[[nodiscard]] HttpResponse json_text_response(std::string text, const HttpRequest& request);
// {"error": "..."} with the status that fits: kNotFound 404, kInvalid 400, others 500 or 503.
[[nodiscard]] HttpResponse error_response(const Error& error);
// A route that reads the disk, answered with error_response() where `answer` fails.
[[nodiscard]] Route worker_route(std::string path, std::function<Result<HttpResponse>(const HttpRequest&)> answer);

}  // namespace oomw
