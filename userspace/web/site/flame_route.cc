// SPDX-License-Identifier: Apache-2.0
#include "web/site/flame_route.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"
#include "incident/incident_files.h"
#include "store/incident_reader.h"
#include "web/site/api.h"
#include "web/site/flame_job.h"
#include "web/site/incident_files.h"
#include "web/site/incident_list.h"

namespace oomw {
namespace {

constexpr const char* kPath = "/api/v1/incidents/*/flame";
constexpr Nanoseconds kTimeLimit = std::chrono::seconds(10);

struct Source {
  std::string incident, file;
  PlainFile bytes;
};

struct Sources {
  Source after;
  std::optional<Source> before;
  bool has_earlier = false;  // a profile of the same process, to compare with
};

Result<Source> open_source(const std::string& directory, const Incident& incident, const std::string& file) {
  ASSIGN_OR_RETURN(PlainFile opened, open_plain_file(directory, file));
  if (opened.bytes > kMaxFlameProfile) return fail(ErrorCode::kLimit, "the profile is too large to draw");
  return Source{incident.id, file, std::move(opened)};
}

Result<std::string> best_file(const Incident& incident) {
  std::string file = best_profile_file(incident);
  if (file.empty()) return fail(ErrorCode::kNotFound, "the incident has no profile");
  return file;
}

Result<Source> open_base(const IncidentList& list, const HttpRequest& request, const std::string& directory,
                         const Incident& incident, const std::string& after) {
  if (const std::string other = query_value(request.query, "against"); !other.empty()) {
    ASSIGN_OR_RETURN(const std::string other_directory, list.directory_of(other));
    ASSIGN_OR_RETURN(const Incident other_incident, read_incident(other_directory));
    ASSIGN_OR_RETURN(const std::string file, best_file(other_incident));
    return open_source(other_directory, other_incident, file);
  }
  if (const std::string base = query_value(request.query, "base"); !base.empty()) {
    return open_source(directory, incident, base);
  }
  const std::string first = earlier_profile_file(incident, after);
  if (first.empty()) return fail(ErrorCode::kNotFound, "there is no earlier profile of this process to compare with");
  return open_source(directory, incident, first);
}

Result<Sources> open_sources(const IncidentList& list, const HttpRequest& request, const FlameQuestion& question) {
  ASSIGN_OR_RETURN(const std::string directory, list.directory_of(parts_of(kPath, request.path).front()));
  ASSIGN_OR_RETURN(const Incident incident, read_incident(directory));
  std::string file = query_value(request.query, "capture");
  if (file.empty()) {
    ASSIGN_OR_RETURN(file, best_file(incident));
  }
  Sources sources;
  ASSIGN_OR_RETURN(sources.after, open_source(directory, incident, file));
  sources.has_earlier = !earlier_profile_file(incident, file).empty();
  if (question.mode != "held") {
    ASSIGN_OR_RETURN(sources.before, open_base(list, request, directory, incident, file));
  }
  return sources;
}

Error error_of(const reader::Failure& failure) {
  if (failure.fault == reader::Fault::kNone) return failure.error;
  return {ErrorCode::kUnavailable, "the profile could not be read: " + failure.error.message};
}

Result<std::string> ask(reader::Reader& reader, const FlameQuestion& question, const Sources& sources) {
  const UniqueFd out(::memfd_create("flame", MFD_CLOEXEC));
  if (!out.is_valid()) return fail_errno(errno, "memfd_create");
  std::vector<int> files = {out.get(), sources.after.bytes.fd.get()};
  if (sources.before) files.push_back(sources.before->bytes.fd.get());
  const SystemClock clock;
  const auto done = reader.run(kFlameJob, encode(question), files, kTimeLimit, clock.now() + kTimeLimit);
  if (!done) return tl::make_unexpected(error_of(done.error()));
  if (::lseek(out.get(), 0, SEEK_SET) != 0) return fail_errno(errno, "lseek");
  ASSIGN_OR_RETURN(std::string json, read_open_file(out.get(), "the picture", kMaxFlameAnswer));
  // What was read may have the reader in its hands: it sends JSON or nothing.
  if (!is_json(json)) return fail(ErrorCode::kUnavailable, "the reader answered something else");
  return json;
}

Result<HttpResponse> flame_answer(const std::string& data_dir, reader::Reader& reader,
                                  const OperationPatterns& patterns, const HttpRequest& request) {
  FlameQuestion question;
  question.patterns = patterns;
  if (std::string by = query_value(request.query, "by"); !by.empty()) question.by = std::move(by);
  if (std::string mode = query_value(request.query, "mode"); !mode.empty()) question.mode = std::move(mode);
  question.type = query_value(request.query, "type").substr(0, 64);
  RETURN_IF_ERROR(check(question));
  const SystemClock clock;
  const IncidentList list(data_dir, clock);
  ASSIGN_OR_RETURN(const Sources sources, open_sources(list, request, question));
  ASSIGN_OR_RETURN(const std::string tree, ask(reader, question, sources));
  nlohmann::json envelope = {{"incident", sources.after.incident},
                             {"capture", to_valid_utf8(sources.after.file)},
                             {"has_earlier", sources.has_earlier}};
  if (sources.before) {
    envelope["base"] = to_valid_utf8(sources.before->file);
    envelope["base_incident"] = sources.before->incident;
  }
  const std::string head = to_json_text(envelope);
  return json_text_response(head.substr(0, head.size() - 1) + ",\"flame\":" + tree + "}", request);
}

}  // namespace

Route flame_route(std::string data_dir, std::shared_ptr<reader::Reader> reader, OperationPatterns patterns) {
  Route route = worker_route(
      kPath, [data_dir = std::move(data_dir), reader = std::move(reader), patterns = std::move(patterns)](
                 const HttpRequest& request) { return flame_answer(data_dir, *reader, patterns, request); });
  route.runs_on = RunsOn::kSlowWorker;
  return route;
}

}  // namespace oomw
