// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "incident/incident_files.h"
#include "store/directory_names.h"
#include "support/builders.h"

namespace oomw {
namespace {

using test::bare_incident;
using test::sample_incident;

Incident sample_in_cgroup(const std::string& path) {
  Incident incident = sample_incident();
  incident.container = {};
  incident.cgroup_path = path;
  return incident;
}

TEST(DirectoryNameTest, pod_is_namespace_pod_container) {
  EXPECT_EQ(directory_name(sample_incident()), "20261121T030405Z-shop-cart-7d9f-cart-1a2b3c4d");
}

TEST(DirectoryNameTest, unit_is_unit_cgroup_victim) {
  Incident incident = sample_in_cgroup("/system.slice/nginx.service");
  incident.container.unit = "nginx.service";
  EXPECT_EQ(directory_name(incident), "20261121T030405Z-nginx.service-nginx.service-cart-1a2b3c4d");
}

TEST(DirectoryNameTest, docker_container_without_name_shows_its_short_id) {
  Incident incident = sample_in_cgroup("/docker/" + std::string(64, 'd'));
  incident.container.runtime = "docker";
  incident.container.id = std::string(64, 'd');
  EXPECT_EQ(directory_name(incident), "20261121T030405Z-docker-dddddddddddd-dddddddddddd-1a2b3c4d");
}

TEST(DirectoryNameTest, plain_cgroup_is_its_last_component) {
  EXPECT_EQ(directory_name(sample_in_cgroup("/lab/batch")), "20261121T030405Z-cgroup-batch-cart-1a2b3c4d");
}

TEST(DirectoryNameTest, nothing_known_still_has_a_name) {
  EXPECT_EQ(directory_name(bare_incident()), "20261121T030405Z-cgroup-node-sleep-00000001");
}

TEST(DirectoryNameTest, hostile_names_stay_one_component) {
  for (const std::string& name :
       {std::string("../../etc"), std::string(".hidden"), std::string("a/b\nc\"|"), std::string("\xff\xfe"),
        std::string(255, 'x'), std::string("-rf"), std::string("\0x", 2), std::string("..")}) {
    Incident incident = sample_incident();
    incident.container.pod_namespace = incident.container.pod_name = incident.container.name = name;
    const std::string directory = directory_name(incident);
    EXPECT_LE(directory.size(), 200u);
    EXPECT_EQ(directory.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"),
              std::string::npos)
        << directory;
    EXPECT_TRUE(is_incident_directory(directory)) << directory;
    EXPECT_EQ(id_of_directory(directory), incident.id);
  }
}

TEST(DirectoryNamesTest, ours_when_named_otherwise_are_not) {
  for (const char* name : {"", ".", "lost+found", "20261121T030405Z", "20261121T030405Z-1a2b3c4", "2026-a-1a2b3c4d",
                           "20261341T030405Z-a-1a2b3c4d", "20261121T030405Z-a-1a2b3c4G", ".tmp-x-1", "x"}) {
    EXPECT_FALSE(is_incident_directory(name)) << name;
  }
  EXPECT_TRUE(is_incident_directory("20261121T030405Z-1a2b3c4d"));
}

TEST(DirectoryNamesTest, temporary_names_tell_their_writer) {
  EXPECT_EQ(temporary_name("20261121T030405Z-1a2b3c4d", 77), ".tmp-20261121T030405Z-1a2b3c4d-77");
  EXPECT_EQ(pid_of_temporary(".tmp-20261121T030405Z-1a2b3c4d-77"), 77);
  EXPECT_FALSE(pid_of_temporary(".tmp-x-").has_value());
  EXPECT_FALSE(pid_of_temporary("tmp-x-1").has_value());
}

TEST(DirectoryNamesTest, capture_names_tell_their_number) {
  EXPECT_EQ(capture_file_name(7, "http"), "capture-07-http.pb.gz");
}

}  // namespace
}  // namespace oomw
