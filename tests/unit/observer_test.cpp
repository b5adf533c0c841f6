// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/observe/observer.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stepleak {
namespace {

/// Notes what an observer asks of it.
class NotingProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "noting"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override {
    return {{Counter::live_bytes}, {Counter::resident_bytes}};
  }
  void start() override { is_attached = true; }
  void stop() noexcept override { is_attached = false; }
  void record_stacks(bool is_recording) override { is_recording_stacks = is_recording; }
  void begin_step(std::int64_t step) override {
    step_ = step;
    if (is_recording_stacks) recorded.push_back(step);
  }
  void settle() override { ++settled; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    row[0] = step_;
    if (step_ % 2 == 0) row[1] = 100;
  }

  bool is_attached = false;
  bool is_recording_stacks = false;
  std::vector<std::int64_t> recorded;
  int settled = 0;

 private:
  std::int64_t step_ = 0;
};

class CountingCollector final : public Collector {
 public:
  void freeze() override { ++frozen; }
  bool collect(bool /*is_settled*/) override {
    ++collections;
    return finds_garbage;
  }
  void unfreeze() override { --frozen; }
  std::int64_t collect_all() override {
    --frozen;
    ++collections;
    return garbage;
  }
  void stop_freezing() override { freezes = false; }
  void restore() noexcept override { frozen = 0; }
  [[nodiscard]] bool is_enabled() const override { return collections < 3; }

  int frozen = 0;
  int collections = 0;
  bool finds_garbage = false;
  std::int64_t garbage = 0;
  bool freezes = true;
};

/// Less is alive at the second reading than at the first.
class ShrinkingProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "shrinking"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override {
    return {{Counter::live_bytes, kHost, Moment::before_collection}, {Counter::live_bytes}};
  }
  void read(Moment moment, std::span<std::int64_t> row) override {
    const bool is_before = moment == Moment::before_collection;
    row[is_before ? 0 : 1] = is_before ? 100 : 60;
  }
};

struct Fixture {
  NotingProbe probe;
  CountingCollector collector;
  Observer observer{{.probes = {&probe}, .collector = &collector}};
  Trace trace{{.has_python = true}, observer.keys()};

  void run_step(bool is_settled = false, bool records_stacks = false) {
    observer.begin_step(trace.step_count() + 1, records_stacks);
    observer.end_step(is_settled, trace);
  }
};

TEST(ObserverTest, AddsAReadingOnlyWhereAProbeTookOne) {
  Fixture run;
  run.observer.attach();
  for (int i = 0; i < 4; ++i) run.run_step();
  EXPECT_EQ(run.trace.ledger({Counter::live_bytes})->values().size(), 4U);
  EXPECT_EQ(run.trace.ledger({Counter::resident_bytes})->values().size(), 2U);
  EXPECT_EQ(run.trace.ledger({Counter::resident_bytes})->steps().front(), 2);
}

TEST(ObserverTest, CollectsAtEachBoundaryAndNotesWhereTheCollectorWasSwitchedOff) {
  Fixture run;
  run.observer.attach();
  for (int i = 0; i < 3; ++i) run.run_step();
  EXPECT_EQ(run.collector.collections, 3);
  EXPECT_TRUE(run.trace.is_collector_enabled());
  run.run_step();
  EXPECT_FALSE(run.trace.is_collector_enabled());
  EXPECT_EQ(run.trace.collector_changes().front().step, 4);
}

// As where a worker's thread frees while the boundary is read.
TEST(ObserverTest, TakesNothingForGarbageWhereNoneWasFound) {
  for (const bool finds_garbage : {false, true}) {
    ShrinkingProbe probe;
    CountingCollector collector;
    collector.finds_garbage = finds_garbage;
    Observer observer({.probes = {&probe}, .collector = &collector});
    Trace trace({.has_python = true}, observer.keys());
    observer.attach();
    observer.begin_step(1, false);
    observer.end_step(false, trace);
    const auto before = trace.ledger({Counter::live_bytes, kHost, Moment::before_collection})->values().front();
    EXPECT_EQ(before, finds_garbage ? 100 : 60);
  }
}

TEST(ObserverTest, UndoesAllThatItAttached) {
  Fixture run;
  run.observer.attach();
  EXPECT_TRUE(run.probe.is_attached);
  EXPECT_EQ(run.collector.frozen, 1);
  run.observer.begin_step(1, true);  // and the step fails
  run.observer.detach();
  EXPECT_FALSE(run.probe.is_attached);
  EXPECT_FALSE(run.probe.is_recording_stacks);
  EXPECT_EQ(run.collector.frozen, 0);
  run.observer.detach();
  EXPECT_EQ(run.collector.frozen, 0);
}

TEST(ObserverTest, DetachesWhereItIsDestroyedInARecordPass) {
  NotingProbe probe;
  CountingCollector collector;
  {
    Observer observer({.probes = {&probe}, .collector = &collector});
    observer.attach();
    observer.begin_record({.type = PassType::record});
    observer.begin_step(1, true);
  }
  EXPECT_FALSE(probe.is_attached);
  EXPECT_FALSE(probe.is_recording_stacks);
  EXPECT_EQ(collector.frozen, 0);
}

TEST(ObserverTest, LeavesTheCollectorThawedAfterARecordPassUntilItGoesOn) {
  Fixture run;
  run.observer.attach();
  run.observer.begin_record({.type = PassType::record});
  run.run_step(true, true);
  const auto collections = run.collector.collections;
  (void)run.observer.end_record({.type = PassType::record, .planned_steps = 1}, 1);
  EXPECT_EQ(run.collector.frozen, 0);
  // A tree that was set apart and is garbage by now keeps what hangs on it.
  EXPECT_EQ(run.collector.collections, collections + 1);
  run.observer.freeze_again();
  EXPECT_EQ(run.collector.frozen, 1);
  run.observer.freeze_again();
  EXPECT_EQ(run.collector.frozen, 1);
}

TEST(ObserverTest, SaysHowMuchOfARecordPassOnlyACollectionOfAllObjectsFreed) {
  Fixture run;
  run.observer.attach();
  run.collector.garbage = 7;
  run.observer.begin_record({.type = PassType::record});
  run.run_step(true, true);
  EXPECT_EQ(run.observer.end_record({.type = PassType::record, .planned_steps = 1}, 1).set_apart_garbage, 7);
}

TEST(ObserverTest, SetsNothingApartAnyMoreWhereThatIsAskedFor) {
  Fixture run;
  run.observer.attach();
  EXPECT_TRUE(run.collector.freezes);
  run.observer.stop_freezing();
  EXPECT_FALSE(run.collector.freezes);
}

TEST(ObserverTest, RecordsStacksWhereAskedAndNotAfterASettledBoundary) {
  Fixture run;
  run.observer.attach();
  run.run_step();
  run.run_step(false, true);
  run.run_step(true, true);
  EXPECT_EQ(run.probe.recorded, (std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(run.probe.is_recording_stacks);
  EXPECT_EQ(run.probe.settled, 1);
}

}  // namespace
}  // namespace stepleak
