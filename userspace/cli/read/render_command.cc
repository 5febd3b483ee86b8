// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/output_file.h"
#include "cli/read/png_converter.h"
#include "cli/read/profile_source.h"
#include "cli/read/read_commands.h"
#include "facts/component_group.h"
#include "facts/operation_profile.h"
#include "pprof/diff.h"
#include "pprof/flame_graph.h"
#include "pprof/regroup.h"
#include "store/incident_reader.h"

namespace oomw::cli {
namespace {

struct Drawing {
  std::string source, base_source;
  pprof::Profile profile;
};

Result<Drawing> load_drawing(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns) {
  const auto as_asked = [&](pprof::Profile profile) {
    if (line.group_by == "module") return pprof::regrouped_by_module(std::move(profile));
    return line.group_by == "operation" ? rooted_by_operation(std::move(profile), patterns) : std::move(profile);
  };
  ASSIGN_OR_RETURN(LoadedProfile after, load_profile(line.input_path, data_dir));
  after.profile = as_asked(std::move(after.profile));
  if (line.diff_base_path.empty()) return Drawing{after.name, "", std::move(after.profile)};
  ASSIGN_OR_RETURN(LoadedProfile before, load_profile(line.diff_base_path, data_dir));
  before.profile = as_asked(std::move(before.profile));
  ASSIGN_OR_RETURN(pprof::Profile profile, pprof::diff(before.profile, after.profile));
  return Drawing{after.name, before.name, std::move(profile)};
}

std::string title_of(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  std::string title = who.pod_name.empty() ? "" : who.pod_namespace + "/" + who.pod_name + ", ";
  if (!who.name.empty()) title += "container " + who.name + ", ";
  if (who.pod_name.empty() && who.name.empty()) title += incident.cgroup_path + ", ";
  if (incident.limit_bytes) title += "limit " + human_bytes(*incident.limit_bytes) + ", ";
  return title + "incident " + incident.id;
}

// Of a profile that lies in an incident's directory: whose heap it is.
std::string subject_of(const std::string& profile) {
  const std::filesystem::path folder = std::filesystem::absolute(profile).parent_path();
  const Result<Incident> incident = read_incident(folder.string());
  return incident ? title_of(*incident) : "";
}

std::string tint_of(const std::string& function) { return component_group_of(function).name; }

Result<pprof::FlamePicture> draw(const CommandLine& line, const Drawing& drawing) {
  pprof::FlameOptions options;
  options.type = line.sample_type;
  options.width_px = line.width_px;
  options.subject = subject_of(drawing.source);
  options.source = base_name(drawing.source);
  options.base_source = base_name(drawing.base_source);
  options.tint = tint_of;
  return pprof::flame_graph(drawing.profile, options);
}

// Makes "a.svg" or "a.png" of either.
std::string with_extension(const std::string& path, const char* extension) {
  return std::filesystem::path(path).replace_extension(extension).string();
}

std::string svg_path(const CommandLine& line, const Drawing& drawing) {
  if (line.output_path.ends_with(".png")) return with_extension(line.output_path, ".svg");
  if (!line.output_path.empty()) return line.output_path;
  std::string name(base_name(drawing.source));
  for (const char* suffix : {".gz", ".pb"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - 3);
  }
  return name + ".svg";
}

Result<> check_not_an_input(const std::string& output, const Drawing& drawing) {
  std::error_code ignored;
  for (const std::string& input : {drawing.source, drawing.base_source}) {
    if (!input.empty() && std::filesystem::equivalent(output, input, ignored)) {
      return fail(ErrorCode::kInvalid, output + " is a profile to be drawn: name another file");
    }
  }
  return {};
}

Result<> print_picture(const std::string& svg) {
  const std::string png = with_extension(svg, ".png");
  ASSIGN_OR_RETURN(const std::string program, convert_to_png(svg, png));
  fmt::print("{} (by {})\n", png, program);
  return {};
}

}  // namespace

int render_command(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns) {
  auto limit = std::make_unique<const MemoryLimit>(kMaxReadMemory, "the picture of this profile");
  const Result<Drawing> drawing = load_drawing(line, data_dir, patterns);
  if (!drawing.has_value()) return report(drawing.error());
  const Result<pprof::FlamePicture> picture = draw(line, *drawing);
  limit.reset();  // the program that converts to PNG is not ours to limit
  if (!picture.has_value()) return report(picture.error());
  const std::string svg = svg_path(line, *drawing);
  const bool wants_png = line.png || line.output_path.ends_with(".png");
  if (wants_png && is_stdout(svg)) return report({ErrorCode::kInvalid, "--png needs a file: name it with -o"});
  if (auto usable = check_not_an_input(svg, *drawing); !usable.has_value()) return report(usable.error());
  if (auto written = write_output(svg, picture->svg); !written.has_value()) return report(written.error());
  if (!is_stdout(svg)) fmt::print(message_stream(svg), "{}\n", svg);
  if (!wants_png) return kOk;
  if (auto printed = print_picture(svg); !printed.has_value()) return report(printed.error());
  return kOk;
}

}  // namespace oomw::cli
