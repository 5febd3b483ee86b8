// SPDX-License-Identifier: Apache-2.0
#include "kernel/refusal.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>

namespace oomw {

namespace {

constexpr int kCapSysAdmin = 21;
constexpr int kCapSysResource = 24;
constexpr int kCapPerfmon = 38;
constexpr int kCapBpf = 39;
constexpr std::size_t kMaxReasonBytes = 200;
constexpr std::string_view kLogBegin = "-- BEGIN PROG LOAD LOG --\n";
constexpr std::string_view kLogEnd = "-- END PROG LOAD LOG --";

// The last line before "processed N insns ...": the instruction's verdict.
std::string_view verifier_verdict(std::string_view log) {
  std::size_t begin = log.rfind(kLogBegin);
  if (begin == std::string_view::npos) return {};
  log.remove_prefix(begin + kLogBegin.size());
  log = log.substr(0, log.find(kLogEnd));
  std::string_view verdict;
  while (!log.empty()) {
    std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (line.starts_with("processed ")) break;
    if (!line.empty()) verdict = line;
  }
  return verdict;
}

std::string missing_capability(const Refusal& refusal, const BpfCapabilities& held) {
  if (refusal.error_number != EPERM && refusal.error_number != EACCES) return {};
  if (held.sys_admin) return {};
  if (!held.bpf) return "needs CAP_BPF (or CAP_SYS_ADMIN)";
  if (!held.perfmon) return "needs CAP_PERFMON (or CAP_SYS_ADMIN)";
  return {};
}

// Before 5.11 map memory counts against RLIMIT_MEMLOCK, which libbpf raises if it may.
std::string_view hint_of(const Refusal& refusal, const BpfCapabilities& held) {
  if (refusal.error_number != EPERM) return {};
  if (!held.sys_resource && refusal.libbpf_log.find("RLIMIT_MEMLOCK") != std::string_view::npos) {
    return ": needs CAP_SYS_RESOURCE or a larger RLIMIT_MEMLOCK";
  }
  return ": refused by a kernel policy (lockdown, a security module or seccomp)";
}

std::string to_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (text.size() > kMaxReasonBytes) text.resize(kMaxReasonBytes);
  return text;
}

}  // namespace

BpfCapabilities parse_capabilities(std::string_view proc_status) {
  constexpr std::string_view kField = "CapEff:\t";
  std::size_t at = proc_status.find(kField);
  if (at == std::string_view::npos) return {};
  std::string_view hex = proc_status.substr(at + kField.size(), 16);
  std::uint64_t mask = 0;
  if (std::from_chars(hex.data(), hex.data() + hex.size(), mask, 16).ec != std::errc{}) return {};
  auto has = [mask](int bit) { return (mask >> bit & 1) != 0; };
  return {.bpf = has(kCapBpf),
          .perfmon = has(kCapPerfmon),
          .sys_admin = has(kCapSysAdmin),
          .sys_resource = has(kCapSysResource)};
}

BpfCapabilities own_capabilities() {
  std::ifstream file("/proc/self/status");
  std::stringstream text;
  text << file.rdbuf();
  return parse_capabilities(text.str());
}

std::string refusal_reason(const Refusal& refusal, const BpfCapabilities& held) {
  std::string capability = missing_capability(refusal, held);
  if (!capability.empty()) return capability;
  std::string_view verdict = verifier_verdict(refusal.libbpf_log);
  if (!verdict.empty()) return to_one_line("verifier: " + std::string(verdict));
  Error error = errno_error(refusal.error_number, refusal.step);
  return to_one_line(error.message.append(hint_of(refusal, held)));
}

}  // namespace oomw
