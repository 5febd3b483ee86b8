// SPDX-License-Identifier: Apache-2.0
// Runtime state files: images and pod specs put text of their own into them.

#include "base/result.h"
#include "fuzz/text_target.h"
#include "system/oci_bundle.h"

namespace {

void check(const oomw::ContainerIdentity& identity) {
  OOMW_CHECK(identity.labels.size() <= 64);
  OOMW_CHECK(identity.name.size() <= 1024 && identity.image.size() <= 1024);
  for (const auto& [key, value] : identity.labels) OOMW_CHECK(key.size() <= 256 && value.size() <= 256);
}

}  // namespace

void fuzz_text(std::string_view json) {
  for (const auto apply : {oomw::apply_oci_config, oomw::apply_docker_config, oomw::apply_storage_list}) {
    oomw::ContainerIdentity identity;
    identity.id = "a";
    const oomw::ContainerIdentity before = identity;
    const auto result = apply(json, identity);
    OOMW_CHECK(result.has_value() || apply == oomw::apply_storage_list || identity == before);
    check(identity);
  }
}
