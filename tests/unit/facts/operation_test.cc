// SPDX-License-Identifier: Apache-2.0
#include "facts/operation.h"

#include <map>

#include <gtest/gtest.h>

#include "facts/heap_sites.h"
#include "unit/pprof/sample_profile.h"

namespace oomw {
namespace {

using pprof::profile_of_stacks;

std::optional<Operation> operation(const std::vector<std::string>& functions) {
  const pprof::Profile profile = profile_of_stacks({{functions, 1}});
  const StackReader reader(profile);
  return operation_of(reader.frames_of(profile.samples.front()));
}

std::string own_code(const std::vector<std::string>& functions) {
  const pprof::Profile profile = profile_of_stacks({{functions, 1}});
  const StackReader reader(profile);
  const auto own = own_frames_of(reader.frames_of(profile.samples.front()));
  return own.empty() ? "" : functions[own.front()];
}

struct Row {
  const char* title;
  std::vector<std::string> stack;  // leaf first
  const char* kind;                // "" = no operation
  const char* name;
};

class OperationOf : public testing::TestWithParam<Row> {};

TEST_P(OperationOf, FindsWhatTheMemoryWasAllocatedFor) {
  const Row& row = GetParam();
  const auto found = operation(row.stack);
  ASSERT_EQ(found.has_value(), row.kind[0] != '\0') << row.title;
  if (!found) return;
  EXPECT_EQ(found->kind, row.kind) << row.title;
  EXPECT_EQ(found->name, row.name) << row.title;
}

INSTANTIATE_TEST_SUITE_P(
    All, OperationOf,
    testing::Values(
        Row{"net/http, a function",
            {"bytes.growSlice", "bytes.(*Buffer).Write", "main.report", "net/http.HandlerFunc.ServeHTTP",
             "net/http.(*ServeMux).ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"},
            "endpoint",
            "main.report"},
        Row{"net/http, a literal: one of several in that function keeps its number",
            {"main.routes.func2", "net/http.HandlerFunc.ServeHTTP"},
            "endpoint",
            "main.routes.func2"},
        Row{"a literal that calls the next handler's literal",
            {"main.handleExport.func1", "main.authorized.func1", "net/http.HandlerFunc.ServeHTTP",
             "net/http.(*ServeMux).ServeHTTP", "main.logged.func1", "net/http.HandlerFunc.ServeHTTP"},
            "endpoint",
            "main.handleExport.func1"},
        Row{"a literal inside a handler is the handler's",
            {"main.handleExport.func1.2", "main.handleExport.func1", "net/http.HandlerFunc.ServeHTTP"},
            "endpoint",
            "main.handleExport.func1"},
        Row{"a literal that calls the next handler's ServeHTTP",
            {"main.decode", "main.(*orders).ServeHTTP", "main.authorized.func1", "net/http.HandlerFunc.ServeHTTP"},
            "endpoint",
            "main.(*orders).ServeHTTP"},
        Row{"a generic handler, as Go prints it",
            {"main.create[go.shape.struct { ID string \"json:\\\"id\\\"\"; N []example.org/x.T }].func1",
             "github.com/gofiber/fiber/v3.(*App).next", "github.com/valyala/fasthttp.(*Server).serveConn"},
            "endpoint",
            "main.create[...].func1"},
        Row{"echo, with middleware of its own and the program's",
            {"main.list", "github.com/labstack/echo/v4/middleware.KeyAuthWithConfig.func1.1", "main.tenant.func1",
             "github.com/labstack/echo/v4.(*Echo).add.func1", "github.com/labstack/echo/v4.(*Echo).ServeHTTP",
             "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "main.list"},
        Row{"middleware that calls through HandlerFunc",
            {"main.load", "main.report", "net/http.HandlerFunc.ServeHTTP", "main.logged.func1",
             "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "main.report"},
        Row{"middleware with a ServeHTTP of its own",
            {"main.load", "main.(*api).ServeHTTP", "main.(*auth).ServeHTTP", "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "main.(*api).ServeHTTP"},
        Row{"chi",
            {"github.com/acme/shop/cart.(*Store).Put", "github.com/acme/shop/web.(*Server).Add",
             "net/http.HandlerFunc.ServeHTTP", "github.com/go-chi/chi/v5.(*Mux).routeHTTP",
             "net/http.HandlerFunc.ServeHTTP", "github.com/go-chi/chi/v5.(*Mux).ServeHTTP",
             "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "github.com/acme/shop/web.(*Server).Add"},
        Row{"gorilla",
            {"main.add", "net/http.HandlerFunc.ServeHTTP", "github.com/gorilla/mux.(*Router).ServeHTTP",
             "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "main.add"},
        Row{"gin, with its own middleware in between",
            {"encoding/json.Marshal", "github.com/gin-gonic/gin/render.WriteJSON",
             "github.com/gin-gonic/gin.(*Context).JSON", "main.list", "github.com/gin-gonic/gin.(*Context).Next",
             "github.com/gin-gonic/gin.LoggerWithConfig.func1", "github.com/gin-gonic/gin.(*Context).Next",
             "github.com/gin-gonic/gin.(*Engine).handleHTTPRequest", "github.com/gin-gonic/gin.(*Engine).ServeHTTP",
             "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "main.list"},
        Row{"echo",
            {"main.list", "github.com/labstack/echo/v4.(*Echo).add.func1",
             "github.com/labstack/echo/v4.(*Echo).ServeHTTP", "net/http.serverHandler.ServeHTTP"},
            "endpoint",
            "main.list"},
        Row{"fiber",
            {"main.list", "github.com/gofiber/fiber/v2.(*App).next", "github.com/gofiber/fiber/v2.(*Ctx).Next",
             "main.mw", "github.com/gofiber/fiber/v2.(*App).next", "github.com/valyala/fasthttp.(*Server).serveConn"},
            "endpoint",
            "main.list"},
        Row{"grpc-go, with an interceptor",
            {"main.(*server).SayHello", "example.org/pb._Greeter_SayHello_Handler.func1", "main.logCalls",
             "example.org/pb._Greeter_SayHello_Handler", "google.golang.org/grpc.(*Server).processUnaryRPC"},
            "method",
            "Greeter/SayHello"},
        Row{"connect",
            {"main.(*server).Greet", "connectrpc.com/connect.NewUnaryHandler[...].func1",
             "connectrpc.com/connect.(*Handler).ServeHTTP", "net/http.HandlerFunc.ServeHTTP"},
            "method",
            "main.(*server).Greet"},
        Row{"a Collector's processor",
            {"go.opentelemetry.io/collector/pdata/ptrace.NewTraces",
             "go.opentelemetry.io/collector/processor/batchprocessor.(*shard).start.func1"},
            "component",
            "processor/batch"},
        Row{"a goroutine of the program's own",
            {"main.fill", "main.(*worker).run", "main.start.func1"},
            "job",
            "main.start"},
        Row{"errgroup",
            {"main.fill", "main.load.func2", "golang.org/x/sync/errgroup.(*Group).Go.func1"},
            "job",
            "main.load"},
        Row{"main alone", {"main.fill", "main.main", "runtime.main"}, "", ""},
        Row{"the runtime alone", {"runtime.malg", "runtime.newproc1"}, "", ""}));

TEST(OwnFrame, IsTheProgramsNearestToTheAllocation) {
  EXPECT_EQ(own_code({"bytes.growSlice", "main.render", "main.report", "net/http.HandlerFunc.ServeHTTP"}),
            "main.render");
  // A module that the program uses is not its own; which is, shows the handler.
  EXPECT_EQ(
      own_code({"github.com/other/lru.(*Cache).Add", "github.com/acme/shop/cart.(*Store).Put",
                "github.com/acme/shop/web.Add", "net/http.HandlerFunc.ServeHTTP", "github.com/go-chi/chi.(*Mux).x"}),
      "github.com/acme/shop/cart.(*Store).Put");
  EXPECT_EQ(own_code({"gopkg.in/yaml%2ev3.(*node).append", "main.parse", "main.main", "runtime.main"}), "main.parse");
  EXPECT_EQ(own_code({"runtime.malg", "runtime.newproc1"}), "");
}

TEST(OwnFrame, OfAMessageIsItsGeneratedHandler) {
  EXPECT_EQ(own_code({"google.golang.org/protobuf/proto.Unmarshal", "example.org/pb._Shop_Place_Handler",
                      "google.golang.org/grpc.(*Server).processUnaryRPC"}),
            "example.org/pb._Shop_Place_Handler");
}

// One frame of a stack: the function, and the call instruction in it.
struct Called {
  std::string function;
  std::uint64_t location;
  std::int64_t line = 1;
};

// The operations of stacks in one profile, leaf first each.
std::vector<std::string> operations_of(const std::vector<std::vector<Called>>& stacks) {
  pprof::Profile profile;
  std::map<std::string, std::uint64_t> functions;
  for (const auto& stack : stacks) {
    pprof::Sample sample;
    for (const Called& called : stack) {
      const std::uint64_t id = functions.try_emplace(called.function, functions.size() + 1).first->second;
      if (id > profile.functions.size()) profile.functions.push_back({id, called.function, called.function, "", 1});
      profile.locations.push_back({called.location, 0, called.location, {{id, called.line}}});
      sample.location_ids.push_back(called.location);
    }
    sample.values = {1};
    profile.samples.push_back(std::move(sample));
  }
  const StackReader reader(profile);
  std::vector<std::string> names;
  for (const pprof::Sample& sample : profile.samples) names.push_back(operation_of(reader.frames_of(sample))->name);
  return names;
}

const Called kRouter{"net/http.HandlerFunc.ServeHTTP", 1};

TEST(OperationsOfAProfile, BelowAnAdapterAreTheFunctionsThatOneInstructionCalls) {
  const Called adapter{"main.failing.ServeHTTP", 2}, middleware{"main.authenticate.func1", 3};
  EXPECT_EQ(operations_of({{{"main.order", 10}, adapter, middleware, kRouter},
                           {{"main.login", 11}, adapter, middleware, kRouter}}),
            (std::vector<std::string>{"main.order", "main.login"}));
}

TEST(OperationsOfAProfile, OfALiteralThatCallsTwoFunctionsByNameAreItsOwn) {
  EXPECT_EQ(operations_of({{{"main.parse", 10}, {"main.routes.func1", 2}, kRouter},
                           {{"main.store", 11}, {"main.routes.func1", 3}, kRouter}}),
            (std::vector<std::string>{"main.routes.func1", "main.routes.func1"}));
}

TEST(OperationsOfAProfile, OfAPlainHandlerThatCallsThroughAnInterfaceAreItsOwn) {
  const Called handler{"main.export", 2};
  EXPECT_EQ(
      operations_of({{{"main.(*csv).Write", 10}, handler, kRouter}, {{"main.(*xml).Write", 11}, handler, kRouter}}),
      (std::vector<std::string>{"main.export", "main.export"}));
}

TEST(OperationsOfAProfile, OfAGenericAdapterAreTheFunctionsOfItsInstantiations) {
  const Called users{"main.handle[go.shape.struct { User string }].func1", 2, 30};
  const Called texts{"main.handle[go.shape.struct { Text string }].func1", 3, 30};
  EXPECT_EQ(operations_of({{{"main.open", 10}, users, kRouter}, {{"main.add", 11}, texts, kRouter}}),
            (std::vector<std::string>{"main.open", "main.add"}));
}

TEST(OperationsOfAProfile, OfAGenericHandlerAreNotWhatEachInstantiationCallsAlike) {
  const Called users{"main.handle[go.shape.struct { User string }].func1", 2, 30};
  const Called texts{"main.handle[go.shape.struct { Text string }].func1", 3, 30};
  EXPECT_EQ(operations_of({{{"main.decode[go.shape.struct { User string }]", 10}, users, kRouter},
                           {{"main.decode[go.shape.struct { Text string }]", 11}, texts, kRouter}}),
            (std::vector<std::string>{"main.handle[...].func1", "main.handle[...].func1"}));
}

TEST(WithoutTypeArguments, HostileNamesAreHarmless) {
  EXPECT_EQ(without_type_arguments("main.F[a[b]].func1"), "main.F[...].func1");
  EXPECT_EQ(without_type_arguments("]main.F["), "]main.F[");
  EXPECT_EQ(without_type_arguments(""), "");
}

TEST(ProgramPrefix, IsTheProjectOnAHostOfMany) {
  EXPECT_EQ(program_prefix("main.(*T).F"), "main");
  EXPECT_EQ(program_prefix("github.com/acme/shop/cart.(*Store).Put"), "github.com/acme/shop");
  EXPECT_EQ(program_prefix("example.org/x/y.F[github.com/a/b.T]"), "example.org/x");
  EXPECT_EQ(program_prefix(""), "");
}

TEST(RoleOf, HostileNamesAreHarmless) {
  for (const std::string name :
       {"", ".", "/", "_._Handler", "a.b/_x_Handler", "x.._a__Handler", "main.func1", "\n.\x1b[2J"}) {
    (void)role_of(name);
    (void)operation({name, name});
    (void)own_code({name});
  }
  EXPECT_EQ(operation({"main.\x1b[2Jx", "net/http.HandlerFunc.ServeHTTP"})->name.find('\x1b'), std::string::npos);
}

TEST(HeapSites, SumsByOwnFunctionWithThePathOfItsLargestStack) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"bytes.growSlice", "bytes.(*Buffer).Write", "main.render", "main.report", "net/http.HandlerFunc.ServeHTTP"},
       60},
      {{"main.render", "main.preview", "net/http.HandlerFunc.ServeHTTP"}, 20},
      {{"main.keep", "main.index", "net/http.HandlerFunc.ServeHTTP"}, 15},
      {{"runtime.malg"}, 5},
      {{"main.gone", "net/http.HandlerFunc.ServeHTTP"}, -7},
  }));
  ASSERT_EQ(all.sites.size(), 2U);
  EXPECT_EQ(all.sites[0].code, "main.render (file.go:13)");
  EXPECT_EQ(all.sites[0].path, (std::vector<std::string>{"main.render", "bytes.(*Buffer).Write", "bytes.growSlice"}));
  EXPECT_EQ(all.sites[0].bytes, 80U);
  EXPECT_DOUBLE_EQ(all.sites[0].share, 0.8);
  EXPECT_EQ(all.sites[0].operation, "main.report");
  ASSERT_EQ(all.operations.size(), 3U);
  EXPECT_EQ(all.operations[0], (HeapOperation{"endpoint", "main.report", 60, 0.6}));
  EXPECT_EQ(all.operations[1].name, "main.preview");
}

TEST(HeapSites, OfAHelperThatAllEndpointsCallNameTheOperationWithTheMostBytes) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"reflect.New", "main.decode", "main.order", "net/http.HandlerFunc.ServeHTTP"}, 20},
      {{"strings.Clone", "main.decode", "main.order", "net/http.HandlerFunc.ServeHTTP"}, 25},
      {{"reflect.growslice", "main.decode", "main.order", "net/http.HandlerFunc.ServeHTTP"}, 15},
      {{"strings.Clone", "main.decode", "main.review", "net/http.HandlerFunc.ServeHTTP"}, 40},
  }));
  ASSERT_EQ(all.sites.size(), 1U);
  EXPECT_EQ(all.sites[0].operation, "main.order");
  EXPECT_EQ(all.sites[0].path, (std::vector<std::string>{"main.decode", "strings.Clone"}));
  EXPECT_EQ(all.sites[0].bytes, 100U);
}

// A sentence that gives all bytes of the helper to one of them would be wrong about most, and the helper's name alone
// tells nothing.
TEST(HeapSites, OfAHelperWithoutAnOperationThatHasHalfNameSeveral) {
  std::vector<std::pair<std::vector<std::string>, std::int64_t>> samples = {
      {{"main.block", "main.order", "net/http.HandlerFunc.ServeHTTP"}, 40},
      {{"main.block", "main.review", "net/http.HandlerFunc.ServeHTTP"}, 35},
      {{"main.block", "main.index", "net/http.HandlerFunc.ServeHTTP"}, 25},
  };
  const HeapSites all = heap_sites_of(profile_of_stacks(samples));
  ASSERT_EQ(all.sites.size(), 1U);
  EXPECT_EQ(all.sites[0].operation, "main.order, main.review and 1 other");
  EXPECT_EQ(all.sites[0].operation_kind, "endpoint");
  samples[2].first = {"main.block", "main.main"};  // no operation
  EXPECT_EQ(heap_sites_of(profile_of_stacks(samples)).sites[0].operation, "main.order, main.review");
  samples[0] = {{"main.block", "main.(*store).load", "main.(*store).run"}, 40};  // a job
  const HeapSites mixed = heap_sites_of(profile_of_stacks(samples));
  EXPECT_EQ(mixed.sites[0].operation, "main.(*store).run, main.review");
  EXPECT_EQ(mixed.sites[0].operation_kind, "");
}

TEST(HeapSites, OfCodeWhoseOperationsHaveLittleOfItNameNone) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"main.block", "main.main"}, 60},
      {{"main.block", "main.review", "net/http.HandlerFunc.ServeHTTP"}, 25},
      {{"main.block", "main.index", "net/http.HandlerFunc.ServeHTTP"}, 15},
  }));
  ASSERT_EQ(all.sites.size(), 1U);
  EXPECT_EQ(all.sites[0].operation, "");
}

// An allocator of the program's own, through which everything goes.
TEST(HeapSites, OfAHelperOfSeveralAreTheCallersIfOneOfThemAskedForHalfOfIt) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"main.block", "main.readUpload", "main.pace", "main.(*burst).run"}, 55},
      {{"main.block", "main.loadEntry", "main.pace", "main.(*store).run"}, 30},
      {{"main.block", "main.(*traffic).run"}, 15},
  }));
  ASSERT_EQ(all.sites.size(), 3U);
  EXPECT_EQ(all.sites[0].code, "main.readUpload (file.go:12)");
  EXPECT_EQ(all.sites[0].path, (std::vector<std::string>{"main.readUpload", "main.block"}));
  EXPECT_EQ(all.sites[0].bytes, 55U);
  EXPECT_EQ(all.sites[0].operation, "main.(*burst).run");
  EXPECT_EQ(all.sites[1].code, "main.loadEntry (file.go:16)");
  EXPECT_EQ(all.sites[2].code, "main.block (file.go:19)");  // its caller is the operation's function
}

TEST(HeapSites, OfAHelperThatCallsAHelperAreTheCallersOfBoth) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"main.block", "main.newBuffer", "main.readUpload", "main.(*burst).run"}, 50},
      {{"main.block", "main.newBuffer", "main.loadEntry", "main.(*store).run"}, 20},
      {{"main.block", "main.newBuffer", "main.(*table).run"}, 12},
      {{"main.block", "main.openSession", "main.(*logins).run"}, 10},
      {{"main.block", "main.keepAnswer", "main.(*cache).run"}, 8},
  }));
  ASSERT_EQ(all.sites.size(), 5U);
  EXPECT_EQ(all.sites[0].path, (std::vector<std::string>{"main.readUpload", "main.newBuffer", "main.block"}));
}

// Everybody puts into a cache: it is what all of them have in common.
TEST(HeapSites, OfAFunctionThatManyCallAlikeAreItsOwn) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"main.(*cache).put", "main.user", "main.users", "net/http.HandlerFunc.ServeHTTP"}, 40},
      {{"main.(*cache).put", "main.order", "main.orders", "net/http.HandlerFunc.ServeHTTP"}, 35},
      {{"main.(*cache).put", "main.item", "main.items", "net/http.HandlerFunc.ServeHTTP"}, 25},
  }));
  ASSERT_EQ(all.sites.size(), 1U);
  EXPECT_EQ(all.sites[0].path, std::vector<std::string>{"main.(*cache).put"});
  EXPECT_EQ(all.sites[0].bytes, 100U);
}

TEST(HeapSites, OfAFunctionThatOneOrTwoCallAreItsOwn) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"main.(*cache).put", "main.report", "main.serve", "net/http.HandlerFunc.ServeHTTP"}, 80},
      {{"main.(*cache).put", "main.preload", "main.main"}, 10},
      {{"main.search", "net/http.HandlerFunc.ServeHTTP"}, 10},
  }));
  ASSERT_EQ(all.sites.size(), 2U);
  EXPECT_EQ(all.sites[0].path, std::vector<std::string>{"main.(*cache).put"});
}

TEST(HeapSites, OfCodeThatCallsItselfInTurnsEnd) {
  const HeapSites all = heap_sites_of(profile_of_stacks({
      {{"main.a", "main.b", "main.a", "main.b", "main.walk"}, 60},
      {{"main.b", "main.a", "main.b", "main.walk"}, 40},
      {{"main.a", "main.a", "main.a"}, 10},
  }));
  std::uint64_t sum = 0;
  for (const HeapSite& site : all.sites) sum += site.bytes;
  EXPECT_EQ(sum, 110U);
}

TEST(HeapSites, NameGenericCodeWithoutItsTypeArguments) {
  const HeapSites all = heap_sites_of(profile_of_stacks(
      {{{"main.decoded[go.shape.struct { ID string }]", "main.report", "net/http.HandlerFunc.ServeHTTP"}, 60}}));
  ASSERT_EQ(all.sites.size(), 1U);
  EXPECT_EQ(all.sites[0].code, "main.decoded[...] (file.go:11)");
  EXPECT_EQ(all.sites[0].path, std::vector<std::string>{"main.decoded[...]"});
}

TEST(HeapSites, OfARealCollectorAreItsComponents) {
  const HeapSites all = heap_sites_of(pprof::fixture_profile(pprof::kCollectorKill));
  ASSERT_FALSE(all.operations.empty());
  EXPECT_EQ(all.operations.front().kind, "component");
  EXPECT_LE(all.sites.size(), HeapSites::kMaxSites);
}

TEST(HeapSites, OfARealProgramAreItsOwnFunctions) {
  const HeapSites all = heap_sites_of(*pprof::read(pprof::fixture()));
  ASSERT_FALSE(all.sites.empty());
  EXPECT_TRUE(all.sites.front().code.starts_with("main.leakyCache (main.go:")) << all.sites.front().code;
}

TEST(HeapSites, WithoutBytesInUseThereAreNone) {
  EXPECT_EQ(heap_sites_of({}), HeapSites{});
  pprof::Profile profile = profile_of_stacks({{{"main.f"}, 1}});
  profile.sample_types = {{"cpu", "nanoseconds"}};
  EXPECT_EQ(heap_sites_of(profile), HeapSites{});
}

}  // namespace
}  // namespace oomw
