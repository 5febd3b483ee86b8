// SPDX-License-Identifier: Apache-2.0
// Rules of the whole tree that no compiler checks: which folder may include which, one licence
// line per file, and how long a file may be.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

using testing::_;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;

constexpr std::size_t kMaxLines = 450;

struct SourceFile {
  std::string path;  // from the root: "userspace/base/log.cc"
  std::string text;
};

// Folder -> all folders it may include, itself excepted. daemon and cli may include any.
const std::map<std::string, std::set<std::string>>& allowed_includes() {
  static const std::map<std::string, std::set<std::string>> allowed = [] {
    std::map<std::string, std::set<std::string>> map;
    map["base"] = {};
    map["pprof"] = map["events"] = map["reader"] = {"base"};
    map["facts"] = {"base", "events", "pprof"};
    map["memory"] = {"base"};
    map["kernel"] = map["kubernetes"] = map["model"] = {"base", "events"};
    map["process"] = {"base", "events", "memory"};
    map["system"] = {"base", "events", "process"};
    map["triggers"] = {"base", "events", "model"};
    map["elf"] = {"base", "memory"};
    map["runtimes"] = {"base", "events", "pprof"};
    map["runtimes/go"] = {"base", "elf", "events", "memory", "pprof", "process", "reader", "runtimes"};
    map["runtimes/go/retention"] = {"base", "elf", "events", "memory", "runtimes/go"};
    map["runtimes/native"] = {"base", "events", "memory", "runtimes"};
    map["runtimes/cpython"] = {"base", "events", "memory", "runtimes", "runtimes/native"};
    map["runtimes/jvm"] = {"base", "elf", "events", "memory", "runtimes"};
    map["runtimes/v8"] = {"base", "elf", "memory", "runtimes", "runtimes/native"};
    map["trends"] = {"base", "events", "pprof", "facts", "runtimes", "triggers", "incident"};
    map["growth"] = {"base",    "elf",    "events",      "kernel",       "memory",
                     "process", "reader", "runtimes/go", "runtimes/jvm", "runtimes/v8"};
    map["captures"] = {"base",  "events", "model",  "triggers", "system",     "process",
                       "pprof", "facts",  "reader", "runtimes", "runtimes/go"};
    map["analyses"] = {"base",
                       "runtimes/native",
                       "runtimes/cpython",
                       "runtimes/jvm",
                       "runtimes/v8",
                       "events",
                       "memory",
                       "process",
                       "model",
                       "triggers",
                       "captures",
                       "pprof",
                       "facts",
                       "runtimes",
                       "reader",
                       "runtimes/go",
                       "runtimes/go/retention"};
    map["incident"] = {"base", "events", "model", "pprof"};
    map["verdict"] = {"base", "events", "facts", "incident", "trends"};
    map["correlate"] = {"base", "events", "facts", "model", "incident", "verdict"};
    map["report"] = {"base", "events", "incident", "verdict", "pprof", "facts", "reader"};
    map["store"] = {"base", "events", "model", "incident", "report", "pprof"};
    map["cli/read"] = {"base", "events", "incident", "verdict", "report", "store", "pprof", "facts"};
    map["export"] = {"base", "events", "model", "triggers", "incident", "trends"};
    map["sinks/s3"] = {"base"};
    map["sinks"] = {"base",       "events", "model", "incident", "correlate",
                    "kubernetes", "store",  "pprof", "reader",   "sinks/s3"};
    map["web"] = {"base", "export", "pprof"};
    map["web/site"] = {"base",  "events", "export", "facts", "incident", "model",
                       "pprof", "reader", "report", "store", "verdict",  "web"};
    return map;
  }();
  return allowed;
}

// What reads incidents without a daemon: linked into unit_cli_read without libcurl and libbpf.
const std::set<std::string> kReaders = {"facts", "incident", "verdict", "report", "store", "cli/read"};

// What #include names on this line, with its quotes or brackets.
std::optional<std::string> included_by(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  return std::string(trim(line.substr(7)));
}

// "runtimes/go" of "userspace/runtimes/go/binary.cc".
std::string folder_of(const SourceFile& file) {
  if (!file.path.starts_with("userspace/")) return "";
  const std::size_t begin = std::string_view("userspace/").size(), end = file.path.rfind('/');
  return end > begin ? file.path.substr(begin, end - begin) : "";
}

bool may_include(const std::string& from, const std::string& to) {
  if (from == to || from == "daemon" || from == "cli") return true;
  const auto rule = allowed_includes().find(from);
  return rule != allowed_includes().end() && rule->second.contains(to);
}

// What is wrong with one include of a file in `folder`; "" if nothing.
std::string fault_of_include(const std::string& folder, const std::string& include) {
  if (include.starts_with("<bpf/") && folder != "kernel") return "includes libbpf: " + include;
  if (include.starts_with("<curl/") && kReaders.contains(folder)) return "includes libcurl: " + include;
  if (!include.starts_with('"')) return "";
  const auto slash = include.rfind('/');
  const bool is_skeleton = folder == "kernel" && include.ends_with(".skel.h\"");  // generated beside the build
  if (is_skeleton) return "";
  if (slash == std::string::npos) return "not from the userspace root: " + include;
  const std::string target = include.substr(1, slash - 1);
  if (may_include(folder, target)) return "";
  return folder + " must not include " + include;
}

std::vector<std::string> include_faults(const SourceFile& file) {
  std::vector<std::string> faults;
  const std::string folder = folder_of(file);
  for (const std::string_view line : split(file.text, '\n')) {
    const auto include = included_by(line);
    const std::string fault = include ? fault_of_include(folder, *include) : "";
    if (!fault.empty()) faults.push_back(file.path + ": " + fault);
  }
  return faults;
}

// bpf/ and include/ are also used by GPL programs, so they carry the double licence.
std::string expected_license(const std::string& path) {
  const bool is_kernel_side = path.starts_with("bpf/") || path.starts_with("include/");
  return is_kernel_side ? "GPL-2.0-only OR BSD-2-Clause" : "Apache-2.0";
}

// The marker is put together here, or this file would have it on more than one line.
std::vector<std::string> license_faults(const SourceFile& file) {
  const std::string marker = std::string("SPDX-License-") + "Identifier: ";
  const std::string expected = marker + expected_license(file.path);
  std::size_t markers = 0, matches = 0;
  for (const std::string_view line : split(file.text, '\n')) {
    markers += line.find(marker) != std::string_view::npos;
    matches += line.find(expected) != std::string_view::npos;
  }
  if (markers == 1 && matches == 1) return {};
  return {file.path + ": wants exactly one line " + expected};
}

std::vector<std::string> length_faults(const SourceFile& file) {
  const auto lines = static_cast<std::size_t>(std::count(file.text.begin(), file.text.end(), '\n'));
  if (lines <= kMaxLines) return {};
  return {file.path + ": " + std::to_string(lines) + " lines, more than " + std::to_string(kMaxLines)};
}

bool is_source(const std::filesystem::path& path) {
  static const std::set<std::string> extensions = {".h", ".cc", ".c", ".cpp", ".py", ".sh", ".go"};
  return extensions.contains(path.extension().string());
}

std::vector<SourceFile> sources_under(const std::string& folder) {
  std::vector<SourceFile> files;
  const std::filesystem::path root = test::source_tree();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    const std::string path = std::filesystem::relative(entry.path(), root);
    // Fixtures are copies of other people's machines, not ours to sign.
    if (path.starts_with("tests/fixtures/")) continue;
    auto text = read_file(entry.path(), test::kMaxSourceBytes);
    if (text.has_value()) files.push_back({path, std::move(*text)});
  }
  return files;
}

// What opens a file below /proc/PID that the process shapes or can stall: process/ only (target_process.h).
std::vector<std::string> open_faults(const SourceFile& file) {
  static const std::regex opens(
      R"re(\b(open|read|stat|readlink)\w*\(.*"/?(mem|pagemap|maps|smaps|smaps_rollup|cmdline|environ|exe|root|cwd|fd)"|)re"
      R"re("/?(map_files|fd|cwd|root|ns)/)re");
  std::vector<std::string> faults;
  if (folder_of(file) == "process") return faults;
  for (const std::string_view line : split(file.text, '\n')) {
    if (std::regex_search(line.begin(), line.end(), opens))
      faults.push_back(file.path + ": " + std::string(trim(line)));
  }
  return faults;
}

template <typename Check>
std::vector<std::string> faults_in(const std::vector<std::string>& folders, Check check) {
  std::vector<std::string> faults;
  for (const std::string& folder : folders) {
    for (const SourceFile& file : sources_under(folder)) {
      for (std::string& fault : check(file)) faults.push_back(std::move(fault));
    }
  }
  return faults;
}

const std::vector<std::string> kSigned = {"userspace", "bpf", "include", "tests"};

TEST(Tree, dependencies_point_downward) { EXPECT_THAT(faults_in({"userspace"}, include_faults), IsEmpty()); }

TEST(Tree, what_a_tenant_shapes_below_proc_is_opened_in_one_room) {
  EXPECT_THAT(faults_in({"userspace"}, open_faults), IsEmpty());
}

TEST(Tree, every_source_file_has_its_license_line) { EXPECT_THAT(faults_in(kSigned, license_faults), IsEmpty()); }

TEST(Tree, no_source_file_is_too_long) {
  EXPECT_THAT(faults_in({"userspace", "bpf", "include"}, length_faults), IsEmpty());
}

TEST(Tree, no_folder_is_too_large) {
  std::map<std::string, std::size_t> sources;
  for (const SourceFile& file : sources_under("userspace")) sources[folder_of(file)] += file.path.ends_with(".cc");
  EXPECT_THAT(sources, Each(Pair(_, Le(25u))));
}

TEST(Tree, the_checks_above_see_the_sources) {
  const auto files = sources_under("userspace");
  EXPECT_TRUE(std::any_of(files.begin(), files.end(), [](auto& f) { return f.path == "userspace/base/files.cc"; }));
}

TEST(Tree, cmake_and_the_daemon_agree_on_the_version) {
  EXPECT_THAT(read_file(test::source_tree() + "/CMakeLists.txt", test::kMaxSourceBytes).value(),
              HasSubstr("project(oomwitness VERSION " + std::string(kVersion) + " "));
}

TEST(IncludeCheck, upward_and_sideward_includes_are_found) {
  const auto faults = [](const std::string& path, const std::string& line) {
    return include_faults({path, line + "\n"}).size();
  };
  EXPECT_EQ(faults("userspace/base/a.cc", "#include \"events/event.h\""), 1u);
  EXPECT_EQ(faults("userspace/model/a.cc", "#include \"system/sampler.h\""), 1u);
  EXPECT_EQ(faults("userspace/triggers/a.cc", "  # include \"kernel/kernel_source.h\""), 1u);
  EXPECT_EQ(faults("userspace/incident/a.h", "#include \"captures/capture.h\""), 1u);
  EXPECT_EQ(faults("userspace/runtimes/go/a.h", "#include \"captures/capture.h\""), 1u);
  EXPECT_EQ(faults("userspace/pprof/a.cc", "#include \"events/event.h\""), 1u);
  EXPECT_EQ(faults("userspace/export/a.cc", "#include \"web/metrics_server.h\""), 1u);
  EXPECT_EQ(faults("userspace/new_folder/a.cc", "#include \"base/log.h\""), 1u);
  EXPECT_EQ(faults("userspace/daemon/a.cc", "#include <bpf/libbpf.h>"), 1u);
  EXPECT_EQ(faults("userspace/store/a.cc", "#include <curl/curl.h>"), 1u);
  EXPECT_EQ(faults("userspace/cli/read/a.cc", "#include \"daemon/config.h\""), 1u);
  EXPECT_EQ(faults("userspace/daemon/a.cc", "#include \"oom.skel.h\""), 1u);
  EXPECT_EQ(faults("userspace/base/a.cc", "#include \"log.h\""), 1u);
}

TEST(IncludeCheck, downward_includes_pass) {
  const std::string text =
      "#include \"captures/capture.h\"\n#include <vector>\n// #include \"cli/main.h\"\n#include \"system/sampler.h\"\n";
  EXPECT_THAT(include_faults({"userspace/captures/a.cc", text}), IsEmpty());
  EXPECT_THAT(include_faults({"userspace/kernel/a.cc", "#include <bpf/libbpf.h>\n"}), IsEmpty());
  EXPECT_THAT(include_faults({"userspace/kernel/a.cc", "#include \"oom.skel.h\"\n"}), IsEmpty());
  EXPECT_THAT(include_faults({"userspace/cli/a.cc", "#include \"web/metrics_server.h\"\n"}), IsEmpty());
}

TEST(OpenCheck, files_of_a_process_are_found_and_those_of_oneself_are_not) {
  for (const char* line : {R"(open_at(process.dir_fd(), "mem", O_RDONLY))", R"(read_prefix_at(dir, "maps", kMax))",
                           R"(read_link_at(dir, "exe"))", R"(::fstatat(dir, "ns/net", &ns, 0))",
                           R"(read_file(dir + "/smaps"))", R"(open_at(dir, "map_files/" + range, O_RDONLY))"}) {
    EXPECT_THAT(open_faults({"userspace/growth/a.cc", line}), testing::SizeIs(1)) << line;
    EXPECT_THAT(open_faults({"userspace/process/a.cc", line}), IsEmpty()) << line;
  }
  EXPECT_THAT(open_faults({"userspace/captures/a.cc", R"(open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY))"}),
              IsEmpty());
}

TEST(LicenseCheck, missing_wrong_and_double_lines_are_found) {
  const std::string apache = std::string("// SPDX-License-") + "Identifier: Apache-2.0\n";
  EXPECT_THAT(license_faults({"userspace/a.cc", apache}), IsEmpty());
  EXPECT_EQ(license_faults({"userspace/a.cc", ""}).size(), 1u);
  EXPECT_EQ(license_faults({"bpf/a.c", apache}).size(), 1u);
  EXPECT_EQ(license_faults({"userspace/a.cc", apache + apache}).size(), 1u);
}

TEST(LengthCheck, one_line_too_many_is_found) {
  EXPECT_THAT(length_faults({"a", std::string(kMaxLines, '\n')}), IsEmpty());
  EXPECT_THAT(length_faults({"a", std::string(kMaxLines + 1, '\n')}), ElementsAre("a: 451 lines, more than 450"));
}

}  // namespace
}  // namespace oomw
