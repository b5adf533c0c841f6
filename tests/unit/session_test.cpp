// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/session/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

#include "harness/analyse/suspects.hpp"
#include "harness/drive/repeat.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kBlockBytes = 512;

constexpr std::int64_t kForEver = 1 << 20;

/// The ledgers of a step that keeps one block in every so-many-th step, until it has kept `most`.
class KeepingProbe : public Probe {
 public:
  explicit KeepingProbe(std::int64_t every, std::int64_t most = kForEver, int stack = -1)
      : every_(every), most_(most), stack_(stack) {}

  [[nodiscard]] std::string_view name() const override { return "keeping"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {{Counter::live_bytes}, {Counter::live_blocks}}; }
  void start() override { is_attached_ = true; }
  void stop() noexcept override { is_attached_ = false; }
  void begin_step(std::int64_t step) override { step_ = step; }
  void record_stacks(bool is_recording) override {
    if (is_recording) recorded_.push_back(step_ + 1);
  }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    row[1] = kept();
    row[0] = kBlockBytes * kept();
  }
  void read_cohorts(std::vector<CohortTable>& tables) override {
    CohortTable table{kHost, step_, {}};
    for (std::int64_t i = 1; i <= kept(); ++i) table.cohorts.push_back({i * every_, kBlockBytes, 1});
    tables.push_back(table);
  }
  void end_record(Recording& recording) override { add_blocks(recording); }
  void read_blocks(Recording& recording) override { add_blocks(recording); }

  [[nodiscard]] bool is_attached() const { return is_attached_; }
  [[nodiscard]] const std::vector<std::int64_t>& recorded() const { return recorded_; }

 protected:
  [[nodiscard]] virtual std::int64_t kept() const { return std::min(step_ / every_, most_); }

 private:
  void add_blocks(Recording& recording) const {
    for (std::int64_t i = 1; i <= kept() && i * every_ < step_; ++i) {
      recording.survivors.push_back(
          {.birth_step = i * every_, .bytes = kBlockBytes, .storage_bytes = kBlockBytes, .stack = stack_});
    }
  }

  std::int64_t every_;
  std::int64_t most_;
  int stack_;
  std::int64_t step_ = 0;
  bool is_attached_ = false;
  std::vector<std::int64_t> recorded_;
};

/// Keeps a block in most steps, and in which ones never repeats.
class SkippingProbe final : public KeepingProbe {
 public:
  explicit SkippingProbe(std::int64_t most) : KeepingProbe(1, most) {}

 protected:
  [[nodiscard]] std::int64_t kept() const override {
    return static_cast<std::int64_t>(std::sqrt(0.5) * static_cast<double>(KeepingProbe::kept()));
  }
};

/// Says that blocks grow, and that a container of a known length and bound holds them.
class HeldDetector final : public Detector {
 public:
  /// `asks_again`: in one of the recorded steps the container was asked for what it had.
  explicit HeldDetector(bool asks_again = false) : asks_again_(asks_again) {}
  [[nodiscard]] Kind kind() const override { return Kind::growth; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override {
    if (!evidence.trends.of({Counter::live_bytes}).is_growing()) return {};
    Finding finding{.bytes_per_step = evidence.trends.of({Counter::live_bytes}).per_step,
                    .accounts_for = {{Counter::live_bytes}}};
    if (evidence.recording.holders.empty()) return {finding};
    set_holder(evidence.recording, 0, finding);
    finding.explained_steps = finding.kept_count = evidence.recording.proof_steps();
    if (asks_again_) --finding.kept_count;
    return {finding};
  }

 private:
  bool asks_again_;
};

class BoundedHolderSearch final : public HolderSearch {
 public:
  explicit BoundedHolderSearch(std::int64_t bound) : bound_(bound) {}
  void search(Recording& recording) override {
    const auto last = recording.pass.first_step + recording.steps - 1;
    recording.objects.nodes.push_back(
        {.type = "deque", .name = "train.replay", .length = std::min(last, bound_), .bound = bound_});
    recording.holders.push_back({.held = 0, .container = 0});
  }

 private:
  std::int64_t bound_;
};

// One list of a table is full, and another, which this line fills, has got entries.
class TableSearch final : public HolderSearch {
 public:
  explicit TableSearch(int line) : line_(line) {}
  void search(Recording& recording) override {
    const Structure structure{.type = StructureType::bounded, .bound = 400};
    recording.objects.nodes.push_back({.type = "list", .name = "train.best['a']", .length = 400});
    recording.holders.push_back({.held = 0, .container = 0, .structure = structure});
    recording.holders.push_back({.held = 0, .structure = structure, .gained_entries = 18});
    recording.holders.back().kept_by.line = line_;
  }

 private:
  int line_;
};

class ContainerSearch final : public HolderSearch {
 public:
  explicit ContainerSearch(StructureType type) : type_(type) {}
  void search(Recording& recording) override {
    recording.objects.nodes.push_back({.type = "list", .name = "train.kept", .length = 40});
    recording.holders.push_back({.held = 0, .container = 0, .structure = {.type = type_}});
  }

 private:
  StructureType type_;
};

// To which no root leads.
class RootlessHolderSearch final : public HolderSearch {
 public:
  void search(Recording& recording) override {
    for (auto& survivor : recording.survivors) {
      survivor.is_unreachable = true;
      survivor.holder = static_cast<int>(recording.holders.size());
    }
    recording.objects.nodes.push_back({.type = "Rollout", .name = "a cycle"});
    recording.holders.push_back({.held = 0, .structure = {.type = StructureType::unreachable}});
  }
};

class FailingHolderSearch final : public HolderSearch {
 public:
  void search(Recording& /*recording*/) override { throw std::runtime_error("too many objects"); }
};

const Step kNoStep = [](std::int64_t) {};

Result result_of(SessionParts parts, const Step& step, const HeldDetector& detector = HeldDetector()) {
  parts.target = "step";
  parts.detectors = {&detector};
  Session session(parts);
  return conclude(repeat(step, session), parts.detectors);
}

Result result_of(KeepingProbe& probe, const Step& step, std::int64_t record_stride = 1) {
  return result_of({.observer = {.probes = {&probe}}, .record_stride = record_stride}, step);
}

Step failing_in_step(std::int64_t number, const std::string& what) {
  return [=](std::int64_t index) {
    if (index + 1 == number) throw std::runtime_error(what);
  };
}

bool has_note(const Result& result, std::string_view part) {
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(SessionTest, RecordsEverySoManyStepsOfALeakInEachStep) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, kNoStep, 7);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.trace.recording().pass.stride, 7);
  EXPECT_EQ(result.trace.recording().steps, 29);
  EXPECT_EQ(result.trace.recording().proof_steps(), 4);
}

TEST(SessionTest, RecordsEachStepWhereNotAskedForLess) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, kNoStep, 1);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.trace.recording().pass.stride, 1);
  EXPECT_EQ(result.trace.recording().steps, 18);
}

TEST(SessionTest, RecordsEachStepOfARarerLeakForFourOfItsEvents) {
  KeepingProbe probe(6);
  const auto result = result_of(probe, kNoStep, 7);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.trace.recording().pass.stride, 1);
  EXPECT_EQ(result.trace.recording().steps, 24 + 7);
}

TEST(SessionTest, TellsWhatIsLiveWhereMemoryRanOut) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, failing_in_step(13, "CUDA out of memory. Tried to allocate 2.00 GiB"), 7);
  ASSERT_EQ(result.verdict, Verdict::failure);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->memory.blocks, 12);
  EXPECT_EQ(result.failure->memory.bytes, 12 * kBlockBytes);
  EXPECT_EQ(result.failure->memory.newest.front().last_step, 12);
  EXPECT_EQ(result.steps, 12);
}

TEST(SessionTest, TellsNothingOfMemoryWhereTheStepFailedOtherwise) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, failing_in_step(13, "no more batches"), 7);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->memory.blocks, 0);
}

/// Captures whose names cost more memory than there is.
class TooLargeStacks final : public StackSource {
 public:
  [[nodiscard]] std::vector<RawStack> take_stacks() override { throw std::bad_alloc(); }
};

TEST(SessionTest, KeepsTheVerdictWhereStacksCannotBeNamed) {
  KeepingProbe probe(1, kForEver, 0);
  TooLargeStacks stacks;
  const auto result = result_of({.observer = {.probes = {&probe}}, .stacks = &stacks}, kNoStep);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_TRUE(has_note(result, "could not be found out"));
  const auto& survivors = result.trace.recording().survivors;
  ASSERT_FALSE(survivors.empty());
  EXPECT_TRUE(std::all_of(survivors.begin(), survivors.end(), [](const auto& s) { return s.stack == -1; }));
}

TEST(SessionTest, RecordsStacksInFewStepsOfTheScreenPass) {
  KeepingProbe probe(1, 0);
  EXPECT_EQ(result_of(probe, kNoStep).verdict, Verdict::clean);
  EXPECT_EQ(probe.recorded(), (std::vector<std::int64_t>{1, 4, 16, 64}));
}

Result result_with(StructureType type, std::int64_t stop_after) {
  // A cache that is full, or cleared, after so many steps.
  KeepingProbe probe(1, stop_after);
  ContainerSearch search(type);
  return result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
}

TEST(SessionTest, CallsALeakAtOnceWhereNothingBoundsItsContainer) {
  const auto result = result_with(StructureType::unbounded, kForEver);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.steps, 32 + kShortestRecord);
}

TEST(SessionTest, CallsALeakAtOnceWhatHoldsMoreThanIsDeclared) {
  const auto result = result_with(StructureType::exceeded, kForEver);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.steps, 32 + kShortestRecord);
}

TEST(SessionTest, ConfirmsALeakByItsTrendWhereStructureSaysNothing) {
  const auto result = result_with(StructureType::unknown, kForEver);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_GT(result.steps, 256);
}

TEST(SessionTest, RunsOnWhereSomethingEmptiesTheContainerSomeTime) {
  EXPECT_EQ(result_with(StructureType::reset, 280).verdict, Verdict::clean);
  EXPECT_EQ(result_with(StructureType::expiring, 280).verdict, Verdict::clean);
}

TEST(SessionTest, IsInconclusiveWhereTheLineThatEmptiesTheContainerIsYetToCome) {
  for (const auto type : {StructureType::reset, StructureType::expiring}) {
    const auto result = result_with(type, kForEver);
    EXPECT_EQ(result.verdict, Verdict::inconclusive);
    EXPECT_GT(result.steps, 512);
    EXPECT_NE(result.reason.find("has not ended its growth"), std::string::npos) << result.reason;
  }
}

// Whoever reads after a crash has no record pass.
TEST(SessionTest, LeavesNoVerdictForAfterACrashThatTheRecordPassDidNotBearOut) {
  const auto looks_left_by = [](StructureType type) {
    KeepingProbe probe(1);
    ContainerSearch search(type);
    FlightRecorder recorder;
    (void)result_of({.observer = {.probes = {&probe}, .recorder = &recorder}, .holder_searches = {&search}}, kNoStep);
    return recorder.to_trace().looks().size();
  };
  EXPECT_EQ(looks_left_by(StructureType::reset), 0);
  EXPECT_EQ(looks_left_by(StructureType::unbounded), 1);
}

TEST(SessionTest, HearsTheLastRecordPassWhereAStepFailsAsTheNextOneBegins) {
  const auto failing_at_386 = [](StructureType type) {
    KeepingProbe probe(1);
    ContainerSearch search(type);
    return result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, failing_in_step(386, "no more"));
  };
  EXPECT_EQ(failing_at_386(StructureType::keyed).verdict, Verdict::failure);
  EXPECT_EQ(failing_at_386(StructureType::unknown).verdict, Verdict::leak);
}

TEST(SessionTest, WaitsForALineThatMayTakeSomethingOutAndCallsALeakWhatItDoesNotKeepSmall) {
  EXPECT_EQ(result_with(StructureType::conditional, 280).verdict, Verdict::clean);
  const auto result = result_with(StructureType::conditional, kForEver);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.steps, 1024);
}

TEST(SessionTest, ConfirmsALeakByItsTrendWhereNoStepReachesTheLineThatEmptiesTheContainer) {
  const auto result = result_with(StructureType::uncalled, kForEver);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.steps, 256 + kShortestRecord);
}

TEST(SessionTest, IsInconclusiveWhereAContainerIsBoundedAtASizeThatNobodyKnows) {
  const auto result = result_with(StructureType::bounded, kForEver);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_EQ(result.steps, 1024);
  EXPECT_NE(result.reason.find("bounded"), std::string::npos);
}

TEST(SessionTest, DetachesOnEveryWayOut) {
  KeepingProbe leaking(1);
  (void)result_of(leaking, kNoStep);
  EXPECT_FALSE(leaking.is_attached());
  KeepingProbe failing(1);
  (void)result_of(failing, failing_in_step(3, "no more batches"));
  EXPECT_FALSE(failing.is_attached());
  KeepingProbe interrupted(1);
  (void)result_of(interrupted, [](std::int64_t) { throw Interrupted(); });
  EXPECT_FALSE(interrupted.is_attached());
}

TEST(SessionTest, KeepsTheVerdictWhereTheRecordPassFails) {
  for (const auto* what : {"no more batches", "CUDA out of memory. Tried to allocate 2.00 GiB"}) {
    KeepingProbe probe(1);
    const auto result = result_of(probe, failing_in_step(261, what));
    EXPECT_EQ(result.verdict, Verdict::leak) << what;
    EXPECT_EQ(result.findings.size(), 1U);
    ASSERT_TRUE(result.failure.has_value());
    EXPECT_NE(result.failure->what.find("in step 261"), std::string::npos);
    EXPECT_EQ(result.trace.recording().steps, 4);
  }
}

TEST(SessionTest, KeepsWhatWasRecordedWhereAUsersLoopEndsInTheRecordPass) {
  KeepingProbe probe(1);
  const HeldDetector detector;
  Session session({.observer = {.probes = {&probe}}, .detectors = {&detector}});
  session.start();
  for (int step = 1; step <= 260; ++step) {
    session.begin_step();
    ASSERT_NE(session.end_step(), Next::stop);
  }
  const auto record = session.finish();
  EXPECT_FALSE(record.failure.has_value());
  EXPECT_EQ(record.trace.recording().steps, 4);
  EXPECT_FALSE(record.trace.recording().survivors.empty());
}

// Whether survivors are said to be in a cycle, of a loop of so many steps.
bool is_any_unreachable_after(int steps) {
  KeepingProbe probe(1);
  const HeldDetector detector;
  RootlessHolderSearch search;
  Session session({.observer = {.probes = {&probe}}, .detectors = {&detector}, .holder_searches = {&search}});
  session.start();
  for (int step = 1; step <= steps; ++step) {
    session.begin_step();
    if (session.end_step() == Next::stop) break;
  }
  const auto record = session.finish();
  const auto& survivors = record.trace.recording().survivors;
  return std::any_of(survivors.begin(), survivors.end(),
                     [](const auto& one) { return one.is_unreachable || one.holder >= 0; });
}

TEST(SessionTest, CallsNothingUnreachableWhereTheFunctionsOfTheLoopMayBeGone) {
  EXPECT_FALSE(is_any_unreachable_after(40));
  EXPECT_TRUE(is_any_unreachable_after(1024));
}

TEST(SessionTest, IsAFailureWhereTheStepFailsBeforeAVerdict) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, failing_in_step(200, "no more batches"));
  EXPECT_EQ(result.verdict, Verdict::failure);
  EXPECT_EQ(result.steps, 199);
  EXPECT_EQ(result.trace.series({Counter::live_bytes}).size(), 199U);
}

TEST(SessionTest, SaysOfARunThatFailedWhatHadGrownByThen) {
  const HeldDetector detector;
  const auto failed_at = [&](std::int64_t number, KeepingProbe& probe) {
    return result_of({.observer = {.probes = {&probe}}, .detectors = {&detector}}, failing_in_step(number, "no more"));
  };
  KeepingProbe flat(1, 3);
  EXPECT_TRUE(has_note(failed_at(40, flat), "nothing had grown by then; clean takes 64 steps"));
  KeepingProbe growing(1);
  EXPECT_TRUE(has_note(failed_at(40, growing), "grew up to here, and may have filled something"));
  KeepingProbe filling(1, 30);
  EXPECT_TRUE(has_note(failed_at(40, filling), "by then: live_bytes"));
  KeepingProbe hardly_begun(1);
  EXPECT_TRUE(failed_at(12, hardly_begun).notes.empty());
}

TEST(SessionTest, KeepsTheVerdictWhereTheUserInterruptsTheRecordPass) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, [](std::int64_t index) {
    if (index == 260) throw Interrupted();
  });
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_TRUE(result.is_interrupted);
}

TEST(SessionTest, KeepsTheVerdictWhereASearchFails) {
  KeepingProbe probe(1);
  FailingHolderSearch search;
  const auto result = result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_TRUE(has_note(result, "too many objects"));
}

TEST(SessionTest, CallsALeakThatFillsTheMemoryALeak) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, failing_in_step(161, "CUDA out of memory. Tried to allocate 2.00 GiB"));
  EXPECT_EQ(result.verdict, Verdict::leak);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->memory.blocks, 160);
}

TEST(SessionTest, DoesNotCallMemoryThatRanOutWithoutGrowthALeak) {
  KeepingProbe probe(1, 0);
  const auto result = result_of({.policy = policy_of(Effort::nightly), .observer = {.probes = {&probe}}},
                                failing_in_step(161, "CUDA out of memory. Tried to allocate 2.00 GiB"));
  EXPECT_EQ(result.verdict, Verdict::failure);
}

TEST(SessionTest, GoesOnJudgingWhereTheGrowthHadStopped) {
  KeepingProbe probe(5, 44);
  const auto result = result_of(probe, kNoStep);
  EXPECT_NE(result.verdict, Verdict::leak) << result.reason;
  EXPECT_GT(result.steps, 274);
  EXPECT_EQ(result.trace.recordings().size(), 1U);
}

TEST(SessionTest, StillFindsARareLeak) {
  KeepingProbe probe(25);
  EXPECT_EQ(result_of(probe, kNoStep).verdict, Verdict::leak);
}

TEST(SessionTest, FindsALeakOfEachEpochWhereACleanVerdictEndsNothing) {
  const auto result_of_epochs = [](std::int64_t most, std::int64_t watched_steps) {
    KeepingProbe probe(100, most);
    return result_of(
        {.policy = {.budget_steps = 4 * 512}, .observer = {.probes = {&probe}}, .watched_steps = watched_steps},
        kNoStep);
  };
  EXPECT_EQ(result_of_epochs(kForEver, 0).verdict, Verdict::clean);
  EXPECT_EQ(result_of_epochs(kForEver, 512).verdict, Verdict::leak);
  const auto kept_once = result_of_epochs(1, 512);
  EXPECT_EQ(kept_once.verdict, Verdict::clean) << kept_once.reason;
  EXPECT_EQ(kept_once.steps, 512);
}

TEST(SessionTest, FillsABoundedContainerAndJudgesWhatFollows) {
  KeepingProbe probe(1, 400);
  BoundedHolderSearch search(400);
  const auto result = result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.steps, 464);
}

TEST(SessionTest, CallsALeakBehindAFullContainerALeak) {
  KeepingProbe probe(1);
  BoundedHolderSearch search(400);
  const auto result = result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_GT(result.trace.recordings().back().pass.first_step, 400);
}

TEST(SessionTest, CallsNoLeakBehindAFullContainerWhatFillsAnotherOfItsKind) {
  for (const int line : {0, 7}) {
    KeepingProbe probe(1, 700);
    TableSearch search(line);
    const auto result = result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
    EXPECT_EQ(result.verdict, line == 0 ? Verdict::clean : Verdict::leak) << result.reason;
  }
}

TEST(SessionTest, NamesTheBoundThatItCannotReach) {
  KeepingProbe probe(1);
  BoundedHolderSearch search(1700);
  const auto result = result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_NE(result.reason.find("bounded at 1700"), std::string::npos) << result.reason;
  EXPECT_EQ(result.steps, 32 + kShortestRecord);
}

TEST(SessionTest, IsCleanBeforeAContainerIsFullWhereNothingMoreComes) {
  KeepingProbe probe(1, 100);
  BoundedHolderSearch search(400);
  const auto result = result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep);
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  EXPECT_LT(result.steps, 400);
  EXPECT_TRUE(has_note(result, "settled while a container bounded at 400 was run full"));
}

TEST(SessionTest, WaitsForABoundThatItCannotReachWhereKeysComeAgain) {
  BoundedHolderSearch search(5000);
  for (const bool comes_to_rest : {true, false}) {
    SkippingProbe probe(comes_to_rest ? 100 : kForEver);
    const auto result =
        result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}}, kNoStep, HeldDetector(true));
    EXPECT_EQ(result.verdict, comes_to_rest ? Verdict::clean : Verdict::inconclusive) << result.reason;
    EXPECT_EQ(result.reason.find("bounded at 5000") == std::string::npos, comes_to_rest) << result.reason;
    EXPECT_LE(result.steps, Policy{}.budget_steps);
  }
}

TEST(SessionTest, LooksOnceMoreWhereALoopEndsWhileAContainerFills) {
  const HeldDetector detector;
  BoundedHolderSearch search(400);
  for (const std::int64_t steps : {110, 200}) {
    KeepingProbe probe(1, 60);
    Session session({.observer = {.probes = {&probe}}, .detectors = {&detector}, .holder_searches = {&search}});
    session.start();
    for (std::int64_t step = 0; step < steps; ++step) {
      session.begin_step();
      (void)session.end_step();
    }
    const auto result = conclude(session.finish(), {&detector});
    EXPECT_EQ(result.verdict, steps > 110 ? Verdict::clean : Verdict::inconclusive) << result.reason;
  }
}

TEST(SessionTest, RunsNoMoreStepsThanTheUserAllows) {
  for (const std::int64_t steps : {16, 20, 40, 64, 100, 300}) {
    KeepingProbe leaking(1);
    const auto leak = result_of({.policy = with_budget({}, steps), .observer = {.probes = {&leaking}}}, kNoStep);
    EXPECT_LE(leak.steps, steps);
    // What fills looks alike where no step is left to tell what keeps it.
    EXPECT_EQ(leak.verdict, steps < 34 ? Verdict::inconclusive : Verdict::leak) << steps;
    EXPECT_EQ(leak.trace.recordings().empty(), steps < 34) << steps;
    KeepingProbe healthy(1, 0);
    const auto clean = result_of({.policy = with_budget({}, steps), .observer = {.probes = {&healthy}}}, kNoStep);
    EXPECT_LE(clean.steps, steps);
    EXPECT_EQ(clean.verdict, Verdict::clean) << steps;
  }
}

// A clock that only the step moves.
Clock::time_point time_now;
Clock::time_point told_time() { return time_now; }

Step taking(std::chrono::milliseconds time) {
  return [time](std::int64_t) { time_now += time; };
}

// Of what fills a container of 1,700, in as long a run; `most_steps`: where undecided.
Result result_of_long_filling(std::int64_t most_steps, std::chrono::milliseconds a_step) {
  KeepingProbe probe(1, 1700);
  BoundedHolderSearch search(1700);
  return result_of({.observer = {.probes = {&probe}},
                    .holder_searches = {&search},
                    .most_steps = most_steps,
                    .most_seconds = 60,
                    .now = &told_time},
                   taking(a_step));
}

TEST(SessionTest, GoesOnToABoundThatItsBudgetDoesNotReach) {
  const auto result = result_of_long_filling(4096, std::chrono::milliseconds(20));
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  EXPECT_EQ(result.steps, 1764);
}

TEST(SessionTest, GoesToNoBoundThatWouldTakeTooManyStepsOrTooLong) {
  for (const auto [most_steps, milliseconds] : {std::pair{4096, 40}, std::pair{1500, 20}}) {
    const auto result = result_of_long_filling(most_steps, std::chrono::milliseconds(milliseconds));
    EXPECT_EQ(result.verdict, Verdict::inconclusive) << result.reason;
    EXPECT_EQ(result.steps, 32 + kShortestRecord);
  }
}

TEST(SessionTest, GoesOnWhereItIsUndecidedAndNotWhereItHasWaitedInVain) {
  for (const auto type : {StructureType::reset, StructureType::conditional}) {
    KeepingProbe probe(1);
    ContainerSearch search(type);
    const auto result =
        result_of({.observer = {.probes = {&probe}}, .holder_searches = {&search}, .most_steps = 4096}, kNoStep);
    const bool is_reset = type == StructureType::reset;
    EXPECT_EQ(result.verdict, is_reset ? Verdict::inconclusive : Verdict::leak) << result.reason;
    EXPECT_EQ(result.steps, is_reset ? 4096 : 1024);
  }
}

// Of steps that keep nothing; `seconds`: the budget.
Result result_of_flat(Effort effort, double seconds, std::chrono::milliseconds a_step) {
  auto policy = policy_of(effort);
  policy.budget_seconds = seconds;
  KeepingProbe probe(1, 0);
  return result_of({.policy = policy, .observer = {.probes = {&probe}}, .now = &told_time}, taking(a_step));
}

TEST(SessionTest, StopsWhereTheTimeIsUsedUp) {
  const auto result = result_of_flat(Effort::nightly, 1, std::chrono::milliseconds(10));
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  EXPECT_GE(result.steps, kFewestSteps);
  EXPECT_LE(result.steps, 100);
  EXPECT_TRUE(has_note(result, "the time budget of 1 s ended it at step"));
  EXPECT_TRUE(has_note(result, "a clean verdict would have waited for step 512"));
}

TEST(SessionTest, SaysNothingOfATimeThatWasEnough) {
  const auto result = result_of_flat(Effort::standard, 10, std::chrono::milliseconds(10));
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  EXPECT_FALSE(has_note(result, "the time budget"));
}

// A loop of the user's ends where it ends.
Result result_of_loop(KeepingProbe& probe, std::int64_t steps, StructureType type = StructureType::unknown) {
  const HeldDetector detector;
  ContainerSearch search(type);
  Session session({.observer = {.probes = {&probe}}, .detectors = {&detector}, .holder_searches = {&search}});
  session.start();
  for (std::int64_t step = 0; step < steps; ++step) {
    session.begin_step();
    (void)session.end_step();
  }
  return conclude(session.finish(), {&detector});
}

TEST(SessionTest, SaysWhatGrewInALoopThatEndedBeforeItWasProven) {
  KeepingProbe probe(1);
  const auto result = result_of_loop(probe, 120);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_TRUE(has_note(result, "grew up to here, and may have filled something"));
  EXPECT_TRUE(has_note(result, "train.kept"));
}

TEST(SessionTest, SaysWhatALoopThatEndedWasWaitingFor) {
  KeepingProbe probe(1);
  const auto waiting = result_of_loop(probe, 400, StructureType::reset);
  EXPECT_EQ(waiting.verdict, Verdict::inconclusive);
  EXPECT_NE(waiting.reason.find("has not ended its growth in 400 steps"), std::string::npos) << waiting.reason;
  EXPECT_TRUE(waiting.reason.ends_with(": let it run longer")) << waiting.reason;
  EXPECT_TRUE(has_note(waiting, "train.kept"));
  KeepingProbe third(1);
  const auto may_go_on = result_of_loop(third, 400, StructureType::conditional);
  EXPECT_TRUE(may_go_on.reason.ends_with(": let it run 1024 steps at least")) << may_go_on.reason;
  KeepingProbe other(1);
  EXPECT_EQ(result_of_loop(other, 400).verdict, Verdict::leak);
}

TEST(SessionTest, LooksOnceMoreWhereALoopEnds) {
  // Still growing at the look of step 128, and at rest for longer than that at its end.
  KeepingProbe probe(1, 100);
  const auto result = result_of_loop(probe, 230);
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  EXPECT_EQ(result.steps, 230);
}

TEST(SessionTest, SaysWhenALoopThatEndedWouldHaveBeenLookedAtNext) {
  KeepingProbe probe(1, 100);
  const auto result = result_of_loop(probe, 140);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_NE(result.reason.find("let it run 274 at least"), std::string::npos) << result.reason;
}

TEST(SessionTest, SaysOfALoopThatEndedTooSoonThatNothingHadGrown) {
  KeepingProbe probe(1, 3);
  const auto result = result_of_loop(probe, 40);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_TRUE(has_note(result, "nothing had grown by then; clean takes 64 steps"));
  KeepingProbe growing(1);
  const auto grown = result_of_loop(growing, 40);
  EXPECT_EQ(grown.verdict, Verdict::inconclusive) << grown.reason;
  EXPECT_FALSE(has_note(grown, "nothing had grown"));
  EXPECT_TRUE(has_note(grown, "grew up to here, and may have filled something"));
}

// Steps of 10 ms that all keep something; `seconds`: the budget.
Result result_within(double seconds, StructureType type, KeepingProbe& probe) {
  const HeldDetector detector;
  ContainerSearch search(type);
  Policy policy;
  policy.budget_seconds = seconds;
  Session session({.policy = policy,
                   .observer = {.probes = {&probe}},
                   .detectors = {&detector},
                   .holder_searches = {&search},
                   .now = &told_time});
  return conclude(repeat(taking(std::chrono::milliseconds(10)), session), {&detector});
}

TEST(SessionTest, CallsNoLeakByItsTrendBecauseTheTimeIsOver) {
  KeepingProbe probe(1);
  const auto result = result_within(1, StructureType::unknown, probe);
  EXPECT_EQ(result.verdict, Verdict::inconclusive) << result.reason;
  EXPECT_TRUE(has_note(result, "grew up to here, and may have filled something"));
  EXPECT_LE(result.steps, 100);
}

TEST(SessionTest, ProvesALeakWithinTheTime) {
  KeepingProbe probe(1);
  const auto result = result_within(1, StructureType::unbounded, probe);
  EXPECT_EQ(result.verdict, Verdict::leak) << result.reason;
  EXPECT_LE(result.steps, 64);
}

TEST(SessionTest, KeepsTimeForTheShortestRecordPass) {
  KeepingProbe probe(1);
  const auto result = result_within(0.45, StructureType::unbounded, probe);
  EXPECT_EQ(result.verdict, Verdict::leak) << result.reason;
  EXPECT_LE(result.steps, 45);
}

TEST(SessionTest, HasNoVerdictWhereTheTimeIsTooShort) {
  const auto result = result_of_flat(Effort::standard, 0.05, std::chrono::milliseconds(20));
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_LE(result.steps, 3);
}

}  // namespace
}  // namespace stepleak
