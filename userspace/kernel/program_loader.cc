// SPDX-License-Identifier: Apache-2.0
#include "kernel/program_loader.h"

#include <fcntl.h>

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

bpf_program* select_program(bpf_object& object, const std::string& name) {
  bpf_program* selected = nullptr;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, &object) {
    bool is_wanted = bpf_program__name(program) == name;
    bpf_program__set_autoload(program, is_wanted);
    if (is_wanted) selected = program;
  }
  return selected;
}

template <typename T>
int set_section(bpf_object& object, const char* section, const T& value) {
  bpf_map* map = bpf_object__find_map_by_name(&object, section);
  // An object whose programs read none of it has no such section.
  return map == nullptr ? 0 : bpf_map__set_initial_value(map, &value, sizeof(value));
}

UniqueFd copy_fd(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

// The link; invalid with errno set where refused.
UniqueFd attach(const bpf_program& program) {
  constexpr std::string_view kByPerf = "tracepoint/";
  std::string_view section = bpf_program__section_name(&program);
  if (section.starts_with(kByPerf)) {
    return attach_by_perf(bpf_program__fd(&program), std::string(section.substr(kByPerf.size())));
  }
  LinkPtr link(bpf_program__attach(&program));
  return link == nullptr ? UniqueFd() : copy_fd(bpf_link__fd(link.get()));
}

}  // namespace

ProgramLoader::ProgramLoader(SharedMaps& maps, const oomw_settings& settings, const oomw_kernel_facts& facts)
    : maps_(maps), settings_(settings), facts_(facts), capabilities_(own_capabilities()) {}

Result<LoadedProgram> ProgramLoader::load(ObjectFile file, const std::string& name) {
  LibbpfLog log;
  auto refuse = [&](std::string_view step, int error_number) {
    std::string reason = refusal_reason({step, error_number, log.text()}, capabilities_);
    return fail(errno_error(error_number, step).code, std::move(reason));
  };

  ObjectPtr object = open_object(file);
  if (object == nullptr) return refuse("open", errno);
  bpf_program* program = select_program(*object, name);
  if (program == nullptr) return refuse("open", ENOENT);
  int error = set_section(*object, ".rodata.settings", settings_);
  if (error == 0) error = set_section(*object, ".rodata.facts", facts_);
  if (error != 0) return refuse("configure", -error);
  RETURN_IF_ERROR(maps_.prepare(*object));
  if (error = bpf_object__load(object.get()); error != 0) return refuse("load", -error);
  UniqueFd link = attach(*program);
  if (!link.is_valid()) return refuse("attach", errno);
  RETURN_IF_ERROR(maps_.adopt(*object));

  LoadedProgram loaded{name, copy_fd(bpf_program__fd(program)), std::move(link)};
  if (!loaded.program.is_valid()) return refuse("attach", errno);
  return loaded;
}

}  // namespace oomw
