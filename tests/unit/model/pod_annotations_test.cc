// SPDX-License-Identifier: Apache-2.0
#include "model/pod_annotations.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr CgroupId kPodSlice{1}, kContainer{2}, kService{3};

std::optional<std::uint16_t> port_of(const std::string& value) {
  PodSeen pod;
  pod.annotations["oomwitness.io/pprof-port"] = value;
  return annotated_pprof_port(pod);
}

// A container of a pod that the API may have reported, and a service of the node.
class PodAnnotationsTest : public ::testing::Test {
 protected:
  PodAnnotationsTest() {
    model_.apply(CgroupCreated{{1}, kPodSlice, {}, "/pod", true});
    model_.apply(CgroupCreated{{1}, kContainer, kPodSlice, "/pod/c", true});
    model_.apply(CgroupCreated{{1}, kService, {}, "/system.slice/x.service", true});
    ContainerIdentity container, service;
    container.id = "run1";
    container.pod_uid = "uid";
    service.unit = "x.service";
    model_.apply(ContainerIdentified{{1}, kContainer, container, true});
    model_.apply(ContainerIdentified{{1}, kService, service, false});
  }
  void report_pod(const std::string& key = "", const std::string& value = "") {
    PodSeen pod;
    pod.uid = "uid";
    pod.name = "p";
    if (!key.empty()) pod.annotations[key] = value;
    model_.apply(pod);
  }
  std::string why(bool is_opt_in, CgroupId cgroup = kContainer) const {
    return std::string(to_string(why_left_alone(cgroup, model_, is_opt_in)));
  }

  MemoryModel model_;
};

TEST(AnnotatedPprofPort, is_a_port_and_nothing_else) {
  EXPECT_EQ(port_of("6061"), 6061);
  EXPECT_EQ(port_of("1"), 1);
  EXPECT_EQ(port_of("65535"), 65535);
  for (const char* value : {"", "0", "65536", "99999", "18446744073709557677", "-1", "+1", " 6061", "6061 ",
                            "6061,6062", "0x17ad", "6061/../..", "127.0.0.1:6061", "\x1b[31m", "\xd9\xa6"}) {
    EXPECT_EQ(port_of(value), std::nullopt) << value;
  }
  EXPECT_EQ(port_of(std::string(100'000, '6')), std::nullopt);
}

TEST_F(PodAnnotationsTest, the_port_is_its_pods_for_each_container_of_it) {
  report_pod("oomwitness.io/pprof-port", "6061");
  EXPECT_EQ(annotated_pprof_port(kContainer, model_), 6061);
  EXPECT_EQ(annotated_pprof_port(kService, model_), std::nullopt);
}

TEST_F(PodAnnotationsTest, nobody_is_left_alone_unless_a_pod_says_so) {
  EXPECT_EQ(why(false), "");
  report_pod();
  EXPECT_EQ(why(false), "");
  report_pod("oomwitness.io/capture", "false");
  EXPECT_EQ(why(false), "opted_out");
}

TEST_F(PodAnnotationsTest, with_opt_in_only_a_pod_that_says_true_is_asked) {
  report_pod();
  EXPECT_EQ(why(true), "not_opted_in");
  report_pod("oomwitness.io/capture", "True");
  EXPECT_EQ(why(true), "not_opted_in");
  report_pod("oomwitness.io/capture", "false");
  EXPECT_EQ(why(true), "opted_out");
  report_pod("oomwitness.io/capture", "true");
  EXPECT_EQ(why(true), "");
}

TEST_F(PodAnnotationsTest, with_opt_in_a_pod_that_the_api_has_not_reported_is_left_alone) {
  EXPECT_EQ(why(true), "not_opted_in");
}

TEST_F(PodAnnotationsTest, opt_in_is_about_pods_alone) {
  EXPECT_EQ(why(true, kService), "");
  EXPECT_EQ(why(true, CgroupId{99}), "");
}

TEST(PodAnnotations, those_about_its_telemetry_lose_their_prefix) {
  PodSeen pod;
  pod.annotations = {{"oomwitness.io/capture", "true"}, {"resource.opentelemetry.io/service.name", "checkout"}};
  EXPECT_EQ(resource_attributes_of(pod), (std::map<std::string, std::string>{{"service.name", "checkout"}}));
}

}  // namespace
}  // namespace oomw
