// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/result.h"

namespace oomw {
namespace {

constexpr std::size_t kDigestBytes = 32;

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct Sha256::Impl {
  std::unique_ptr<EVP_MD_CTX, FreeContext> context{EVP_MD_CTX_new()};
};

// libcrypto fails here only without memory, or where the host's policy forbids SHA-256.
Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  OOMW_CHECK(impl_->context != nullptr && EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  OOMW_CHECK(EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::string digest(kDigestBytes, '\0');
  OOMW_CHECK(EVP_DigestFinal_ex(impl_->context.get(), bytes_of(digest), nullptr) == 1);
  return digest;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  OOMW_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
                  bytes_of(digest), nullptr) != nullptr);
  return digest;
}

}  // namespace oomw
