// SPDX-License-Identifier: Apache-2.0
#include "system/container_path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace oomw {
namespace {

const std::string kN = "4f1d5d9c0b7e8a6f3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b";
const std::string kM = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const std::string kU = "6b2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47";
const std::string kUs = "6b2f9f0e_3c1d_4b7a_9d0e_2f6a1c8e5b47";
const std::string kOther = "11111111-2222-4333-8444-555555555555";
const std::string kStatic = "0123456789abcdef0123456789abcdef";
const std::string kBurstable = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUs + ".slice/";

struct PathCase {
  std::string name;
  std::string path;
  std::string runtime, id, pod_uid, unit;
};

class KnownPath : public ::testing::TestWithParam<PathCase> {};

TEST_P(KnownPath, says_whose_it_is) {
  const PathCase& c = GetParam();
  const auto identity = identity_from_path(c.path);
  ASSERT_TRUE(identity.has_value()) << c.path;
  EXPECT_EQ(identity->runtime, c.runtime);
  EXPECT_EQ(identity->id, c.id);
  EXPECT_EQ(identity->pod_uid, c.pod_uid);
  EXPECT_EQ(identity->unit, c.unit);
}

const std::vector<PathCase> kCases = {
    {"cgroupfs_burstable", "/kubepods/burstable/pod" + kU + "/" + kN, "", kN, kU, ""},
    {"cgroupfs_besteffort", "/kubepods/besteffort/pod" + kU + "/" + kN, "", kN, kU, ""},
    {"cgroupfs_guaranteed", "/kubepods/pod" + kU + "/" + kN, "", kN, kU, ""},
    {"cgroupfs_static_pod", "/kubepods/burstable/pod" + kStatic + "/" + kN, "", kN, kStatic, ""},
    {"cgroupfs_crio", "/kubepods/burstable/pod" + kU + "/crio-" + kN, "cri-o", kN, kU, ""},
    {"cgroupfs_pod_level", "/kubepods/burstable/pod" + kU, "", "", kU, ""},
    {"systemd_containerd", kBurstable + "cri-containerd-" + kN + ".scope", "containerd", kN, kU, ""},
    {"systemd_crio", kBurstable + "crio-" + kN + ".scope", "cri-o", kN, kU, ""},
    {"systemd_docker", kBurstable + "docker-" + kN + ".scope", "docker", kN, kU, ""},
    {"systemd_podman", kBurstable + "libpod-" + kN + ".scope", "podman", kN, kU, ""},
    {"systemd_guaranteed", "/kubepods.slice/kubepods-pod" + kUs + ".slice/cri-containerd-" + kN + ".scope",
     "containerd", kN, kU, ""},
    {"systemd_static_pod", "/kubepods.slice/kubepods-pod" + kStatic + ".slice/crio-" + kN + ".scope", "cri-o", kN,
     kStatic, ""},
    {"systemd_pod_level", kBurstable, "", "", kU, ""},
    {"crun_child", kBurstable + "crio-" + kN + ".scope/container", "cri-o", kN, kU, ""},
    {"systemd_in_container", kBurstable + "crio-" + kN + ".scope/init.scope", "cri-o", kN, kU, ""},
    {"service_in_container", kBurstable + "crio-" + kN + ".scope/system.slice/ssh.service", "cri-o", kN, kU, ""},
    {"docker_in_pod", kBurstable + "cri-containerd-" + kN + ".scope/docker/" + kM, "containerd", kN, kU, ""},
    {"crio_monitor", kBurstable + "crio-conmon-" + kN + ".scope", "", "", kU, ""},
    {"crio_monitor_cgroupfs", "/kubepods/pod" + kU + "/crio-conmon-" + kN, "", "", kU, ""},
    {"containerd_wrong_driver",
     "/system.slice/containerd.service/kubepods-besteffort-pod" + kUs + ".slice:cri-containerd:" + kN, "containerd", kN,
     kU, ""},
    {"docker_cgroupfs", "/docker/" + kN, "docker", kN, "", ""},
    {"docker_systemd", "/system.slice/docker-" + kN + ".scope", "docker", kN, "", ""},
    {"docker_in_docker", "/docker/" + kN + "/docker/" + kM, "docker", kN, "", ""},
    {"docker_cgroup_parent", "/shop/" + kN, "", kN, "", ""},
    {"nerdctl", "/system.slice/nerdctl-" + kN + ".scope", "containerd", kN, "", ""},
    {"podman_systemd", "/machine.slice/libpod-" + kN + ".scope", "podman", kN, "", ""},
    {"podman_systemd_child", "/machine.slice/libpod-" + kN + ".scope/container", "podman", kN, "", ""},
    {"podman_cgroupfs", "/libpod_parent/libpod-" + kN, "podman", kN, "", ""},
    {"podman_pod", "/libpod_parent/" + kM + "/libpod-" + kN, "podman", kN, "", ""},
    {"podman_monitor", "/machine.slice/libpod-conmon-" + kN + ".scope", "systemd", "", "",
     "libpod-conmon-" + kN + ".scope"},
    {"rootless_podman", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kN + ".scope", "podman",
     kN, "", ""},
    {"rootless_docker", "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kN + ".scope", "docker",
     kN, "", ""},
    {"kind_node_service", "/docker/" + kM + "/system.slice/containerd.service", "docker", kM, "", ""},
    {"lxc", "/lxc/web-1", "lxc", "web-1", "", ""},
    {"lxc_payload", "/lxc.payload.web-1", "lxc", "web-1", "", ""},
    {"lxc_service_inside", "/lxc.payload.web-1/system.slice/nginx.service", "lxc", "web-1", "", ""},
    {"systemd_service", "/system.slice/nginx.service", "systemd", "", "", "nginx.service"},
    {"systemd_template", "/system.slice/system-getty.slice/getty@tty1.service", "systemd", "", "",
     "getty@tty1.service"},
    {"systemd_escaped", "/system.slice/dev-disk-by\\x2duuid.service", "systemd", "", "",
     "dev-disk-by\\x2duuid.service"},
    {"systemd_delegated_child", "/system.slice/k3s.service/child", "systemd", "", "", "k3s.service"},
    {"systemd_user_service", "/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service", "systemd", "", "",
     "foo.service"},
    {"systemd_session", "/user.slice/user-0.slice/session-3.scope", "systemd", "", "", "session-3.scope"},
    {"eks_daemon", "/runtime.slice/containerd.service", "systemd", "", "", "containerd.service"},
    {"aks_daemon", "/azure.slice/walinuxagent.service", "systemd", "", "", "walinuxagent.service"},
    {"talos_system", "/system/apid", "", "", "", "apid"},
    {"talos_podruntime", "/podruntime/kubelet", "", "", "", "kubelet"},
    // What a tenant makes below its own cgroup to be taken for another.
    {"claimed_pod", "/kubepods/burstable/pod" + kU + "/" + kN + "/kubepods/pod" + kOther + "/" + kM, "", kN, kU, ""},
    {"claimed_pod_slice",
     kBurstable + "cri-containerd-" + kN + ".scope/kubepods.slice/kubepods-pod" + kOther + ".slice/crio-" + kM +
         ".scope",
     "containerd", kN, kU, ""},
    {"claimed_by_docker", "/docker/" + kN + "/kubepods/pod" + kOther + "/" + kM, "docker", kN, "", ""},
    {"claimed_by_lxc", "/lxc.payload.web-1/kubepods/pod" + kOther + "/" + kM, "lxc", "web-1", "", ""},
    {"claimed_by_a_user", "/user.slice/user-1000.slice/user@1000.service/kubepods/pod" + kOther, "systemd", "", "",
     "user@1000.service"},
    {"kind_seen_from_the_host", "/docker/" + kM + "/kubelet/kubepods/burstable/pod" + kU + "/" + kN, "docker", kM, "",
     ""},
    {"doubled_slashes", "//docker//" + kN + "//", "docker", kN, "", ""},
};

const std::vector<PathCase> kNestedCases = {
    {"kind_systemd",
     "/system.slice/docker-" + kM +
         ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
         "kubelet-kubepods-burstable-pod" +
         kUs + ".slice/cri-containerd-" + kN + ".scope",
     "containerd", kN, kU, ""},
    {"kind_cgroupfs", "/docker/" + kM + "/kubelet/kubepods/burstable/pod" + kU + "/" + kN, "", kN, kU, ""},
    {"kind_pod_level", "/docker/" + kM + "/kubelet/kubepods/burstable/pod" + kU, "", "", kU, ""},
    {"docker_in_docker", "/docker/" + kN + "/docker/" + kM, "docker", kM, "", ""},
    {"systemd_containerd", kBurstable + "cri-containerd-" + kN + ".scope", "containerd", kN, kU, ""},
};

TEST(ContainerPath, nested_runtimes_count_when_asked_for) {
  for (const PathCase& c : kNestedCases) {
    const auto identity = identity_from_path(c.path, NestedRuntimes::kCounted);
    ASSERT_TRUE(identity.has_value()) << c.name;
    EXPECT_EQ(identity->runtime, c.runtime) << c.name;
    EXPECT_EQ(identity->id, c.id) << c.name;
    EXPECT_EQ(identity->pod_uid, c.pod_uid) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, KnownPath, ::testing::ValuesIn(kCases), [](const auto& c) { return c.param.name; });

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

const std::vector<std::pair<std::string, std::string>> kPlain = {
    {"empty", ""},
    {"root", "/"},
    {"only_slashes", "//////"},
    {"plain", "/oomw/e2e-1"},
    {"slice", "/user.slice/user-1000.slice"},
    {"containerd_named", "/default/c1"},
    {"hex_63", "/docker/" + kN.substr(1)},
    {"hex_65", "/docker/" + kN + "0"},
    {"hex_upper", "/shop/" + repeat("AB", 32)},
    {"hex_with_newline", "/shop/" + kN.substr(1) + "\n"},
    {"hex_32", "/process_api/" + kStatic},
    {"unknown_prefix", "/x/evil-" + kN},
    {"prefix_without_id", "/x/docker-.scop"},
    {"bare_scope_suffix", "/.scope/.service"},
    {"lxc_without_name", "/lxc"},
    {"lxc_payload_without_name", "/lxc.payload."},
    {"pod_uid_wrong_dashes", "/kubepods/pod6b2f9f0e-3c1d-4b7a-9d0e+2f6a1c8e5b47"},
    {"pod_uid_not_hex", "/kubepods/podzb2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47"},
    {"pod_slice_elsewhere", "/x.slice/x-pod" + kUs + ".slice"},
    {"invalid_utf8", "/\xff\xfe/\xc3("},
    {"component_of_255", "/" + std::string(255, 'a')},
    {"depth_1000", repeat("/a", 1000)},
    {"nul_byte", std::string("/docker/\0", 9)},
};

TEST(ContainerPath, plain_and_lookalike_paths_are_nobodys) {
  for (const auto& [name, path] : kPlain) {
    EXPECT_EQ(identity_from_path(path), std::nullopt) << name;
  }
}

TEST(ContainerPath, hostile_surroundings_do_not_hide_a_container) {
  const std::string hostile = "/\xff\n\x1b[31m" + std::string(200, '-') + repeat("/pod", 500) + repeat("/a", 500);
  const auto identity = identity_from_path(hostile + "/docker/" + kN);
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->id, kN);
  EXPECT_EQ(identity->pod_uid, "");
}

TEST(ContainerPath, lxc_name_is_the_container_name) { EXPECT_EQ(identity_from_path("/lxc/web-1")->name, "web-1"); }

}  // namespace
}  // namespace oomw
