// SPDX-License-Identifier: Apache-2.0
#include "captures/http_fetch.h"

#include <utility>

#include "base/bounded_curl.h"
#include "base/text.h"

namespace oomw {
namespace {

// State that the callbacks share with fetch(); lives on its stack.
struct Transfer {
  const FetchRequest& request;
  const NetworkNamespace& ns;
  std::string body;
  std::uint64_t body_bytes = 0;  // includes those not kept
  bool is_too_large = false;
  std::string socket_error;
};

// Rarely copies: only when the kept bytes have doubled.
void keep_tail(std::string& body, std::uint64_t tail_bytes) {
  if (body.size() >= 2 * tail_bytes) body.erase(0, body.size() - tail_bytes);
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::size_t bytes = size * count;
  if (transfer.body_bytes + bytes > transfer.request.max_body_bytes) {
    transfer.is_too_large = true;
    return 0;  // anything but `bytes` ends the transfer
  }
  transfer.body_bytes += bytes;
  if (transfer.request.sink) {
    transfer.is_too_large = !transfer.request.sink({data, bytes});
    return transfer.is_too_large ? 0 : bytes;
  }
  transfer.body.append(data, bytes);
  if (transfer.request.tail_bytes != 0) keep_tail(transfer.body, transfer.request.tail_bytes);
  return bytes;
}

curl_socket_t on_open_socket(void* context, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(context);
  auto made = make_socket_in(transfer.ns, address->family, address->socktype, address->protocol);
  if (made) return made->release();
  transfer.socket_error = made.error().message;
  return CURL_SOCKET_BAD;
}

int on_connected(void* context, char*, char*, int, int) {
  const auto& transfer = *static_cast<const Transfer*>(context);
  if (!transfer.request.before_request || transfer.request.before_request()) return CURL_PREREQFUNC_OK;
  return CURL_PREREQFUNC_ABORT;
}

void set_callbacks(CURL* handle, Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, on_connected);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, &transfer);
}

FetchStatus status_of(CURLcode code, const Transfer& transfer) {
  if (!transfer.socket_error.empty()) return FetchStatus::kNetns;
  if (transfer.is_too_large) return FetchStatus::kTooLarge;
  switch (code) {
    case CURLE_OK:
      return FetchStatus::kOk;
    case CURLE_COULDNT_CONNECT:
      return FetchStatus::kRefused;
    case CURLE_OPERATION_TIMEDOUT:
      return FetchStatus::kTimeout;
    case CURLE_FILESIZE_EXCEEDED:
      return FetchStatus::kTooLarge;
    case CURLE_ABORTED_BY_CALLBACK:
      return FetchStatus::kVetoed;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return FetchStatus::kNotHttp;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return FetchStatus::kTruncated;
    default:
      return FetchStatus::kInternal;
  }
}

// The answer's status takes precedence over how the transfer ended: a 404 cut short is a 404.
void judge_answer(FetchResult& result, long http_status) {
  if (http_status == 0 || http_status == 200 || result.status == FetchStatus::kVetoed) return;
  result.status = http_status / 100 == 3 ? FetchStatus::kRedirect : FetchStatus::kHttpStatus;
  result.detail = "HTTP status " + std::to_string(http_status);
}

}  // namespace

std::string url_of(const std::string& address, std::uint16_t port, const std::string& path) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port) + path;
}

FetchResult fetch(const FetchRequest& request, const NetworkNamespace& ns) {
  const CurlHandle handle = make_bounded_curl("http", request.timeout);
  if (!handle) return {FetchStatus::kInternal, "curl does not start", ""};
  Transfer transfer{request, ns, {}, 0, false, {}};
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(handle.get(), CURLOPT_URL, url_of(request.address, request.port, request.path).c_str());
  curl_easy_setopt(handle.get(), CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.max_body_bytes));
  curl_easy_setopt(handle.get(), CURLOPT_FORBID_REUSE, 1L);
  set_callbacks(handle.get(), transfer);
  const CURLcode code = curl_easy_perform(handle.get());

  FetchResult result;
  result.status = status_of(code, transfer);
  if (result.status != FetchStatus::kOk) {
    result.detail =
        transfer.socket_error.empty() ? printable(error[0] ? error : curl_easy_strerror(code)) : transfer.socket_error;
  }
  long http_status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &http_status);
  judge_answer(result, http_status);
  if (result.status != FetchStatus::kOk) return result;
  result.body = std::move(transfer.body);
  const bool has_more = request.tail_bytes != 0 && result.body.size() > request.tail_bytes;
  if (has_more) result.body.erase(0, result.body.size() - request.tail_bytes);
  return result;
}

}  // namespace oomw
