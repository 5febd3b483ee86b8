// SPDX-License-Identifier: Apache-2.0
#include "analyses/go_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyses/holders_document.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

using go::retention::Holder, go::retention::Holders;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Holders found() {
  Holders found;
  found.is_named = true;
  found.rooted_share = 0.9;
  Holder holder;
  holder.root = "goroutine go.opentelemetry.io/collector/processor/batchprocessor.(*shard).start.func1";
  holder.share = 0.8;
  holder.bytes = 1000;
  holder.samples = 50;
  holder.steps = {{".batch", "*go.opentelemetry.io/collector/processor/batchprocessor.batchTraces", 0.8, false},
                  {".next", "main.node", 0.8, true}};
  holder.branches = {{".a", "main.x", 0.6, false}};
  found.holders.push_back(holder);
  return found;
}

TEST(GoAnalysis, chain_is_without_import_paths) {
  EXPECT_THAT(chain_of(found().holders[0]),
              ElementsAre("goroutine batchprocessor.(*shard).start.func1", ".batch -> *batchprocessor.batchTraces",
                          ".next -> main.node (list)"));
}

// Every web service's handlers hang on its server: what is the program's own begins behind it.
TEST(GoAnalysis, a_chain_through_the_standard_library_begins_at_the_programs_own_code) {
  Holder holder;
  holder.root = "goroutine main.main in net/http.(*Server).Serve";
  holder.steps = {{"", "net/http.Server"},
                  {".Handler", "net/http.ServeMux"},
                  {".m", "map[string]http.muxEntry"},
                  {"", "closure example.org/shop/web.(*App).track-fm"},
                  {"", "object of 48 B"},
                  {"", "object of 1024 B", 0.9, true}};
  EXPECT_THAT(chain_of(holder), ElementsAre("web.App (its method track)", " -> object of 1024 B (list)"));
  holder.steps.insert(holder.steps.begin() + 1, {".Handler", "closure main.logged.func1"});
  EXPECT_THAT(chain_of(holder), ElementsAre("web.App (its method track)", " -> object of 1024 B (list)"))
      << "middleware is before";
  holder.steps.resize(5);
  EXPECT_THAT(chain_of(holder), ElementsAre("closure web.(*App).track-fm"));
  for (const char* own : {"goroutine net/http.(*Server).Serve in main.(*App).track", "global main.routes"}) {
    holder.root = own;
    EXPECT_EQ(chain_of(holder).size(), 6u) << own;
  }
  holder.steps.resize(4);
  holder.root = "global net/http.DefaultServeMux";
  EXPECT_EQ(chain_of(holder).front(), "closure main.logged.func1") << "nothing of its own is behind";
  holder.steps.erase(holder.steps.begin() + 1);
  EXPECT_THAT(chain_of(holder), SizeIs(4)) << "nothing of its own is on the way";
}

TEST(GoAnalysis, component_is_the_first_that_is_no_helper) {
  EXPECT_EQ(component_in({"goroutine go.opentelemetry.io/collector/processor/batchprocessor.(*shard).start.func1"}),
            "processor/batch");
  EXPECT_EQ(component_in({"goroutine net/http.(*Server).Serve in "
                          "go.opentelemetry.io/collector/exporter/exporterhelper/internal.(*retrySender).Send"}),
            "exporter/exporterhelper");
  EXPECT_EQ(component_in({"go.opentelemetry.io/collector/exporter/exporterhelper/internal/queue.node",
                          "[]*go.opentelemetry.io/collector/exporter/otlpexporter.request"}),
            "exporter/otlp");
  EXPECT_EQ(component_in({"global main.sessions", "map[string]*main.session"}), "");
}

TEST(HoldersDocument, profile_has_the_chain_with_the_root_outermost) {
  const pprof::Profile profile = pprof::read(pprof::write(holders_profile(found()))).value();
  ASSERT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(profile.total(0), 1000);
  EXPECT_EQ(profile.samples[0].values[0], 750) << "the branch's part of the holder's bytes";
  EXPECT_EQ(profile.functions.at(profile.samples[0].location_ids.back() - 1).name, found().holders[0].root);
}

TEST(HoldersDocument, json_names_the_holders) {
  EXPECT_THAT(holders_document(found(), nullptr), HasSubstr("batchprocessor.(*shard).start.func1"));
}

}  // namespace
}  // namespace oomw
