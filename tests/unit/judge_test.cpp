// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/analyse/decision.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

using Next = Decision::Next;

constexpr SeriesKey kBefore{Counter::live_bytes, kHost, Moment::before_collection};
constexpr SeriesKey kBytes{Counter::live_bytes};
constexpr SeriesKey kNodes{Counter::live_nodes};
constexpr SeriesKey kHeap{Counter::heap_bytes};

Next next_after(std::int64_t steps, std::int64_t per_step, const Policy& policy = {}) {
  const auto trace = TraceBuilder(steps).with(kBytes, [=](auto step) { return 4096 + per_step * step; }).build();
  return Analysed(trace).decision(policy).next;
}

TEST(JudgeTest, SaysCleanFromTheMinimumOnAndNotBefore) {
  EXPECT_EQ(next_after(48, 0), Next::more_steps);
  EXPECT_EQ(next_after(64, 0), Next::clean);
}

TEST(JudgeTest, SaysLeakAtFourTimesTheMinimumAndNotBefore) {
  const auto policy = Policy{.proof_steps = 256};
  EXPECT_EQ(next_after(128, 512, policy), Next::more_steps);
  EXPECT_EQ(next_after(256, 512, policy), Next::leak);
}

TEST(JudgeTest, NeedsFewerStepsWithLessEffort) {
  EXPECT_EQ(next_after(16, 0, policy_of(Effort::quick)), Next::clean);
  EXPECT_EQ(next_after(64, 512, policy_of(Effort::quick)), Next::leak);
}

TEST(JudgeTest, SaysLeakForNodesAlone) {
  const auto trace = TraceBuilder(256)
                         .with(kBytes, [](auto) { return 4096; })
                         .with(kNodes, [](auto step) { return 9 * step; })
                         .build();
  EXPECT_EQ(Analysed(trace).decision().next, Next::leak);
}

struct Rates {
  std::int64_t objects = 0;
  std::int64_t blocks = 0;
  std::int64_t heap_bytes = 0;
  std::int64_t frozen_deaths = 0;
};

Next next_with(const Rates& rates) {
  TraceBuilder builder(512);
  builder.with(kBytes, [](auto) { return 4096; })
      .with(kHeap, [=](auto step) { return (1 << 20) + rates.heap_bytes * step; })
      .with({Counter::python_objects}, [=](auto step) { return 400 + rates.objects * step; });
  builder.with({Counter::frozen_deaths}, [=](auto step) { return rates.frozen_deaths * step; });
  if (rates.blocks >= 0) {
    builder.with({Counter::python_blocks}, [=](auto step) { return 9000 + rates.blocks * step; });
  }
  return Analysed(builder.build()).decision().next;
}

// What takes the place of objects that a record pass set apart is counted, and their end apart from that.
TEST(JudgeTest, CallsObjectsNoLeakOfWhichAsManyHaveDiedThatWereSetApart) {
  EXPECT_EQ(next_with({.objects = 12, .frozen_deaths = 12}), Next::clean);
  EXPECT_EQ(next_with({.objects = 12, .frozen_deaths = 9}), Next::clean);
  EXPECT_EQ(next_with({.objects = 12, .frozen_deaths = 8}), Next::leak);
  EXPECT_EQ(next_with({.objects = 12}), Next::leak);
}

TEST(JudgeTest, CallsObjectsALeakWhoseBlocksRiseByJustTheirFloor) {
  EXPECT_EQ(next_with({.objects = 8, .blocks = 8}), Next::leak);
  EXPECT_EQ(next_with({.objects = 12, .blocks = 8}), Next::leak);
  EXPECT_EQ(next_with({.objects = 3, .blocks = 3}), Next::clean);
}

TEST(JudgeTest, CallsObjectsALeakWhoseBytesRiseByJustTheirFloor) {
  constexpr std::int64_t kOfMalloc = -1;
  EXPECT_EQ(next_with({.objects = 12, .blocks = kOfMalloc, .heap_bytes = 512}), Next::leak);
}

// A function and what is in it are kept of every tenth step, in a container of which that is known.
TraceBuilder light_objects(std::int64_t steps, const Holder& holder) {
  TraceBuilder builder(steps);
  builder.with(kBytes, [](auto) { return 4096; })
      .with(kHeap, [](auto) { return 1 << 20; })
      .with({Counter::python_objects}, [](auto step) { return 400 + 5 * (step / 10); })
      .with({Counter::python_blocks}, [](auto step) { return 9000 + 5 * (step / 10); })
      .with_collector(true)
      .with_object({.type = "OrderedDict", .length = 12})
      .with_holder(holder);
  return builder;
}

Holder gaining_callbacks(StructureType type) {
  return {.held = 0, .container = 0, .structure = {.type = type}, .gained_entries = 4, .gains_callbacks = true};
}

TEST(JudgeTest, RecordsOnceWhatObjectsStayWhereTheyAreTooLightForALeak) {
  const auto unrecorded = Analysed(light_objects(64, {}).build()).decision();
  EXPECT_EQ(unrecorded.next, Next::leak);
  EXPECT_TRUE(unrecorded.needs_proof);
  const auto of_records = light_objects(64 + 40, {.held = 0, .container = 0, .gained_entries = 4}).recorded(40);
  EXPECT_EQ(Analysed(of_records.build()).decision().next, Next::clean);
  EXPECT_EQ(Analysed(light_objects(16, {}).build()).decision(policy_of(Effort::quick)).next, Next::clean);
}

TEST(JudgeTest, CallsCallbacksALeakHoweverLightUnlessSomethingEndsThem) {
  const auto next_with = [](StructureType type) {
    return Analysed(light_objects(64 + 40, gaining_callbacks(type)).recorded(40).build()).decision();
  };
  EXPECT_EQ(next_with(StructureType::unbounded).next, Next::leak);
  EXPECT_EQ(next_with(StructureType::unknown).next, Next::leak);
  EXPECT_TRUE(next_with(StructureType::unknown).needs_proof);
  EXPECT_EQ(next_with(StructureType::bounded).next, Next::clean);
  EXPECT_EQ(next_with(StructureType::reset).next, Next::clean);
}

TEST(JudgeTest, CallsFewObjectsALeakThatTakeAsMuchAsTheHeapsFloor) {
  const auto next_with = [](std::int64_t block_bytes, bool is_weighed, StructureType type) {
    const Holder holder{.held = 0,
                        .container = 0,
                        .structure = {.type = type},
                        .gained_entries = 4,
                        .gained_block_bytes = block_bytes * 40,
                        .is_weighed = is_weighed};
    return Analysed(light_objects(64 + 40, holder).recorded(40).build()).decision().next;
  };
  EXPECT_EQ(next_with(512, true, StructureType::unbounded), Next::leak);
  EXPECT_EQ(next_with(512, true, StructureType::unknown), Next::leak);
  EXPECT_EQ(next_with(512, true, StructureType::expiring), Next::clean);
  EXPECT_EQ(next_with(511, true, StructureType::unbounded), Next::clean);
  EXPECT_EQ(next_with(512, false, StructureType::unbounded), Next::clean);
}

// One more in a while: a trend that so few steps leave undecided.
TEST(JudgeTest, AwaitsWhetherCallbacksThatWereAddedGoOn) {
  const auto next_with = [](const Holder& holder, std::int64_t last_change) {
    TraceBuilder builder(64 + 40);
    builder.with(kBytes, [](auto) { return 4096; })
        .with(kHeap, [](auto) { return 1 << 20; })
        .with({Counter::python_objects}, [=](auto step) { return 400 + 5 * (std::min(step, last_change) / 30); })
        .with_collector(true)
        .with_object({.type = "OrderedDict", .length = 12})
        .with_holder(holder);
    return Analysed(builder.recorded(40).build()).decision().next;
  };
  EXPECT_EQ(next_with(gaining_callbacks(StructureType::unknown), 104), Next::more_steps);
  EXPECT_EQ(next_with(gaining_callbacks(StructureType::bounded), 104), Next::clean);
  EXPECT_EQ(next_with({.held = 0, .container = 0, .gained_entries = 4}, 104), Next::clean);
  EXPECT_EQ(next_with(gaining_callbacks(StructureType::unknown), 1), Next::clean);
}

// Three objects in each fifth step, until `last_change`; and 59 that the pass of the steps 65 to 86 leaves itself, in
// which a container gained callbacks.
Next next_after_pass(std::int64_t steps, std::int64_t last_change) {
  Trace trace({.has_python = true}, {kBytes, kHeap, {Counter::python_objects}});
  const auto add_until = [&](std::int64_t last) {
    for (auto step = trace.step_count() + 1; step <= last; ++step) {
      const auto objects = 400 + 3 * (std::min(step, last_change) / 5) + (step >= 75 ? 59 : 0);
      trace.add_boundary(std::vector<std::int64_t>{4096, 1 << 20, objects});
      trace.add_collector_state(true);
    }
    trace.add_look({});
  };
  add_until(64);
  trace.begin_pass({.type = PassType::record, .planned_steps = 22});
  add_until(86);
  ObjectGraph objects;
  objects.nodes.push_back({.type = "OrderedDict", .length = 12});
  trace.add_recording({.pass = trace.passes().back(),
                       .steps = 22,
                       .objects = objects,
                       .holders = {gaining_callbacks(StructureType::unknown)}});
  trace.begin_pass({.type = PassType::screen});
  add_until(steps);
  return Analysed(trace).decision().next;
}

TEST(JudgeTest, AwaitsCallbacksUntilThePassThatSawThemIsWarmUp) {
  EXPECT_EQ(next_after_pass(256, 1024), Next::more_steps);
  EXPECT_EQ(next_after_pass(384, 1024), Next::leak);
  EXPECT_EQ(next_after_pass(384, 86), Next::clean);
}

// Seven objects a step, of 2 KiB of the heap until `full_at`; the steps 129 to 204 were recorded, what they had made
// was set apart, and its deaths are counted where the run is judged, or nowhere.
Decision after_members_are_replaced(std::int64_t full_at, std::int64_t steps, bool are_deaths_counted = true) {
  Trace trace({.has_python = true}, {kBytes, kHeap, {Counter::python_objects}, {Counter::frozen_deaths}});
  const auto add_until = [&](std::int64_t last) {
    for (auto step = trace.step_count() + 1; step <= last; ++step) {
      const auto heap = 2048 * std::min(step, full_at) + (step > 128 ? 3'000'000 : 0);
      const bool is_read = step == 1 || (step % 8 == 0 && (step <= 128 || step > 204));
      const auto deaths = are_deaths_counted && step == last ? 7 * std::max<std::int64_t>(0, step - full_at) : kUnread;
      trace.add_boundary(std::vector<std::int64_t>{4096, is_read ? heap : kUnread, 60 + 7 * step, deaths});
      trace.add_collector_state(true);
    }
    trace.add_look({});
  };
  add_until(128);
  trace.begin_pass({.type = PassType::record, .planned_steps = 76});
  add_until(204);
  trace.add_recording({.pass = trace.passes().back(), .steps = 76});
  trace.begin_pass({.type = PassType::screen});
  add_until(steps);
  return Analysed(trace).decision();
}

TEST(JudgeTest, TakesObjectsInThePlaceOfThoseSetApartForNoWitness) {
  EXPECT_EQ(after_members_are_replaced(150, 512).next, Next::clean);
  EXPECT_EQ(after_members_are_replaced(150, 512, false).next, Next::leak);
  const auto kept = after_members_are_replaced(1024, 384);
  EXPECT_EQ(kept.next, Next::leak);
  EXPECT_FALSE(kept.needs_proof);
}

TEST(JudgeTest, SaysInconclusiveAtTheBudgetAndNamesTheLedger) {
  const auto trace = TraceBuilder(1024).with(kBytes, [](auto step) { return step < 1000 ? 0 : step; }).build();
  const auto decision = Analysed(trace).decision();
  EXPECT_EQ(decision.next, Next::inconclusive);
  EXPECT_NE(decision.reason.find("live_bytes@cpu"), std::string::npos) << decision.reason;
}

TEST(JudgeTest, NamesTheLedgerOfAGpuThatStillMovesAtTheBudget) {
  constexpr Device kGpu{DeviceType::cuda, 0};
  const auto reason_with = [=](Counter moving, Device device) {
    TraceBuilder builder(1024);
    for (const auto counter : {Counter::live_bytes, Counter::live_blocks, Counter::peak_bytes, Counter::active_bytes,
                               Counter::reserved_bytes, Counter::outside_bytes, Counter::pinned_bytes}) {
      const auto owner = counter == Counter::pinned_bytes ? kHost : kGpu;
      const bool moves = counter == moving && owner == device;
      builder.with({counter, owner}, [=](auto step) {
        return (std::int64_t{1} << 26) + (moves ? (std::max<std::int64_t>(step, 700) - 700) / 8 * 4194304 : 0);
      });
    }
    return Analysed(builder.build()).decision().reason;
  };
  EXPECT_NE(reason_with(Counter::reserved_bytes, kGpu).find("reserved_bytes@cuda:0 still moves"), std::string::npos);
  EXPECT_NE(reason_with(Counter::outside_bytes, kGpu).find("outside_bytes@cuda:0 still moves"), std::string::npos);
  EXPECT_NE(reason_with(Counter::pinned_bytes, kHost).find("pinned_bytes@cpu still moves"), std::string::npos);
  EXPECT_EQ(reason_with(Counter::segment_count, kGpu), "");
}

TEST(JudgeTest, NamesBytesBeforeNodesThatHaveNotSettled) {
  const auto trace = TraceBuilder(1024)
                         .with(kNodes, [](auto step) { return step < 1000 ? 0 : 1; })
                         .with(kBytes, [](auto step) { return step < 1000 ? 0 : 512 * step; })
                         .build();
  const auto decision = Analysed(trace).decision();
  EXPECT_EQ(decision.next, Next::inconclusive);
  EXPECT_NE(decision.reason.find("live_bytes@cpu"), std::string::npos) << decision.reason;
}

// A window that fills up to step 374, and is a view of what it is cut from from then on: a tensor more, once.
Next next_with_a_tensor_more_at(std::int64_t step) {
  const auto trace = TraceBuilder(800)
                         .with(kBytes, [](auto now) { return 4096 + 512 * std::min<std::int64_t>(now, 374); })
                         .with({Counter::live_tensors}, [=](auto now) { return now < step ? 11 : 12; })
                         .build();
  return Analysed(trace).decision().next;
}

TEST(JudgeTest, TakesATensorThatCameWithTheBytesForPartOfWhatFilled) {
  EXPECT_EQ(next_with_a_tensor_more_at(374), Next::clean);
  EXPECT_NE(next_with_a_tensor_more_at(380), Next::clean);
}

TEST(JudgeTest, TakesNoTensorForPartOfBytesThatTremble) {
  const auto trace = TraceBuilder(800)
                         .with(kBytes, [](auto now) { return 4096 + now % 2 * 512; })
                         .with({Counter::live_tensors}, [](auto now) { return now < 374 ? 11 : 12; })
                         .build();
  EXPECT_NE(Analysed(trace).decision().next, Next::clean);
}

TEST(JudgeTest, CountsUncollectedGarbageOnlyWhereTheCollectorIsOff) {
  auto builder = TraceBuilder(256).with(kBefore, [](auto) { return 8192; }).with(kBytes, [](auto) { return 4096; });
  EXPECT_EQ(Analysed(builder.with_collector(true).build()).decision().next, Next::clean);
  EXPECT_EQ(Analysed(builder.with_collector(false).build()).decision().next, Next::leak);
}

TEST(JudgeTest, LeavesALogOfNumbersOnTheHeapInPeace) {
  const auto with_heap = [](std::int64_t per_step) {
    return TraceBuilder(256)
        .with(kBytes, [](auto) { return 4096; })
        .with(kHeap, [=](auto step) { return 1000000 + per_step * step; })
        .build();
  };
  EXPECT_EQ(Analysed(with_heap(33)).decision().next, Next::clean);
  const auto decision = Analysed(with_heap(1400)).decision();
  EXPECT_EQ(decision.next, Next::leak);
  EXPECT_TRUE(decision.needs_proof);
}

TEST(JudgeTest, ConfirmsTheHeapAloneForTwiceAsLong) {
  const auto builder = TraceBuilder(512).with(kBytes, [](auto) { return 4096; }).with(kHeap, [](auto step) {
    return 1000000 + 1400 * step;
  });
  const auto decision = Analysed(builder.build()).decision();
  EXPECT_EQ(decision.next, Next::leak);
  EXPECT_FALSE(decision.needs_proof);
}

TEST(JudgeTest, CallsAHeapThatFillsEverMoreSlowlyClean) {
  const auto builder = TraceBuilder(256).with(kBytes, [](auto) { return 4096; }).with(kHeap, [](auto step) {
    return 1000000 + std::llround(400000 * std::log(static_cast<double>(step)));
  });
  EXPECT_EQ(Analysed(builder.build()).decision().next, Next::clean);
}

// A start-up that decays hides the line beneath it, unless the records show that it goes on.
TEST(JudgeTest, CallsAHeapNoFillingOneWhileAContainerFillsAsFastAsBefore) {
  const auto next_with = [](std::int64_t gained_at_last) {
    auto trace = TraceBuilder(768)
                     .with(kBytes, [](auto) { return 4096; })
                     .with(kHeap,
                           [](auto step) {
                             return 1000000 + 1056 * step + std::llround(400000 * std::log(static_cast<double>(step)));
                           })
                     .build();
    const auto record = [&](std::int64_t first_step, std::int64_t gained) {
      const Holder rows{.container = 0,
                        .kept_by = {.file = "train.py", .line = 12},
                        .structure = {.type = StructureType::keyed},
                        .gained_entries = gained,
                        .gained_bytes = 400 * gained,
                        .is_weighed = true};
      trace.add_recording({.pass = {.type = PassType::record, .first_step = first_step, .planned_steps = 18},
                           .steps = 18,
                           .objects = {.nodes = {{.type = "dict", .name = "train.rows", .length = 822}}},
                           .holders = {rows}});
    };
    record(65, 54);
    record(257, gained_at_last);
    return Analysed(trace).decision().next;
  };
  EXPECT_EQ(next_with(36), Next::clean);
  EXPECT_NE(next_with(54), Next::clean);
}

// Entries of a full cache take the place of others that were set apart, of which none is counted, while libraries keep
// plans for ever fewer new shapes.
TEST(JudgeTest, TakesAHeapThatFillsEverMoreSlowlyForNoObjects) {
  const auto with_object_a_step = [](const auto& heap) {
    return Analysed(TraceBuilder(512)
                        .with(kBytes, [](auto) { return 4096; })
                        .with(kHeap, heap)
                        .with({Counter::python_objects}, [](auto step) { return step; })
                        .build())
        .decision()
        .next;
  };
  const auto filling = [](auto step) { return 1000000 + std::llround(600000 * std::log(static_cast<double>(step))); };
  EXPECT_EQ(with_object_a_step(filling), Next::clean);
  EXPECT_EQ(with_object_a_step([](auto step) { return 1000000 + 1400 * step; }), Next::leak);
}

TEST(JudgeTest, AsksForAProofBeforeTheTrendAloneWouldDo) {
  const auto kept = [](std::int64_t steps) {
    return Analysed(TraceBuilder(steps).with(kBytes, [](auto step) { return 4096 + 64 * step; }).build()).decision();
  };
  EXPECT_EQ(kept(24).next, Next::more_steps);
  EXPECT_EQ(kept(32).next, Next::leak);
  EXPECT_TRUE(kept(32).needs_proof);
  EXPECT_EQ(kept(256).next, Next::leak);
  EXPECT_FALSE(kept(256).needs_proof);
}

TEST(JudgeTest, NeverCallsARunCleanWhoseHeapIsUnseenAndWhoseProcessGrows) {
  const auto with_process = [](std::int64_t per_step) {
    return TraceBuilder(1024).with(kBytes, [](auto) { return 4096; }).with({Counter::resident_bytes}, [=](auto step) {
      return 1000000 + per_step * step;
    });
  };
  const auto unseen = Analysed(with_process(1400).build()).decision();
  EXPECT_EQ(unseen.next, Next::inconclusive);
  EXPECT_NE(unseen.reason.find("the host heap is not seen"), std::string::npos) << unseen.reason;
  EXPECT_EQ(Analysed(with_process(33).build()).decision().next, Next::clean);
  EXPECT_EQ(Analysed(with_process(1400).with(kHeap, [](auto) { return 1000000; }).build()).decision().next,
            Next::clean);
}

// Page-locked buffers that a pool never gets back where a record was broken, which some are: no window is alike.
TEST(JudgeTest, IsNotCleanWhilePinnedOrSharedMemoryRisesNowAndThen) {
  for (const auto counter : {Counter::pinned_bytes, Counter::shared_bytes}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto lost_by = [=](std::int64_t steps) {
        std::int64_t lost = 0;
        return Analysed(TraceBuilder(steps)
                            .with(kBytes, [](auto) { return 4096; })
                            .with({counter}, [=, draws = Draws(seed)](
                                                 auto) mutable { return lost += draws.happens(1.0 / 7) ? 65536 : 0; })
                            .build())
            .decision()
            .next;
      };
      EXPECT_NE(lost_by(64), Next::clean) << to_string(counter) << ", seed " << seed;
      EXPECT_EQ(lost_by(512), Next::leak) << to_string(counter) << ", seed " << seed;
    }
  }
}

TEST(JudgeTest, IsCleanWherePinnedOrSharedMemoryComesAndGoes) {
  for (const auto counter : {Counter::pinned_bytes, Counter::shared_bytes}) {
    int clean = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto trace =
          TraceBuilder(64)
              .with(kBytes, [](auto) { return 4096; })
              .with({counter}, [draws = Draws(seed)](auto) mutable { return 65536 * draws.between(2, 4); })
              .build();
      clean += Analysed(trace).decision().next == Next::clean ? 1 : 0;
    }
    EXPECT_GE(clean, 17) << to_string(counter);  // by chance it rises once in twenty
  }
}

TEST(JudgeTest, IsCleanWherePinnedOrSharedMemoryRoseOnce) {
  for (const auto counter : {Counter::pinned_bytes, Counter::shared_bytes}) {
    const auto next_with = [=](const std::function<std::int64_t(std::int64_t)>& rises) {
      return Analysed(TraceBuilder(1024).with(kBytes, [](auto) { return 4096; }).with({counter}, rises).build())
          .decision()
          .next;
    };
    EXPECT_EQ(next_with([](auto step) { return step < 499 ? 0 : 4; }), Next::clean);
    EXPECT_NE(next_with([](auto step) { return step < 499 ? 0 : step < 900 ? 4 : 8; }), Next::clean);
  }
}

// The cache of page-locked blocks rises with the furthest that launches were ever ahead, and goes back at looks.
TEST(JudgeTest, IsCleanWherePinnedMemoryIsAsLowAtLaterLooks) {
  const auto next_with = [](std::int64_t lost_every) {
    std::int64_t cached = 0;
    return Analysed(TraceBuilder(1024)
                        .with(kBytes, [](auto) { return 4096; })
                        .with({Counter::pinned_bytes},
                              [=, draws = Draws(1)](auto step) mutable {
                                const bool is_ahead = step % 128 > 70 && step % 128 < 100;
                                if (is_ahead) cached = std::max(cached, 1024 * draws.between(1, step / 16));
                                if (step % 256 == 0) cached = 0;
                                return cached + step / lost_every * 1024;
                              })
                        .build())
        .decision()
        .next;
  };
  EXPECT_EQ(next_with(4096), Next::clean);
  EXPECT_NE(next_with(128), Next::clean);
}

// Three requests at a time, each with a cache that grows until its end, as buffers that take the place of smaller ones.
Trace trace_of_requests(std::int64_t steps, std::int64_t shortest, std::uint64_t seed) {
  Draws draws(seed);
  std::array<std::int64_t, 3> tokens{};
  std::array<std::int64_t, 3> limits{};
  for (auto& limit : limits) limit = draws.between(shortest, 3 * shortest);
  return TraceBuilder(steps)
      .with({Counter::live_blocks}, [](auto) { return 12; })
      .with(kBytes,
            [=](auto) mutable {
              std::int64_t bytes = 1 << 20;
              for (std::size_t i = 0; i < tokens.size(); ++i) {
                if (++tokens[i] > limits[i]) tokens[i] = 0;
                bytes += 512 * tokens[i];
              }
              return bytes;
            })
      .build();
}

TEST(JudgeTest, DoesNotTakeRequestsThatComeAndGoForABufferThatGrows) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    EXPECT_NE(Analysed(trace_of_requests(256, 40, seed)).decision().next, Next::leak) << seed;
  }
}

TEST(JudgeTest, TakesABufferThatNeverFallsForOneThatGrows) {
  const auto decision = Analysed(trace_of_requests(256, 1000, 1)).decision();
  EXPECT_EQ(decision.next, Next::leak);
  EXPECT_FALSE(decision.needs_proof);
}

TEST(SteadyLevelTest, IsTheTroughOfAToothThatIsLongerThanTheSettledSteps) {
  const auto level_after = [](std::int64_t steps) {
    const auto trace =
        TraceBuilder(steps)
            .with({Counter::python_objects}, [](auto step) { return 400 + 2 * (step <= 128 ? step : step - 128); })
            .build();
    return steady_levels(trace, {1, steps}).at("python_objects@cpu");
  };
  EXPECT_EQ(level_after(192), 402);
  EXPECT_EQ(level_after(224), 402);
}

TEST(SteadyLevelTest, IsWhatStaysAfterASmallFallLongAgo) {
  const auto trace =
      TraceBuilder(192)
          .with({Counter::python_objects}, [](auto step) { return step == 3 ? 399 : 400 + std::max(0L, step - 180L); })
          .build();
  EXPECT_EQ(steady_levels(trace, {1, 192}).at("python_objects@cpu"), 400);
}

TEST(SteadyLevelTest, IsNoneOfObjectsThatARecordPassHasSetApart) {
  const SeriesKey objects{Counter::python_objects};
  TraceBuilder builder(192);
  builder.with(kBytes, [](auto) { return 4096; }).with(objects, [](auto) { return 400; });
  EXPECT_TRUE(steady_levels(builder.build(), {1, 192}).contains("python_objects@cpu"));
  EXPECT_FALSE(steady_levels(builder.recorded(16).build(), {1, 192}).contains("python_objects@cpu"));
}

TEST(SteadyLevelTest, IsNoneOfObjectsThatBecomeMoreWithEachStep) {
  const auto has_level = [](std::int64_t every) {
    const auto trace =
        TraceBuilder(192).with({Counter::python_objects}, [=](auto step) { return 400 + step / every; }).build();
    return steady_levels(trace, {1, 192}).contains("python_objects@cpu");
  };
  EXPECT_FALSE(has_level(1));
  EXPECT_TRUE(has_level(100));
}

TEST(JudgeTest, KeepsTheNarrowerOfTwoFindingsForTheSameLedgers) {
  const Finding narrow{.kind = Kind::graph_retention, .accounts_for = {kNodes, kBytes}};
  const Finding wide{.kind = Kind::growth, .accounts_for = {kBytes}};
  const Finding other{.kind = Kind::host_heap, .accounts_for = {kHeap}};
  const auto kept = narrowed({narrow, wide, other});
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].kind, Kind::graph_retention);
  EXPECT_EQ(kept[1].kind, Kind::host_heap);
}

// By up to 10,000, without a trend, and never to the same lowest value again.
std::int64_t tremble(std::int64_t step) { return step * step * 7919 % 10007; }

// The allocator takes segments at these steps.
TEST(JudgeTest, IsCleanWhereSegmentsWereTakenForWhatFilledOrOnce) {
  const auto next_with = [](const std::vector<std::int64_t>& steps_of_segments, const auto& live) {
    constexpr Device kGpu{DeviceType::cuda, 0};
    const auto trace = TraceBuilder(1024)
                           .with({Counter::live_bytes, kGpu}, live)
                           .with({Counter::live_blocks, kGpu}, [](auto) { return 40; })
                           .with({Counter::peak_bytes, kGpu}, live)
                           .with({Counter::active_bytes, kGpu}, live)
                           .with({Counter::reserved_bytes, kGpu},
                                 [=](auto step) {
                                   return (2 + 2 * std::count_if(steps_of_segments.begin(), steps_of_segments.end(),
                                                                 [&](auto taken) { return step >= taken; }))
                                          << 20;
                                 })
                           .with({Counter::outside_bytes, kGpu}, [](auto) { return 1 << 29; })
                           .build();
    return Analysed(trace).decision().next;
  };
  const auto filling = [](auto step) { return 4096 + 512 * std::min<std::int64_t>(step, 300); };
  EXPECT_EQ(next_with({270, 280, 290}, filling), Next::clean);
  const auto trembling = [](auto step) { return 4096 + tremble(step); };
  for (const auto& live : {std::function<std::int64_t(std::int64_t)>(filling), {trembling}}) {
    EXPECT_EQ(next_with({400}, live), Next::clean);
    EXPECT_EQ(next_with({600}, live), Next::inconclusive);
    EXPECT_EQ(next_with({400, 500}, live), Next::inconclusive);
  }
}

// What a boundary finds of a batch of random size, beside blocks that become more until step 230.
TEST(JudgeTest, TakesBytesThatTrembleForFlatWhereTheNumberOfBlocksIs) {
  const auto next_with = [](std::int64_t last_birth, std::int64_t rise) {
    TraceBuilder builder(512 + 18);
    builder.with(kBytes, [=](auto step) { return 4096 + tremble(step) + rise * step; })
        .with({Counter::live_blocks}, [=](auto step) { return 40 + std::min(step, last_birth) / 23; })
        .with_cohorts({.device = kHost,
                       .cohorts = {{.birth_step = 0, .bytes = 4096, .blocks = 40},
                                   {.birth_step = 207, .bytes = 64, .blocks = 1}}})
        .recorded(18);
    return Analysed(builder.build()).decision().next;
  };
  EXPECT_EQ(next_with(230, 0), Next::clean);
  EXPECT_NE(next_with(460, 0), Next::clean);
  EXPECT_NE(next_with(230, 64), Next::clean);
}

// Hooks that are left behind now and then, each with a small tensor that every step makes anew, beside a large one that
// some steps have not.
TEST(JudgeTest, IsNotCleanWhereBlocksBecomeMoreBehindBytesThatTremble) {
  const auto next_with = [](std::int64_t last_hook) {
    const auto hooks = [=](auto step) { return std::min(step, last_hook) / 5; };
    const auto is_missing = [](auto step) { return step % 48 >= 16 && step % 48 < 32 && step % 3 == 0; };
    const auto trace =
        TraceBuilder(128 + 18)
            .with(kBytes, [=](auto step) { return 65536 - 12608 * is_missing(step) + 24 * hooks(step); })
            .with({Counter::live_blocks}, [=](auto step) { return 80 - 2 * is_missing(step) + hooks(step); })
            .with_cohorts({.device = kHost,
                           .cohorts = {{.birth_step = 0, .bytes = 4096, .blocks = 40},
                                       {.birth_step = 128, .bytes = 57344, .blocks = 40}}})
            .recorded(18)
            .build();
    return Analysed(trace).decision().next;
  };
  EXPECT_EQ(next_with(0), Next::clean);
  EXPECT_NE(next_with(128), Next::clean);
}

// A cache that meets its newest key at some step of 1,006.
TEST(JudgeTest, TakesACacheForFullThatMeetsNoNewKeyForAQuarterOfALongRun) {
  const auto next_with = [](std::int64_t newest_key, StructureType type, std::int64_t rise = 0) {
    const auto steps = Policy{}.last_to_record();
    TraceBuilder builder(steps + 18);
    builder.with(kBytes, [=](auto step) { return 4096 + tremble(step) + 512 * (step > newest_key) + rise * step; })
        .with({Counter::live_blocks}, [=](auto step) { return 40 + (step > 400) + (step > newest_key); })
        .with_cohorts({.device = kHost,
                       .cohorts = {{.birth_step = 400, .bytes = 64, .blocks = 1},
                                   {.birth_step = newest_key, .bytes = 64, .blocks = 1},
                                   {.birth_step = steps, .bytes = 64, .blocks = 9}}})
        .with_object({.type = "dict", .length = 40})
        .with_holder({.held = 0, .container = 0, .structure = {.type = type}, .gained_entries = 2})
        .recorded(18);
    return Analysed(builder.build()).decision().next;
  };
  EXPECT_EQ(next_with(740, StructureType::keyed), Next::clean);
  EXPECT_NE(next_with(800, StructureType::keyed), Next::clean);
  EXPECT_NE(next_with(740, StructureType::unknown), Next::clean);
  EXPECT_NE(next_with(740, StructureType::keyed, 64), Next::clean);
}

// A table of samples that are drawn at random, as in TrendTest, at the last look that a record pass can follow.
TEST(JudgeTest, TakesWhatHasLevelledOffInALongRunForFull) {
  const auto decided_after = [](std::int64_t steps, double fading) {
    const auto filled = [=](std::int64_t step) {
      return std::lround(500 * (1 - std::exp(-static_cast<double>(step) / fading)));
    };
    const auto trace = TraceBuilder(steps)
                           .with(kBytes, [=](auto step) { return 4096 + 64 * filled(step); })
                           .with({Counter::live_blocks}, [=](auto step) { return 40 + filled(step); })
                           .build();
    return Analysed(trace).decision();
  };
  const auto decision = decided_after(Policy{}.last_to_record(), 125);
  EXPECT_EQ(decision.next, Next::clean);
  EXPECT_GT(decision.limit.bytes_per_step, 1);
  EXPECT_NE(decided_after(Policy{}.last_to_record(), 400).next, Next::clean);
  EXPECT_NE(decided_after(768, 125).next, Next::clean);
}

// Tensors of NumPy's memory: as such they are no blocks and no bytes.
TEST(JudgeTest, LetsAFindingThatSaysNothingExplainNothing) {
  const Finding empty{.kind = Kind::detached_activation, .accounts_for = {kNodes, kHeap}};
  const Finding telling{.kind = Kind::host_heap, .bytes_per_step = 4096, .accounts_for = {kHeap}};
  const auto kept = narrowed({empty, telling});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].kind, Kind::host_heap);
  EXPECT_EQ(narrowed({empty}).size(), 1U);
}

TEST(PolicyTest, LooksAtEveryDecidingStep) {
  const Policy policy;
  std::vector<std::int64_t> looks;
  for (auto look = policy.look_after(0); looks.empty() || look <= 1024; look = policy.look_after(look)) {
    looks.push_back(look);
  }
  EXPECT_EQ(looks,
            (std::vector<std::int64_t>{8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1006, 1024}));
}

TEST(PolicyTest, MovesTheConfirmationWithTheBudgetAndLeavesRoomToRecord) {
  const auto policy = with_budget({}, 100);
  EXPECT_EQ(policy.clean_steps, 64);
  EXPECT_EQ(policy.leak_steps, 82);
  EXPECT_EQ(policy.look_after(64), 82);
  EXPECT_EQ(policy.look_after(82), 96);
  EXPECT_EQ(policy.look_after(96), 100);
  EXPECT_EQ(with_budget({}, 1000).leak_steps, 256);
}

TEST(PolicyTest, JudgesAtTheEndWhereThereIsNoRoomToRecord) {
  const auto policy = with_budget({}, 20);
  EXPECT_EQ(policy.clean_steps, 20);
  EXPECT_EQ(policy.leak_steps, 20);
}

}  // namespace
}  // namespace stepleak
