// SPDX-License-Identifier: Apache-2.0
#include "facts/operation_patterns.h"

#include <gtest/gtest.h>

#include "facts/growth_place.h"
#include "facts/heap_sites.h"
#include "facts/operation_profile.h"
#include "facts/profile_facts.h"
#include "pprof/top.h"
#include "unit/pprof/sample_profile.h"

namespace oomw {
namespace {

OperationPatterns patterns(const std::vector<std::string>& rows) {
  auto made = OperationPatterns::make(rows);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(OperationPatterns());
}

std::string error_of(const std::vector<std::string>& rows) {
  const auto made = OperationPatterns::make(rows);
  return made ? "" : made.error().message;
}

TEST(OperationPatterns, that_are_built_in_hold_without_any_configuration) {
  const OperationPatterns known;
  EXPECT_EQ(known.called_by_go("github.com/go-chi/chi/v5.(*Mux).ServeHTTP"), "endpoint");
  EXPECT_EQ(known.called_by_go("net/rpc.(*service).call"), "method");
  EXPECT_EQ(known.called_by_go("golang.org/x/sync/errgroup.(*Group).Go.func1"), "job");
  EXPECT_EQ(known.called_by_go("golang.org/x/net/html.Parse"), "");
  EXPECT_TRUE(known.is_go_library("golang.org/x/net/html.Parse"));
  EXPECT_EQ(known.called_by("app.py", "Flask.dispatch_request"), "endpoint");
  EXPECT_EQ(known.called_by("", "jakarta.servlet.http.HttpServlet.service"), "endpoint");
  EXPECT_TRUE(known.is_library("", "org.springframework.web.Filter.doFilter"));
  EXPECT_FALSE(known.is_library("", "org.acme.Shop.put"));
}

TEST(OperationPatterns, of_go_skip_what_stands_between_the_two_words) {
  const OperationPatterns own = patterns({"endpoint github.com/acme/router .(*Mux).", "library github.com/acme/"});
  EXPECT_EQ(own.called_by_go("github.com/acme/router/v5.(*Mux).ServeHTTP"), "endpoint");
  EXPECT_EQ(own.called_by_go("github.com/acme/router/v5.(*Tree).Find"), "");
  EXPECT_TRUE(own.is_go_library("github.com/acme/router/v5.(*Tree).Find"));
  EXPECT_EQ(own.called_by_go("github.com/go-chi/chi/v5.(*Mux).ServeHTTP"), "endpoint");  // still known
}

TEST(OperationPatterns, of_a_file_take_its_last_part_and_the_end_of_the_function) {
  const OperationPatterns own = patterns({"job worker.py run_task", "library tracing.py"});
  EXPECT_EQ(own.called_by("worker.py", "Worker.run_task"), "job");
  EXPECT_EQ(own.called_by("worker.py", "Worker.rerun_task"), "");
  EXPECT_EQ(own.called_by("other.py", "run_task"), "");
  EXPECT_TRUE(own.is_library("tracing.py", "traced"));
}

TEST(OperationPatterns, of_java_take_the_end_of_the_method_and_of_libraries_the_beginning) {
  const OperationPatterns own = patterns({"endpoint .Router.handle", "library com.acme.base."});
  EXPECT_EQ(own.called_by("", "com.acme.Router.handle"), "endpoint");
  EXPECT_EQ(own.called_by("Router.java", "com.acme.Router.handle"), "");
  EXPECT_TRUE(own.is_library("", "com.acme.base.Filter.pass"));
}

TEST(OperationPatterns, that_are_none_say_what_they_must_be) {
  EXPECT_EQ(error_of({"handler a.b"}), "'handler a.b' must begin with endpoint, method, job or library");
  EXPECT_EQ(error_of({"job"}), "'job' must be two or three words: KIND WHERE [FUNCTION]");
  EXPECT_EQ(error_of({"job a b c"}), "'job a b c' must be two or three words: KIND WHERE [FUNCTION]");
  EXPECT_NE(error_of({"job a\nb"}).find("plain ASCII"), std::string::npos);
  EXPECT_NE(error_of({"job " + std::string(OperationPatterns::kMaxText, 'x')}).find("160 bytes"), std::string::npos);
  EXPECT_NE(error_of(std::vector<std::string>(OperationPatterns::kMax + 1, "job a")).find("64"), std::string::npos);
}

TEST(OperationPatterns, go_to_another_process_as_text_and_come_back) {
  const OperationPatterns own = patterns({"endpoint  a/b   .(*M).", "library c/"});
  EXPECT_EQ(own.text(), "endpoint a/b .(*M).\nlibrary c/");
  const auto back = OperationPatterns::of_text(own.text());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->text(), own.text());
  EXPECT_EQ(OperationPatterns::of_text("")->text(), "");
  EXPECT_FALSE(OperationPatterns::of_text("nonsense").has_value());
}

TEST(OperationPatterns, of_the_configuration_decide_on_a_heap_profile) {
  const std::string body = pprof::fixture();
  ASSERT_EQ(facts_of_profile(body)->sites.operations.size(), 0U);
  const auto facts = facts_of_profile(body, patterns({"job main.main"}));
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  ASSERT_FALSE(facts->sites.operations.empty());
  EXPECT_EQ(facts->sites.operations[0].kind, "job");
  EXPECT_EQ(facts->sites.operations[0].name, "main.leak");
}

TEST(OperationPatterns, of_the_configuration_decide_on_what_is_drawn_and_listed) {
  const auto top = pprof::top(summed_by_operation(pprof::sample_profile(), patterns({"job main.main"})), "inuse_space");
  ASSERT_FALSE(top.rows.empty());
  EXPECT_EQ(top.rows[0].function, "job main.serve");
}

GrowthFrame frame(const std::string& function, const std::string& file) {
  GrowthFrame made;
  made.function = function;
  made.file = file;
  made.is_managed = true;
  return made;
}

TEST(OperationPatterns, of_the_configuration_decide_on_a_stack_of_growth) {
  const GrowthStack stack{
      1, true, {frame("build", "reports.py"), frame("traced", "tracing.py"), frame("Worker.run_task", "worker.py")}};
  EXPECT_FALSE(place_of(stack).operation.has_value());
  const GrowthPlace place = place_of(stack, patterns({"job worker.py run_task", "library tracing.py"}));
  ASSERT_TRUE(place.operation.has_value());
  EXPECT_EQ(*place.operation, (Operation{"job", "build"}));
}

}  // namespace
}  // namespace oomw
