// SPDX-License-Identifier: Apache-2.0
#include "kernel/program_loader.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <bpf/libbpf.h>

#include "kernel/libbpf_log.h"
#include "kernel/perf_tracepoint.h"

namespace oomw {

namespace {

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using ObjectPtr = std::unique_ptr<bpf_object, CloseObject>;

struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using LinkPtr = std::unique_ptr<bpf_link, DestroyLink>;

ObjectPtr open_object(ObjectFile file) {
  auto bytes = object_bytes(file);
  std::string name(to_string(file));
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name.c_str());
  return ObjectPtr(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
}

// The program for each name, nullptr where the object has none; no others are loaded.
std::vector<bpf_program*> select_programs(bpf_object& object, const std::vector<std::string>& names) {
  std::vector<bpf_program*> selected(names.size(), nullptr);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, &object) {
    auto wanted = std::find(names.begin(), names.end(), bpf_program__name(program));
    bpf_program__set_autoload(program, wanted != names.end());
    if (wanted != names.end()) selected[static_cast<std::size_t>(wanted - names.begin())] = program;
  }
  return selected;
}

template <typename T>
int set_section(bpf_object& object, const char* section, const T& value) {
  bpf_map* map = bpf_object__find_map_by_name(&object, section);
  // An object has no such section if its programs read nothing from it.
  return map == nullptr ? 0 : bpf_map__set_initial_value(map, &value, sizeof(value));
}

// Returns the link; if refused, it is invalid and errno is set.
UniqueFd attach(const bpf_program& program) {
  constexpr std::string_view kByPerf = "tracepoint/";
  std::string_view section = bpf_program__section_name(&program);
  if (section.starts_with(kByPerf)) {
    return attach_by_perf(bpf_program__fd(&program), std::string(section.substr(kByPerf.size())));
  }
  LinkPtr link(bpf_program__attach(&program));
  return link == nullptr ? UniqueFd() : copy_fd(bpf_link__fd(link.get()));
}

// If one of its descriptors is invalid, errno is set.
LoadedProgram run(const bpf_program& program) {
  LoadedProgram running{bpf_program__name(&program), copy_fd(bpf_program__fd(&program)), UniqueFd()};
  if (running.program.is_valid()) running.link = attach(program);
  return running;
}

}  // namespace

ProgramLoader::ProgramLoader(SharedMaps& maps, const oomw_settings& settings, const oomw_kernel_facts& facts)
    : maps_(maps), settings_(settings), facts_(facts), capabilities_(own_capabilities()) {}

int ProgramLoader::configure(bpf_object& object) const {
  int error = set_section(object, ".rodata.settings", settings_);
  return error != 0 ? error : set_section(object, ".rodata.facts", facts_);
}

LoadRefusal ProgramLoader::refuse(std::string_view step, int error_number, std::string_view log,
                                  std::string program) const {
  std::string reason = refusal_reason({step, error_number, log}, capabilities_);
  return {std::move(program), Error{errno_error(error_number, step).code, std::move(reason)}};
}

LoadResult ProgramLoader::load(ObjectFile file, const std::vector<std::string>& names) {
  LibbpfLog log;
  auto refused = [&](std::string_view step, int error_number, std::string program = "") {
    return tl::make_unexpected(refuse(step, error_number, log.text(), std::move(program)));
  };
  ObjectPtr object = open_object(file);
  if (object == nullptr) return refused("open", errno);
  auto programs = select_programs(*object, names);
  auto missing = std::find(programs.begin(), programs.end(), nullptr);
  if (missing != programs.end()) {
    return refused("open", ENOENT, names[static_cast<std::size_t>(missing - programs.begin())]);
  }
  if (int error = configure(*object); error != 0) return refused("configure", -error);
  if (auto prepared = maps_.prepare(*object); !prepared) return tl::make_unexpected(LoadRefusal{"", prepared.error()});
  if (int error = bpf_object__load(object.get()); error != 0) {
    return refused("load", -error, refused_program(log.text(), names));
  }
  std::vector<LoadedProgram> running;
  for (const bpf_program* program : programs) {
    running.push_back(run(*program));
    if (!running.back().link.is_valid()) return refused("attach", errno, running.back().name);
  }
  if (auto adopted = maps_.adopt(*object); !adopted) return tl::make_unexpected(LoadRefusal{"", adopted.error()});
  return running;
}

}  // namespace oomw
