// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "store/incident_reader.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;

class EvidenceWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = std::move(*EventLoop::make());
    worker_ = std::make_unique<WorkerPool>("test", 1, 1'024);
    make(directory_.path() + "/data");
  }
  void TearDown() override { worker_.reset(); }

  void make(const std::string& data_dir,
            IncidentStore::ReadProfiles read_profiles = IncidentStore::read_profiles_here) {
    data_dir_ = data_dir;
    spool_ = std::make_unique<Spool>(data_dir + "/spool", Spool::Limits{});
    writer_ = std::make_unique<EvidenceWriter>(
        *loop_, *worker_, *spool_, clock_, data_dir, Retention{},
        [this](const Incident& incident, const StoredAt& at, const UnplacedFiles& unplaced) {
          written_.push_back(incident.id + (at.is_revision ? " amended" : ""));
          for (const auto& file : unplaced) unplaced_.push_back(file.name);
          if (written_.size() >= wanted_) loop_->stop();
        },
        std::move(read_profiles));
  }
  static Incident incident(const std::string& id, const std::string& comm = "app") {
    Incident made;
    made.id = id;
    made.time = {1'700'000'000'000'000'000};
    made.scope = "container";
    made.cgroup_path = "/test";
    made.victims.resize(1);
    made.victims[0].process = {7, 9};
    made.victims[0].comm = comm;
    return made;
  }
  void run_until(std::size_t written) {
    wanted_ = written;
    while (written_.size() < wanted_) loop_->run();
  }
  std::size_t directories() const {
    const std::filesystem::directory_iterator entries(data_dir_ + "/incidents");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

  test::TemporaryDirectory directory_;
  std::string data_dir_;
  SystemClock clock_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<WorkerPool> worker_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<EvidenceWriter> writer_;
  std::vector<std::string> written_, unplaced_;
  std::size_t wanted_ = 1;
};

TEST_F(EvidenceWriterTest, an_amendment_replaces_in_place) {
  writer_->write(incident("20231114T221320Z-0000000a"));
  run_until(1);
  writer_->write(incident("20231114T221320Z-0000000a", "renamed"));
  run_until(2);
  EXPECT_THAT(written_, ElementsAre("20231114T221320Z-0000000a", "20231114T221320Z-0000000a amended"));
  EXPECT_EQ(directories(), 1u);
  EXPECT_EQ(writer_->stats().incidents_written, 1u);
  EXPECT_EQ(IncidentReader(data_dir_).get("20231114T221320Z-0000000a")->incident.victims.at(0).comm, "renamed");
}

TEST_F(EvidenceWriterTest, a_file_that_the_spool_no_longer_has_is_reported_with_its_incident) {
  Incident made = incident("20231114T221320Z-0000000a");
  made.captures.resize(1);
  made.captures[0].file = "capture-01-http.pb.gz";
  made.captures[0].spool_file = "1-http.pb.gz";
  writer_->write(made);
  run_until(1);
  EXPECT_THAT(unplaced_, ElementsAre("capture-01-http.pb.gz"));
}

TEST_F(EvidenceWriterTest, what_retention_took_does_not_come_back_with_its_amendment) {
  writer_->write(incident("20231114T221320Z-0000000a"));
  run_until(1);
  std::filesystem::remove_all(IncidentReader(data_dir_).get("20231114T221320Z-0000000a")->directory);
  writer_->write(incident("20231114T221320Z-0000000a", "renamed"));
  run_until(2);
  EXPECT_EQ(directories(), 0u);
}

TEST_F(EvidenceWriterTest, first_writes_that_wait_go_before_amendments) {
  writer_->write(incident("20231114T221320Z-0000000a"));
  run_until(1);
  writer_->write(incident("20231114T221320Z-0000000b"));  // under way
  writer_->write(incident("20231114T221320Z-0000000c"));
  writer_->write(incident("20231114T221320Z-0000000a"));
  run_until(4);
  EXPECT_THAT(written_, ElementsAre("20231114T221320Z-0000000a", "20231114T221320Z-0000000b",
                                    "20231114T221320Z-0000000c", "20231114T221320Z-0000000a amended"));
}

TEST_F(EvidenceWriterTest, a_refusing_disk_keeps_the_evidence_until_it_recovers) {
  const std::string blocked = directory_.path() + "/blocked";
  std::ofstream(blocked) << "a file where the data dir should be";
  make(blocked);
  writer_->write(incident("20231114T221320Z-0000000a"));
  writer_->save_ledger({});
  (void)loop_->add_once(std::chrono::milliseconds(300), [this] { loop_->stop(); });
  loop_->run();
  EXPECT_TRUE(written_.empty());
  EXPECT_FALSE(writer_->stats().is_data_dir_writable);
  EXPECT_EQ(writer_->backlog().firsts(), 1u);

  std::filesystem::remove(blocked);
  std::filesystem::create_directories(blocked);
  run_until(1);
  EXPECT_TRUE(writer_->stats().is_data_dir_writable);
  EXPECT_EQ(writer_->backlog().firsts(), 0u);
  worker_.reset();  // the ledger follows the incident
  EXPECT_TRUE(std::filesystem::exists(blocked + "/kills.json"));
}

TEST_F(EvidenceWriterTest, what_waits_at_the_end_is_flushed) {
  for (int i = 0; i < 9; ++i) writer_->write(incident("20231114T221320Z-0000000" + std::to_string(i)));
  writer_->flush();
  worker_.reset();
  EXPECT_EQ(directories(), 9u);
}

TEST_F(EvidenceWriterTest, a_queue_that_is_full_at_the_end_loses_nothing) {
  worker_ = std::make_unique<WorkerPool>("test", 1, 1);
  make(directory_.path() + "/data");
  std::promise<void> disk, is_hanging;
  ASSERT_TRUE(worker_->post([&] {
    is_hanging.set_value();
    disk.get_future().wait();
  }));
  is_hanging.get_future().wait();
  ASSERT_TRUE(worker_->post([] {}));
  writer_->write(incident("20231114T221320Z-0000000a"));
  writer_->save_ledger({});
  writer_->flush();
  disk.set_value();
  worker_.reset();
  EXPECT_EQ(directories(), 1u);
  EXPECT_TRUE(std::filesystem::exists(data_dir_ + "/kills.json"));
}

// Its failure is posted to a loop that no longer runs.
TEST_F(EvidenceWriterTest, write_that_fails_at_the_end_is_tried_once_more) {
  const std::string blocked = directory_.path() + "/blocked";
  std::ofstream(blocked) << "a file where the data dir should be";
  worker_ = std::make_unique<WorkerPool>("test", 1, 1'024);
  make(blocked);
  writer_->write(incident("20231114T221320Z-0000000a"));
  std::promise<void> is_tried;
  ASSERT_TRUE(worker_->post([&] { is_tried.set_value(); }));
  is_tried.get_future().wait();
  std::filesystem::remove(blocked);
  std::filesystem::create_directories(blocked);
  writer_->flush();
  worker_.reset();
  EXPECT_EQ(directories(), 1u);
}

LedgerState ledger_of(std::size_t cgroups) {
  LedgerState state;
  for (std::size_t i = 1; i <= cgroups; ++i) state.counted_by_cgroup[i] = 1;
  return state;
}

// The older one is 5,000 times as large.
TEST_F(EvidenceWriterTest, of_two_ledgers_at_the_end_the_newer_one_stays) {
  worker_ = std::make_unique<WorkerPool>("test", 2, 1'024);
  make(directory_.path() + "/data");
  writer_->save_ledger(ledger_of(5'000));
  writer_->save_ledger(ledger_of(1));
  writer_->flush();
  worker_.reset();
  const auto saved = load_ledger(data_dir_);
  ASSERT_TRUE(saved.has_value()) << saved.error().message;
  EXPECT_EQ(saved->counted_by_cgroup.size(), 1u);
}

TEST_F(EvidenceWriterTest, a_profile_that_takes_seconds_to_read_for_an_amendment_holds_up_no_first_write) {
  worker_ = std::make_unique<WorkerPool>("test", 2, 1'024);
  std::promise<void> end;
  make(directory_.path() + "/data",
       [read = end.get_future().share()](const Incident&, const std::string&, bool is_first) {
         if (!is_first) read.wait();
         return ReadTexts{};
       });
  const std::string slow = "20231114T221320Z-0000000a", next = "20231114T221320Z-0000000b";
  writer_->write(incident(slow));
  run_until(1);
  writer_->write(incident(slow, "renamed"));
  writer_->write(incident(next));
  run_until(2);
  EXPECT_THAT(written_, ElementsAre(slow, next));
  end.set_value();
  run_until(3);
  EXPECT_EQ(written_.back(), slow + " amended");
}

TEST_F(EvidenceWriterTest, what_a_first_write_had_no_time_to_read_is_brought_by_an_amendment) {
  make(directory_.path() + "/data", [](const Incident&, const std::string&, bool is_first) {
    return ReadTexts{{{}, is_first ? "" : "grown"}, is_first};
  });
  writer_->write(incident("20231114T221320Z-0000000a"));
  run_until(2);
  EXPECT_THAT(written_, ElementsAre("20231114T221320Z-0000000a", "20231114T221320Z-0000000a amended"));
}

TEST_F(EvidenceWriterTest, of_an_incident_that_changes_while_it_is_first_written_the_newest_form_stays) {
  worker_ = std::make_unique<WorkerPool>("test", 2, 1'024);
  make(directory_.path() + "/data");
  const std::string id = "20231114T221320Z-0000000a";
  writer_->write(incident(id));
  for (const char* comm : {"second", "third", "last"}) writer_->write(incident(id, comm));
  run_until(2);
  EXPECT_THAT(written_, ElementsAre(id, id + " amended"));
  EXPECT_EQ(IncidentReader(data_dir_).get(id)->incident.victims.at(0).comm, "last");
}

// Each look at it takes as long as the whole end may.
class SlowClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return MonotonicTime{} + EvidenceWriter::kFlushTime * looks_++; }
  [[nodiscard]] WallTime wall_now() const override { return {1'700'000'000'000'000'000}; }

 private:
  mutable std::atomic<int> looks_ = 1;
};

TEST_F(EvidenceWriterTest, a_disk_that_is_too_slow_at_the_end_is_not_waited_for) {
  const SlowClock clock;
  EvidenceWriter writer(*loop_, *worker_, *spool_, clock, data_dir_, Retention{},
                        [](const Incident&, const StoredAt&, const UnplacedFiles&) {});
  for (int i = 0; i < 9; ++i) writer.write(incident("20231114T221320Z-0000000" + std::to_string(i)));
  writer.flush();
  worker_.reset();
  EXPECT_LE(directories(), 2u) << "one was under way, and the time was over after it";
  EXPECT_GE(writer.backlog().firsts(), 7u);
}

}  // namespace
}  // namespace oomw
