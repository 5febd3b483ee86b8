// SPDX-License-Identifier: Apache-2.0
#include "kernel/refusal.h"

#include <algorithm>
#include <cerrno>

namespace oomw {

namespace {

constexpr std::size_t kMaxReasonBytes = 200;
constexpr std::string_view kLogBegin = "-- BEGIN PROG LOAD LOG --\n";
constexpr std::string_view kLogEnd = "-- END PROG LOAD LOG --";

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

// The text between its marks. Of a long log only the end is kept, without the begin mark.
std::string_view verifier_log(std::string_view log) {
  std::size_t begin = log.rfind(kLogBegin);
  std::size_t end = log.rfind(kLogEnd);
  if (begin == std::string_view::npos) return end == std::string_view::npos ? std::string_view() : log.substr(0, end);
  log.remove_prefix(begin + kLogBegin.size());
  return log.substr(0, log.find(kLogEnd));
}

// The last line before "processed N insns ...": the instruction's verdict.
std::string_view verifier_verdict(std::string_view text) {
  std::string_view log = verifier_log(text), verdict;
  while (!log.empty()) {
    std::string_view line = take_line(log);
    if (line.starts_with("processed ")) break;
    if (!line.empty()) verdict = line;
  }
  return verdict;
}

// libbpf's first warning that is a cause and not a consequence: a map, a type, a symbol.
std::string_view libbpf_warning(std::string_view log) {
  constexpr std::string_view kPrefix = "libbpf: ";
  while (!log.empty()) {
    std::string_view line = take_line(log);
    if (!line.starts_with(kPrefix)) continue;
    line.remove_prefix(kPrefix.size());
    bool is_consequence = line.find("load failed") != std::string_view::npos ||
                          line.find("failed to load") != std::string_view::npos ||
                          line.find("failed to auto-attach") != std::string_view::npos;
    if (!is_consequence) return line;
  }
  return {};
}

std::string missing_capability(const Refusal& refusal, Capabilities held) {
  if (refusal.error_number != EPERM && refusal.error_number != EACCES) return {};
  if (!held.covers(Capability::kBpf)) return "needs CAP_BPF (or CAP_SYS_ADMIN)";
  if (!held.covers(Capability::kPerfmon)) return "needs CAP_PERFMON (or CAP_SYS_ADMIN)";
  return {};
}

// Before 5.11 map memory counts against RLIMIT_MEMLOCK, which libbpf raises if it may.
std::string_view hint_of(const Refusal& refusal, Capabilities held) {
  if (refusal.error_number != EPERM) return {};
  if (!held.has(Capability::kSysResource) && refusal.libbpf_log.find("RLIMIT_MEMLOCK") != std::string_view::npos) {
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

std::string refusal_reason(const Refusal& refusal, Capabilities held) {
  std::string capability = missing_capability(refusal, held);
  if (!capability.empty()) return capability;
  std::string_view verdict = verifier_verdict(refusal.libbpf_log);
  if (!verdict.empty()) return to_one_line("verifier: " + std::string(verdict));
  std::string reason = errno_error(refusal.error_number, refusal.step).message;
  std::string_view hint = hint_of(refusal, held);
  std::string_view warning = libbpf_warning(refusal.libbpf_log);
  if (!hint.empty()) return to_one_line(reason.append(hint));
  if (!warning.empty()) reason.append(" (").append(warning).append(")");
  return to_one_line(std::move(reason));
}

std::string refused_program(std::string_view libbpf_log, const std::vector<std::string>& programs) {
  constexpr std::string_view kMark = "libbpf: prog '";
  std::size_t at = libbpf_log.rfind(kMark);
  if (at == std::string_view::npos) return {};
  std::string_view name = libbpf_log.substr(at + kMark.size());
  name = name.substr(0, name.find('\''));
  auto found = std::find(programs.begin(), programs.end(), name);
  return found == programs.end() ? std::string() : *found;
}

}  // namespace oomw
