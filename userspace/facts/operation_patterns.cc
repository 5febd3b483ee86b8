// SPDX-License-Identifier: Apache-2.0
#include "facts/operation_patterns.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::string_view kEndpoint = "endpoint", kMethod = "method", kJob = "job", kLibrary = "library";

struct Pattern {
  std::string_view kind, where, function;
};
constexpr std::array<Pattern, 75> kBuiltIn = {{
    // Go. A module's version is part of its path ("github.com/go-chi/chi/v5"), so what stands behind it is a word of
    // its own.
    {kEndpoint, "net/http.HandlerFunc.ServeHTTP", ""},
    {kEndpoint, "net/http.serverHandler.ServeHTTP", ""},
    {kEndpoint, "net/http.(*ServeMux).ServeHTTP", ""},
    {kEndpoint, "net/http.(*timeoutHandler).ServeHTTP", ""},
    {kEndpoint, "net/http.StripPrefix", ""},
    {kEndpoint, "net/http/httputil.(*ReverseProxy).ServeHTTP", ""},
    {kMethod, "net/rpc.(*service).call", ""},
    {kEndpoint, "github.com/go-chi/chi", ".(*Mux)."},
    {kEndpoint, "github.com/go-chi/chi", ".(*ChainHandler)."},
    {kEndpoint, "github.com/gorilla/mux", ".(*Router)."},
    {kEndpoint, "github.com/gin-gonic/gin", ".(*Context).Next"},
    {kEndpoint, "github.com/gin-gonic/gin", ".(*Engine)."},
    {kEndpoint, "github.com/labstack/echo", ".(*Echo)."},
    {kEndpoint, "github.com/labstack/echo", ".WrapHandler"},
    {kEndpoint, "github.com/labstack/echo", "/middleware."},
    {kEndpoint, "github.com/gofiber/fiber", ".(*App)."},
    {kEndpoint, "github.com/gofiber/fiber", ".Next"},
    {kEndpoint, "github.com/valyala/fasthttp", ".(*Server)."},
    {kEndpoint, "github.com/julienschmidt/httprouter", ".(*Router)."},
    {kMethod, "google.golang.org/grpc", ".(*Server)."},
    {kMethod, "connectrpc.com/connect", ".New"},
    {kJob, "golang.org/x/sync/errgroup", ".(*Group)."},
    {kJob, "github.com/robfig/cron", ".(*Cron)."},
    // Go modules that many programs use and that no program is named after.
    {kLibrary, "golang.org/x/", ""},
    {kLibrary, "google.golang.org/", ""},
    {kLibrary, "github.com/go-chi/", ""},
    {kLibrary, "github.com/gorilla/", ""},
    {kLibrary, "github.com/gin-", ""},
    {kLibrary, "github.com/labstack/", ""},
    {kLibrary, "github.com/gofiber/", ""},
    {kLibrary, "github.com/valyala/", ""},
    {kLibrary, "connectrpc.com/", ""},
    {kLibrary, "github.com/golang/", ""},
    {kLibrary, "github.com/julienschmidt/", ""},
    {kLibrary, "github.com/robfig/", ""},
    {kLibrary, "github.com/sirupsen/", ""},
    {kLibrary, "github.com/prometheus/client_golang/", ""},
    {kLibrary, "go.uber.org/", ""},
    {kLibrary, "gopkg.in/", ""},
    // Python.
    {kEndpoint, "app.py", "dispatch_request"},           // Flask
    {kEndpoint, "views.py", "dispatch_request"},         // Flask's MethodView
    {kEndpoint, "views.py", "as_view.<locals>.view"},    // Flask's View
    {kEndpoint, "base.py", "get_response"},              // Django
    {kEndpoint, "base.py", "_get_response"},             //
    {kEndpoint, "base.py", "_get_response_async"},       //
    {kEndpoint, "base.py", "dispatch"},                  // its class-based views
    {kEndpoint, "base.py", "as_view.<locals>.view"},     //
    {kEndpoint, "views.py", "dispatch"},                 // Django REST framework
    {kEndpoint, "routing.py", "run_endpoint_function"},  // FastAPI
    {kEndpoint, "routing.py", "<locals>.app"},           // Starlette
    {kEndpoint, "endpoints.py", "dispatch"},             //
    {kEndpoint, "web_app.py", "_handle"},                // aiohttp
    {kEndpoint, "web_protocol.py", "_handle_request"},   //
    {kEndpoint, "server.py", "handle_one_request"},      // http.server
    {kJob, "trace.py", "trace_task"},                    // Celery
    {kJob, "trace.py", "__protected_call__"},            //
    // Java.
    {kEndpoint, ".HttpServlet.service", ""},              // servlets
    {kEndpoint, ".InvocableHandlerMethod.doInvoke", ""},  // Spring
    {kLibrary, "java.", ""},
    {kLibrary, "javax.", ""},
    {kLibrary, "jakarta.", ""},
    {kLibrary, "jdk.", ""},
    {kLibrary, "sun.", ""},
    {kLibrary, "com.sun.", ""},
    {kLibrary, "kotlin.", ""},
    {kLibrary, "scala.", ""},
    {kLibrary, "org.springframework.", ""},
    {kLibrary, "org.apache.", ""},
    {kLibrary, "org.eclipse.jetty.", ""},
    {kLibrary, "io.netty.", ""},
    // Node.
    {kEndpoint, "layer.js", "handle"},  // Express
    {kEndpoint, "layer.js", "handle_request"},
    {kEndpoint, "layer.js", "handleRequest"},
    {kEndpoint, "handleRequest.js", "preHandlerCallback"},  // Fastify
    {kEndpoint, "handle-request.js", "preHandlerCallback"},
}};

std::string_view known_kind(std::string_view word) {
  constexpr std::array<std::string_view, 4> kKinds = {kEndpoint, kMethod, kJob, kLibrary};
  const auto found = std::ranges::find(kKinds, word);
  return found == kKinds.end() ? "" : *found;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

bool fits_go(const Pattern& row, std::string_view function) {
  return function.starts_with(row.where) &&
         (row.function.empty() || function.find(row.function, row.where.size()) != std::string_view::npos);
}

// "Flask.dispatch_request", from 3.11, or "dispatch_request".
bool is_named(std::string_view function, std::string_view name) {
  if (!function.ends_with(name)) return false;
  return function.size() == name.size() || name.starts_with('.') || function[function.size() - name.size() - 1] == '.';
}

bool fits(const Pattern& row, std::string_view file, std::string_view function) {
  if (!row.function.empty()) return row.where == file && is_named(function, row.function);
  if (row.kind == kLibrary) return file.empty() ? function.starts_with(row.where) : row.where == file;
  return file.empty() && is_named(function, row.where);
}

}  // namespace

std::string OperationPatterns::fault_of(std::string_view row) {
  if (row.size() > kMaxText) return fmt::format("be at most {} bytes long", kMaxText);
  if (std::ranges::any_of(row, [](char c) { return c < ' ' || c > '~'; })) return "be of plain ASCII characters";
  const auto words = words_of(row);
  if (words.size() < 2 || words.size() > 3) return "be two or three words: KIND WHERE [FUNCTION]";
  return known_kind(words[0]).empty() ? "begin with endpoint, method, job or library" : "";
}

OperationPatterns::Row OperationPatterns::row_of(std::string_view text) {
  const auto words = words_of(text);
  return {known_kind(words[0]), std::string(words[1]), words.size() == 3 ? std::string(words[2]) : ""};
}

Result<OperationPatterns> OperationPatterns::make(const std::vector<std::string>& rows) {
  if (rows.size() > kMax) return fail(ErrorCode::kInvalid, fmt::format("more than {} patterns", kMax));
  OperationPatterns patterns;
  for (const std::string& row : rows) {
    if (const std::string fault = fault_of(row); !fault.empty()) {
      return fail(ErrorCode::kInvalid, fmt::format("'{}' must {}", printable(row), fault));
    }
    patterns.rows_.push_back(row_of(row));
  }
  return patterns;
}

std::vector<std::string> OperationPatterns::rows() const {
  std::vector<std::string> rows;
  for (const Row& row : rows_) {
    rows.push_back(fmt::format("{} {}{}{}", row.kind, row.where, row.function.empty() ? "" : " ", row.function));
  }
  return rows;
}

std::string OperationPatterns::text() const { return fmt::format("{}", fmt::join(rows(), "\n")); }

Result<OperationPatterns> OperationPatterns::of_text(std::string_view text) {
  std::vector<std::string> rows;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) rows.emplace_back(line);
  }
  return make(rows);
}

template <typename Fits>
std::string_view OperationPatterns::kind_of(Fits fits) const {
  for (const Pattern& row : kBuiltIn) {
    if (fits(row)) return row.kind;
  }
  for (const Row& row : rows_) {
    if (fits(Pattern{row.kind, row.where, row.function})) return row.kind;
  }
  return "";
}

std::string_view OperationPatterns::called_by_go(std::string_view function) const {
  return kind_of([&](const Pattern& row) { return row.kind != kLibrary && fits_go(row, function); });
}

bool OperationPatterns::is_go_library(std::string_view function) const {
  return !kind_of([&](const Pattern& row) { return row.kind == kLibrary && fits_go(row, function); }).empty();
}

std::string_view OperationPatterns::called_by(std::string_view file, std::string_view function) const {
  return kind_of([&](const Pattern& row) { return row.kind != kLibrary && fits(row, file, function); });
}

bool OperationPatterns::is_library(std::string_view file, std::string_view function) const {
  return !kind_of([&](const Pattern& row) { return row.kind == kLibrary && fits(row, file, function); }).empty();
}

}  // namespace oomw
