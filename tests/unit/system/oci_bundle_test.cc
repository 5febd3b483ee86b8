// SPDX-License-Identifier: Apache-2.0
#include "system/oci_bundle.h"

#include <gtest/gtest.h>

#include "support/source_tree.h"
#include "system/json_strings.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using test::TempTree;

const BundleConfig kOciFixture{.host_root = test::fixtures() + "/oci", .extra_state_dirs = {}};
const std::string kUid = "6b2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47";

std::string id_of(const std::string& two_digits) {
  std::string id;
  for (int i = 0; i < 32; ++i) id += two_digits;
  return id;
}

ContainerIdentity with_id(const std::string& id, const std::string& runtime = "") {
  ContainerIdentity identity;
  identity.id = id;
  identity.runtime = runtime;
  return identity;
}

TEST(ReadBundle, containerd_pod_from_a_bare_id) {
  const auto identity = read_bundle(kOciFixture, with_id(test::kContainerd));
  ASSERT_TRUE(identity.has_value()) << identity.error().message;
  EXPECT_EQ(identity->runtime, "containerd");
  EXPECT_EQ(identity->name, "otel-collector");
  EXPECT_EQ(identity->image, "docker.io/otel/opentelemetry-collector-contrib:0.113.0");
  EXPECT_EQ(identity->pod_name, "otel-agent-x7k2p");
  EXPECT_EQ(identity->pod_namespace, "observability");
  EXPECT_EQ(identity->pod_uid, kUid);
}

TEST(ReadBundle, crio_pod_with_labels) {
  const auto identity = read_bundle(kOciFixture, with_id(id_of("c1"), "cri-o"));
  ASSERT_TRUE(identity.has_value()) << identity.error().message;
  EXPECT_EQ(identity->runtime, "cri-o");
  EXPECT_EQ(identity->name, "worker");
  EXPECT_EQ(identity->image, "quay.io/shop/worker:7");
  EXPECT_EQ(identity->pod_name, "queue-5");
  EXPECT_EQ(identity->labels.at("app"), "queue");
}

TEST(ReadBundle, a_sandbox_says_what_it_is_under_every_runtime) {
  const auto is_sandbox = [](const std::string& annotations) {
    ContainerIdentity identity;
    EXPECT_TRUE(apply_oci_config("{\"annotations\":{" + annotations + "}}", identity).has_value());
    return identity.is_sandbox;
  };
  EXPECT_TRUE(is_sandbox(R"("io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri.sandbox-name":"p")"));
  EXPECT_TRUE(is_sandbox(R"("io.kubernetes.cri-o.ContainerType":"sandbox")"));
  EXPECT_FALSE(is_sandbox(R"("io.kubernetes.cri.container-type":"container")"));
  EXPECT_FALSE(is_sandbox(R"("io.kubernetes.cri-o.ContainerType":"container","x":"sandbox")"));
  ContainerIdentity identity;
  ASSERT_TRUE(apply_docker_config(R"({"Config":{"Labels":{"io.kubernetes.docker.type":"podsandbox"}}})", identity));
  EXPECT_TRUE(identity.is_sandbox);
}

TEST(ReadBundle, podman_name_and_image_from_the_storage_list) {
  const auto identity = read_bundle(kOciFixture, with_id(id_of("b0"), "podman"));
  ASSERT_TRUE(identity.has_value()) << identity.error().message;
  EXPECT_EQ(identity->runtime, "podman");
  EXPECT_EQ(identity->name, "leaky");
  EXPECT_EQ(identity->image, "docker.io/library/alpine:3.20");
}

TEST(ReadBundle, docker_name_loses_its_slash) {
  const auto identity = read_bundle(kOciFixture, with_id(id_of("d0"), "docker"));
  ASSERT_TRUE(identity.has_value()) << identity.error().message;
  EXPECT_EQ(identity->name, "web");
  EXPECT_EQ(identity->image, "nginx:1.27");
  EXPECT_EQ(identity->labels.at("com.docker.compose.project"), "shop");
}

TEST(ReadBundle, docker_id_without_runtime_is_not_taken_for_containerd) {
  EXPECT_EQ(read_bundle(kOciFixture, with_id(id_of("d0")))->runtime, "docker");
}

TEST(ReadBundle, cri_dockerd_takes_the_kubelets_names) {
  const auto identity = read_bundle(kOciFixture, with_id(id_of("d1")));
  EXPECT_EQ(identity->name, "app");
  EXPECT_EQ(identity->pod_name, "api-0");
  EXPECT_EQ(identity->pod_namespace, "shop");
}

TEST(ReadBundle, unknown_id_is_not_found) {
  EXPECT_EQ(read_bundle(kOciFixture, with_id(id_of("ee"))).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_bundle(kOciFixture, with_id("")).error().code, ErrorCode::kNotFound);
}

TEST(ReadBundle, id_that_is_a_path_is_refused) {
  for (const char* id : {"..", ".", "a/b", "../../etc"}) {
    EXPECT_EQ(read_bundle(kOciFixture, with_id(id)).error().code, ErrorCode::kNotFound) << id;
  }
}

class Bundle : public ::testing::Test {
 protected:
  static constexpr const char* kTasks = "ctrd/io.containerd.runtime.v2.task/k8s.io/";
  Result<ContainerIdentity> read() const { return read_bundle({"", {tree.path("ctrd")}}, with_id(id, "containerd")); }
  std::string file() const { return kTasks + id + "/config.json"; }
  TempTree tree;
  std::string id = id_of("aa");
  std::string json = R"({"annotations":{"io.kubernetes.cri.container-name":"app"}})";
};

TEST_F(Bundle, extra_state_dir_is_read) {
  tree.write(file(), json);
  EXPECT_EQ(read()->name, "app");
}

TEST_F(Bundle, linked_file_is_not_followed) {
  tree.write("elsewhere.json", json);
  tree.write(kTasks + id + "/other", "");
  std::filesystem::create_symlink(tree.path("elsewhere.json"), tree.path(file()));
  EXPECT_EQ(read().error().code, ErrorCode::kNotFound);
}

TEST_F(Bundle, linked_directory_is_not_followed) {
  tree.write("elsewhere/config.json", json);
  tree.write(std::string(kTasks) + "other", "");
  std::filesystem::create_directory_symlink(tree.path("elsewhere"), tree.path(kTasks + id));
  EXPECT_EQ(read().error().code, ErrorCode::kNotFound);
}

TEST_F(Bundle, fifo_does_not_hang) {
  tree.write(kTasks + id + "/other", "");
  ASSERT_EQ(::mkfifo(tree.path(file()).c_str(), 0600), 0);
  EXPECT_EQ(read().error().code, ErrorCode::kNotFound);
}

TEST_F(Bundle, file_over_1_mib_is_refused) {
  tree.write(file(), json + std::string(1u << 20, ' '));
  EXPECT_EQ(read().error().code, ErrorCode::kNotFound);
}

TEST(HostRoot, absolute_links_resolve_inside_the_host) {
  const TempTree tree;
  tree.write("host/data/docker/containers/" + id_of("aa") + "/config.v2.json", R"({"Name":"/db"})");
  tree.write("host/var/lib/keep", "");
  std::filesystem::create_directory_symlink("/data/docker", tree.path("host/var/lib/docker"));
  const auto identity = read_bundle({tree.path("host"), {}}, with_id(id_of("aa")));
  ASSERT_TRUE(identity.has_value()) << identity.error().message;
  EXPECT_EQ(identity->name, "db");
}

TEST(ApplyOciConfig, malformed_changes_nothing) {
  ContainerIdentity identity = with_id("x");
  const ContainerIdentity before = identity;
  const auto result = apply_oci_config(R"({"annotations":{"io.kubernetes.cri.container-name":"app"},)", identity);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(identity, before);
}

TEST(ApplyOciConfig, names_elsewhere_in_the_document_are_no_names) {
  ContainerIdentity identity;
  ASSERT_TRUE(apply_oci_config(R"({"process":{"io.kubernetes.cri.container-name":"fake"},
      "annotations":{"x":{"io.kubernetes.cri.container-name":"fake"}}})",
                               identity));
  EXPECT_EQ(identity, ContainerIdentity{});
}

TEST(ApplyOciConfig, other_types_than_strings_are_skipped) {
  ContainerIdentity identity;
  ASSERT_TRUE(apply_oci_config(R"({"annotations":{"io.kubernetes.cri.container-name":[1,null,"x",{}]}})", identity));
  EXPECT_EQ(identity.name, "");
  ASSERT_TRUE(apply_oci_config(R"({"annotations":7})", identity));
}

TEST(ApplyOciConfig, absurdly_long_name_is_no_name) {
  ContainerIdentity identity;
  const std::string json =
      R"({"annotations":{"io.kubernetes.cri.container-name":")" + std::string(2'000, 'x') + R"("}})";
  ASSERT_TRUE(apply_oci_config(json, identity));
  EXPECT_EQ(identity.name, "");
}

TEST(ApplyDockerConfig, labels_are_bounded) {
  std::string json = R"({"Config":{"Labels":{"long":")" + std::string(300, 'x') + R"(")";
  for (int i = 0; i < 200; ++i) json += ",\"k" + std::to_string(i) + "\":\"v\"";
  ContainerIdentity identity;
  ASSERT_TRUE(apply_docker_config(json + "}}}", identity));
  EXPECT_EQ(identity.labels.size(), 64u);
  EXPECT_FALSE(identity.labels.contains("long"));
}

TEST(ApplyStorageList, entry_of_another_id_is_not_ours) {
  ContainerIdentity identity = with_id("b");
  const auto result = apply_storage_list(R"([{"id":"a","names":["x"]}])", identity);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(identity.name, "");
}

TEST(JsonStrings, deep_nesting_is_refused) {
  const OnJsonString nothing = [](const JsonPath&, const std::string&) {};
  EXPECT_FALSE(for_each_json_string(std::string(1u << 20, '['), nothing).has_value());
  EXPECT_TRUE(for_each_json_string(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']'), nothing));
  const std::string over(kMaxJsonDepth + 1, '[');
  EXPECT_FALSE(for_each_json_string(over + std::string(kMaxJsonDepth + 1, ']'), nothing).has_value());
}

TEST(JsonStrings, garbage_is_invalid) {
  const OnJsonString nothing = [](const JsonPath&, const std::string&) {};
  for (const char* json : {"", "{", "nul", "{\"a\":1e999999}", "\"\xff\"", "{}{}"}) {
    const auto result = for_each_json_string(json, nothing);
    ASSERT_FALSE(result.has_value()) << json;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid) << json;
  }
}

}  // namespace
}  // namespace oomw
