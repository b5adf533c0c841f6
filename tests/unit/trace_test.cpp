// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/explain/conclusion.hpp"
#include "harness/explain/explain.hpp"
#include "harness/explain/memory_evidence.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/trace/holder_text.hpp"
#include "harness/trace/json_values.hpp"
#include "harness/trace/run_record_json.hpp"
#include "harness/trace/serialise.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

Result leaking_result() {
  Result result;
  result.target = "train.py:step";
  result.verdict = Verdict::leak;
  result.steps = 274;
  result.findings = {{.kind = Kind::graph_retention, .bytes_per_step = 64, .fingerprint = "0123456789abcdef"}};
  result.findings.front().where = {{"train.py", 41, "step", "loss = f(x)", FrameOwner::user},
                                   {"cache.py", 7, "update", "", FrameOwner::library, 3}};
  result.trace = TraceBuilder(3).with({Counter::live_bytes}, [](auto step) { return step; }).build();
  return result;
}

TEST(SerialiseTest, ReadsWhatItWrote) {
  const auto text = to_json(leaking_result());
  EXPECT_EQ(to_json(result_from_json(text)), text);
}

TEST(TraceTest, TellsWhatARecordPassProvedWhereTheEndOfTheRunCutTheNextOneShort) {
  const auto recording = [](std::int64_t first, std::int64_t steps) {
    return Recording{.pass = {.type = PassType::record, .first_step = first, .planned_steps = 18, .young_steps = 2},
                     .steps = steps};
  };
  Trace trace({}, {{Counter::live_bytes}});
  EXPECT_TRUE(trace.recording().is_empty());
  trace.add_recording(recording(33, 2));
  EXPECT_EQ(trace.recording().pass.first_step, 33);
  trace.add_recording(recording(65, 18));
  trace.add_recording(recording(1007, 2));
  EXPECT_EQ(trace.recording().pass.first_step, 65);
}

TEST(TraceTest, TellsWhoHeldItBeforeTheEndOfAScriptHidIt) {
  const auto newest_after = [](std::int64_t steps, bool has_holder) {
    Recording first{.pass = {.type = PassType::record, .first_step = 33, .planned_steps = 18}, .steps = 18};
    first.holders.push_back({.held = 0});
    Recording second{.pass = {.type = PassType::record, .first_step = 257, .planned_steps = 64}, .steps = steps};
    if (has_holder) second.holders.push_back({.held = 0});
    Trace trace({}, {{Counter::live_bytes}});
    trace.add_recording(first);
    trace.add_recording(second);
    return trace.recording().pass.first_step;
  };
  EXPECT_EQ(newest_after(40, false), 33);
  EXPECT_EQ(newest_after(40, true), 257);
  EXPECT_EQ(newest_after(64, false), 257);
}

TEST(SerialiseTest, KeepsWhatThePicturesOfARunShow) {
  auto result = leaking_result();
  result.trace = TraceBuilder(40)
                     .with({Counter::live_bytes}, [](auto step) { return step; })
                     .with_cohorts({.at_step = 30, .cohorts = {{0, 512, 2}, {7, 64, 1}}})
                     .recorded(10)
                     .build();
  result.survivors = {{.stack = result.findings.front().where, .op = "aten::add", .count = 2, .bytes = 64},
                      {.count = 9, .bytes = 3, .folded_count = 7}};
  result.findings.front().holder_path = {{.what = "train.kept"}, {"[0]", "list, len 3", true}};
  result.held = {{.path = {{.what = "train.kept (list)", .is_container = true}, {.by = "[]", .what = "Tensor"}},
                  .count = 2,
                  .bytes = 64},
                 {.count = 3, .bytes = 2, .folded_count = 5}};
  const auto text = to_json(result);
  const auto read = result_from_json(text);
  EXPECT_EQ(to_json(read), text);
  ASSERT_EQ(read.trace.looks().size(), 1U);
  EXPECT_EQ(read.trace.looks().front().step, 30);
  EXPECT_EQ(read.trace.looks().front().cohorts.at(0).cohorts.at(1).birth_step, 7);
  ASSERT_EQ(read.trace.passes().size(), 2U);
  EXPECT_EQ(read.trace.passes().back().first_step, 31);
  EXPECT_EQ(read.survivors.at(0).stack, result.findings.front().where);
  EXPECT_TRUE(read.findings.front().holder_path.at(1).is_container);
  EXPECT_EQ(read.held.at(0).path, result.held.at(0).path);
  EXPECT_EQ(read.held.at(1).folded_count, 5);
}

TEST(SerialiseTest, KeepsOfManyLooksAndBirthsSome) {
  auto result = leaking_result();
  Cohorts cohorts;
  for (std::int64_t step = 1; step <= 3000; ++step) cohorts.push_back({step, 64, 1});
  for (int i = 0; i < 100; ++i) result.trace.add_look({{.cohorts = cohorts}});
  const auto text = to_json(result);
  const auto read = result_from_json(text);
  EXPECT_EQ(read.trace.looks().size(), 24U);
  EXPECT_LE(read.trace.looks().front().cohorts.at(0).cohorts.size(), 256U);
  EXPECT_EQ(to_json(read), text);
}

TEST(SerialiseTest, RefusesASurvivorOfAStackThatIsNotThere) {
  auto result = leaking_result();
  result.survivors = {{.stack = result.findings.front().where, .count = 1}};
  auto text = to_json(result);
  const auto at = text.find("1\n        ],\n        \"op\"");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_THROW((void)result_from_json(text.replace(at, 1, "2")), Error);
}

constexpr Pass kRecordPass{.type = PassType::record, .first_step = 1, .planned_steps = 18};

TEST(SurvivorGroupTest, CountsEachByteOnceAndFoldsTheRestOfMany) {
  Recording recording{.pass = kRecordPass, .steps = 18};
  for (int line = 1; line <= 60; ++line) {
    recording.stacks.push_back(
        {{"lib.cpp", 3, "alloc", "", FrameOwner::runtime}, {"train.py", line, "step", "", FrameOwner::user}});
    recording.survivors.push_back({.birth_step = 16, .bytes = 64 * line, .op = "aten::add", .stack = line - 1});
    recording.survivors.push_back(
        {.type = SurvivorType::tensor, .birth_step = 16, .bytes = 64 * line, .stack = line - 1});
  }
  const auto groups = survivor_groups(recording);
  ASSERT_EQ(groups.size(), 48U);
  EXPECT_EQ(groups.front().bytes, 64 * 60);
  EXPECT_EQ(groups.front().count, 2);
  EXPECT_EQ(groups.front().stack.size(), 1U);
  EXPECT_EQ(groups.back().folded_count, 13);
}

// kept = [tensor, ...], of which each step appends one of 64 bytes.
Recording tensors_in_a_list(int count) {
  Recording recording{.pass = kRecordPass, .steps = 18};
  auto& objects = recording.objects;
  objects.nodes = {{.type = "list", .name = "train.kept", .length = count}};
  for (int i = 0; i < count; ++i) {
    const auto address = static_cast<std::uint64_t>(i) + 100;
    objects.nodes.push_back({.type = "Tensor"});
    objects.edges.push_back({.from = 0, .to = i + 1, .type = EdgeType::index, .label = std::to_string(i)});
    recording.holders.push_back({.path = {i}, .held = i + 1, .container = 0});
    recording.survivors.push_back({.birth_step = i + 1, .identity = address, .bytes = 64});
    recording.survivors.push_back({.type = SurvivorType::tensor,
                                   .birth_step = i + 1,
                                   .identity = address + 1000,
                                   .storage = address,
                                   .bytes = 64,
                                   .storage_bytes = 64,
                                   .holder = i});
  }
  return recording;
}

TEST(HolderGroupTest, SumsWhatIsKeptAlike) {
  // What the last two steps appended may be in use by what comes next.
  const auto groups = holder_groups(tensors_in_a_list(18));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.front().count, 16);
  EXPECT_EQ(groups.front().bytes, 16 * 64);
  const std::vector<HolderPart> path{{.what = "train.kept (list)", .is_container = true},
                                     {.by = "[]", .what = "Tensor"}};
  EXPECT_EQ(groups.front().path, path);
}

TEST(HolderGroupTest, CountsMemoryThatTwoShareOnceAndTellsWhatNothingWasFoundFor) {
  auto recording = tensors_in_a_list(2);
  auto view = recording.survivors.back();
  view.identity += 1000;
  view.holder = -1;
  recording.survivors.insert(recording.survivors.begin(), view);
  recording.survivors.push_back({.birth_step = 1, .identity = 7, .bytes = 512});
  recording.survivors.push_back({.type = SurvivorType::node, .birth_step = 1, .identity = 8, .bytes = 900});
  recording.survivors.push_back({.type = SurvivorType::heap, .birth_step = 1, .identity = 9, .bytes = 900});
  const auto groups = holder_groups(recording);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(groups.front().path.empty());
  EXPECT_EQ(groups.front().count, 2);
  EXPECT_EQ(groups.front().bytes, 512);
  EXPECT_EQ(groups.back().bytes, 2 * 64);
}

TEST(SurvivorGroupTest, LeavesOutWhatMayStillBeInUse) {
  Recording recording{.pass = kRecordPass, .steps = 18};
  recording.survivors.push_back({.birth_step = 17, .bytes = 1 << 20});
  EXPECT_TRUE(survivor_groups(recording).empty());
  recording.survivors.push_back({.birth_step = 16, .bytes = 64});
  ASSERT_EQ(survivor_groups(recording).size(), 1U);
  EXPECT_EQ(survivor_groups(recording).front().bytes, 64);
  recording.survivors.back().is_collected = true;
  EXPECT_TRUE(survivor_groups(recording).empty());
}

TEST(HolderGroupTest, LeavesMemoryOfBeforeTheRecordedStepsOut) {
  auto recording = tensors_in_a_list(1);
  std::erase_if(recording.survivors, [](const Survivor& survivor) { return survivor.type == SurvivorType::block; });
  EXPECT_EQ(holder_groups(recording).at(0).bytes, 0);
  recording.survivors.front().is_pinned = true;
  EXPECT_EQ(holder_groups(recording).at(0).bytes, 64);
}

TEST(HolderGroupTest, TellsWhatAContainerOfOtherObjectsGained) {
  auto recording = tensors_in_a_list(1);
  recording.survivors.clear();
  EXPECT_TRUE(holder_groups(recording).empty());
  recording.holders.front().gained_entries = 18;
  recording.holders.front().gained_bytes = 700;
  recording.holders.front().gained_block_bytes = 40;
  EXPECT_EQ(holder_groups(recording).at(0).count, 18);
  EXPECT_EQ(holder_groups(recording).at(0).bytes, 740);
}

TEST(SerialiseTest, ReadsARecordPassOfNoStepAsNone) {
  auto result = leaking_result();
  result.trace.add_recording({.pass = {.type = PassType::record, .first_step = 3, .stride = 2}, .steps = 4});
  auto text = to_json(result);
  EXPECT_EQ(to_json(result_from_json(text)), text);
  const std::string steps = "\"explained_steps\": 4";
  ASSERT_NE(text.rfind(steps), std::string::npos);
  text.replace(text.rfind(steps), steps.size(), "\"explained_steps\": 0");
  const auto read = to_json(result_from_json(text));
  EXPECT_NE(read.find("\"explained_from\": -1"), std::string::npos);
  EXPECT_EQ(to_json(result_from_json(read)), read);
}

TEST(SerialiseTest, RefusesARecordPassOfEveryZerothStep) {
  auto result = leaking_result();
  result.trace.add_recording({.pass = {.type = PassType::record, .first_step = 3, .stride = 2}, .steps = 4});
  auto text = to_json(result);
  const std::string stride = "\"explain_stride\": 2";
  ASSERT_NE(text.rfind(stride), std::string::npos);
  text.replace(text.rfind(stride), stride.size(), "\"explain_stride\": 0");
  EXPECT_THROW((void)result_from_json(text), Error);
}

TEST(SerialiseTest, EscapesWhatATerminalHeedsAndNothingElse) {
  auto result = leaking_result();
  result.notes = {"\x1b[2J \xc2\x9b\x33\x31m \x7f", "\xc3\xa9, a\xc2\xa0space"};
  const auto text = to_json(result);
  EXPECT_NE(text.find("\\u001b[2J \\u009b31m \\u007f"), std::string::npos);
  EXPECT_NE(text.find("\xc3\xa9, a\xc2\xa0space"), std::string::npos);
  EXPECT_EQ(result_from_json(text).notes, result.notes);
}

TEST(SerialiseTest, TellsOfAMissingKeyAndOfAnotherSchema) {
  EXPECT_THROW((void)result_from_json("{}"), Error);
  EXPECT_THROW((void)result_from_json(R"({"schema": 99})"), Error);
  EXPECT_THROW((void)result_from_json("no json"), Error);
}

TEST(SerialiseTest, ReadsTheMemoryOfAFailureBack) {
  Result result;
  result.verdict = Verdict::failure;
  const LiveMemory block{
      .bytes = 64, .first_step = 1, .last_step = 4, .where = {{"train.py", 41, "step", "f(x)", FrameOwner::user}}};
  result.failure = RunFailure{.what = "out of memory", .memory = {128, 2, {block, block}, {block}, {block}}};
  const auto text = to_json(result);
  EXPECT_EQ(to_json(result_from_json(text)), text);
  EXPECT_NE(text.find("by_stack"), std::string::npos);
  result.failure->memory = {};
  EXPECT_EQ(to_json(result).find("by_stack"), std::string::npos);
}

// Of steps 11 to 41 every fifth back from the last is recorded, and the newest two prove nothing.
TEST(RecordingTest, TellsTheStepsThatProve) {
  Recording recording;
  EXPECT_FALSE(recording.is_recorded(1));
  EXPECT_EQ(recording.proof_steps(), 0);
  recording.pass = {.type = PassType::record, .first_step = 11, .planned_steps = 31, .stride = 5};
  recording.steps = 31;
  for (const std::int64_t step : {11, 16, 36, 41}) EXPECT_TRUE(recording.is_recorded(step)) << step;
  for (const std::int64_t step : {6, 10, 12, 40, 42, 46}) EXPECT_FALSE(recording.is_recorded(step)) << step;
  EXPECT_TRUE(recording.is_proof(36));
  EXPECT_FALSE(recording.is_proof(41));
  EXPECT_EQ(recording.proof_steps(), 6);
  recording.pass.stride = 1;
  EXPECT_TRUE(recording.is_proof(39));
  EXPECT_FALSE(recording.is_proof(40));
  EXPECT_EQ(recording.proof_steps(), 29);
  recording.pass.young_steps = 26;
  EXPECT_TRUE(recording.is_proof(15));
  EXPECT_FALSE(recording.is_proof(16));
}

// A pass that was cut short recorded the steps that ran, and they prove less.
TEST(RecordingTest, KnowsWhereItWasCutShort) {
  const Recording recording{.pass = {.type = PassType::record, .first_step = 11, .planned_steps = 18}, .steps = 4};
  EXPECT_TRUE(recording.is_recorded(14));
  EXPECT_FALSE(recording.is_recorded(15));
  EXPECT_EQ(recording.proof_steps(), 2);
}

TEST(LedgerTest, HoldsAReadingUntilTheNextAndMakesUpNothing) {
  Ledger ledger({Counter::heap_bytes});
  EXPECT_TRUE(ledger.held(1, 4).empty());
  ledger.add(2, 20);
  ledger.add(4, 40);
  EXPECT_EQ(ledger.held(1, 5), (std::vector<std::int64_t>{20, 20, 20, 40, 40}));
  EXPECT_EQ(ledger.held(3, 3), (std::vector<std::int64_t>{20}));
  EXPECT_EQ(ledger.values().size(), 2U);
}

TEST(TraceTest, LeavesOutWhatWasNotReadAtABoundary) {
  Trace trace({}, {{Counter::live_bytes}, {Counter::heap_bytes}});
  for (std::int64_t step = 1; step <= 3; ++step) {
    trace.add_boundary(std::vector<std::int64_t>{step, step == 2 ? 7 : kUnread});
  }
  EXPECT_EQ(trace.ledger({Counter::live_bytes})->values().size(), 3U);
  EXPECT_EQ(trace.ledger({Counter::heap_bytes})->steps().front(), 2);
  EXPECT_EQ(trace.ledger({Counter::outside_bytes}), nullptr);
}

TEST(TraceTest, DropsAPassOfNoSteps) {
  Trace trace({}, {});
  trace.begin_pass({.type = PassType::record});
  ASSERT_EQ(trace.passes().size(), 1U);
  trace.add_boundary({});
  trace.begin_pass({.type = PassType::fill});
  ASSERT_EQ(trace.passes().size(), 2U);
  EXPECT_EQ(trace.passes().back().first_step, 2);
}

Survivor block_of_step(std::int64_t step, std::int64_t bytes, int stack = -1) {
  return {.birth_step = step, .bytes = bytes, .stack = stack};
}

TEST(TraceTest, KeepsAMarkOnceAStepAndNoMoreThanAPictureShows) {
  Trace trace;
  for (int i = 0; i < 2; ++i) {
    trace.add_mark({3, MarkType::epoch});
    trace.add_mark({3, MarkType::evaluation});
  }
  EXPECT_EQ(trace.marks(), (std::vector<Mark>{{3, MarkType::epoch}, {3, MarkType::evaluation}}));
  for (std::int64_t step = 4; step < 2000; ++step) trace.add_mark({step, MarkType::epoch});
  EXPECT_EQ(trace.marks().size(), kMostMarks);
}

TEST(TraceTest, ReadsDeclaredBoundsBackFromResultsAndFromStoredRuns) {
  const auto text_of = [](const std::vector<DeclaredBound>& declared) {
    std::string text;
    for (const auto& [type, length, structure] : declared)
      text += fmt::format("{} of {}: {}", length, type, structure_text(structure));
    return text;
  };
  RunRecord record;
  record.declared = {{"list", 620, {StructureType::exceeded, 500, "agent.py", 17, "bounded(self.kept, 500)"}}};
  const auto read = run_record_from_json(to_json(record), "line 1");
  EXPECT_EQ(text_of(read.declared),
            "620 of list: holds more than the 500 that are declared by agent.py:17  bounded(self.kept, 500)");
  const auto result = conclude(read, {});
  EXPECT_EQ(text_of(result_from_json(to_json(result)).declared), text_of(record.declared));
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes.front(),
            "a list is declared to hold at most 500 by agent.py:17 and holds 620: the bound was not kept");
  record.declared.front().structure.type = StructureType::declared;
  EXPECT_TRUE(conclude(record, {}).notes.empty());
}

TEST(TraceTest, ReadsTrialsBackFromStoredRuns) {
  RunRecord record;
  EXPECT_EQ(to_json(record).find("trials"), std::string::npos);
  record.trials = {{.corrections = {{"train.py", 17, "losses.append(loss)", "loss", ".item()"}},
                    .statements = {"losses.append(loss.item())"},
                    .steps = 16,
                    .outcome = TrialOutcome::raised,
                    .what = "RuntimeError: no scalar"}};
  const auto read = run_record_from_json(to_json(record), "line 1");
  ASSERT_EQ(read.trials.size(), 1U);
  EXPECT_EQ(read.trials.front().corrections, record.trials.front().corrections);
  EXPECT_EQ(to_json(read), to_json(record));
}

TEST(TraceTest, ReadsMarksBackFromResultsAndFromStoredRuns) {
  RunRecord record;
  record.trace = TraceBuilder(8).with({Counter::live_bytes}, [](auto) { return 64; }).build();
  record.trace.add_mark({1, MarkType::epoch});
  record.trace.add_mark({9, MarkType::evaluation});  // the loop ended in it
  EXPECT_EQ(run_record_from_json(to_json(record), "line 1").trace.marks(), record.trace.marks());
  Result result;
  result.trace = record.trace;
  EXPECT_EQ(result_from_json(to_json(result)).trace.marks(), record.trace.marks());
}

TEST(MemoryEvidenceTest, TellsLargestNewestAndPlaces) {
  Recording recording;
  recording.stacks = {
      {{"lib.cpp", 7, "binding", "", FrameOwner::user}, {"train.py", 3, "step", "keep(x)", FrameOwner::user}},
      {{"torch.py", 1}}};
  for (std::int64_t step = 0; step < 20; ++step) {
    recording.survivors.push_back(block_of_step(step, step == 2 ? 1000 : 10, step == 1 || step == 4 ? 0 : -1));
  }
  recording.survivors.push_back(block_of_step(19, 11, 1));
  recording.survivors.push_back({.type = SurvivorType::tensor, .birth_step = 5, .bytes = 5000});
  recording.survivors.push_back({.device = {DeviceType::cuda, 0}, .birth_step = 5, .bytes = 5000});
  const auto memory = memory_evidence_of(recording, kHost);
  EXPECT_EQ(memory.blocks, 21);
  EXPECT_EQ(memory.bytes, 19 * 10 + 1000 + 11);
  ASSERT_EQ(memory.largest.size(), 10U);
  EXPECT_EQ(memory.largest[0].bytes, 1000);
  EXPECT_EQ(memory.largest[1].bytes, 11);
  ASSERT_EQ(memory.newest.size(), 10U);
  EXPECT_EQ(memory.newest[0].bytes, 11);
  EXPECT_EQ(memory.newest[1].last_step, 19);
  EXPECT_EQ(memory.newest[9].last_step, 11);
  // A stack without a frame of the user's names no place.
  ASSERT_EQ(memory.by_stack.size(), 1U);
  EXPECT_EQ(memory.by_stack[0].bytes, 20);
  EXPECT_EQ(memory.by_stack[0].first_step, 1);
  EXPECT_EQ(memory.by_stack[0].last_step, 4);
  EXPECT_EQ(memory.by_stack[0].where, (std::vector<Frame>{{"train.py", 3, "step", "keep(x)", FrameOwner::user}}));
}

TEST(MemoryEvidenceTest, IsEmptyWhereNothingIsLive) {
  const auto memory = memory_evidence_of(Recording(), kHost);
  EXPECT_EQ(memory.blocks, 0);
  EXPECT_TRUE(memory.largest.empty() && memory.newest.empty() && memory.by_stack.empty());
}

TEST(FingerprintTest, DoesNotSeeTheLibraryBelowTheUser) {
  const Frame step{"train.py", 4, "step", "", FrameOwner::user};
  const Frame update{"cache.py", 7, "update", "", FrameOwner::library};
  const Frame append{"cache.py", 9, "append", "", FrameOwner::library};
  const auto of = [](std::vector<Frame> where) { return fingerprint_of({.where = std::move(where)}); };
  EXPECT_EQ(of({step, update}), of({step, append}));
  EXPECT_EQ(of({step, update}), of({step}));
  // Alone it is all that tells the place.
  EXPECT_NE(of({update}), of({append}));
}

TEST(FingerprintTest, IsThatOfAnyPythonThoughOneHasFramesForComprehensions) {
  const Frame step{"train.py", 4, "step", "", FrameOwner::user};
  const Frame made{"train.py", 4, "<listcomp>", "", FrameOwner::user};
  const Frame called{"train.py", 4, "<lambda>", "", FrameOwner::user};
  const auto of = [](std::vector<Frame> where) { return fingerprint_of({.where = std::move(where)}); };
  EXPECT_EQ(of({made, step}), of({step}));
  EXPECT_NE(of({called, step}), of({step}));
}

TEST(NamesTest, ReadEveryNameBack) {
  for (int i = 0; i < kKindCount; ++i) EXPECT_EQ(parse_kind(to_string(static_cast<Kind>(i))), static_cast<Kind>(i));
  for (int i = 0; i < kCounterCount; ++i) {
    EXPECT_EQ(parse_counter(to_string(static_cast<Counter>(i))), static_cast<Counter>(i));
  }
  EXPECT_FALSE(parse_kind("grwth"));
}

TEST(DeviceTest, ReadsItsNameBackAndNothingElse) {
  EXPECT_EQ(to_string(parse_device("cuda:1")), "cuda:1");
  EXPECT_EQ(to_string(parse_device("cpu")), "cpu");
  for (const auto* wrong : {"gpu", "cuda:", "cuda:-1", "cuda:1x", ""}) EXPECT_THROW((void)parse_device(wrong), Error);
}

TEST(BytesTest, FormatAndParse) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(10240), "10.0 KiB");
  EXPECT_EQ(parse_bytes("1.5GiB"), 1610612736);
  EXPECT_EQ(parse_bytes("300M"), 300 * 1024 * 1024);
  for (const auto* wrong : {"", "12Q", "-1", "lots"}) EXPECT_THROW((void)parse_bytes(wrong), Error);
}

TEST(FilesTest, KeepsTheOldFileWhereTheNewOneCannotBeWritten) {
  const auto folder = std::filesystem::temp_directory_path() / "stepleak_files_test";
  write_file(folder / "a.json", "old");
  EXPECT_EQ(read_file(folder / "a.json"), "old");
  EXPECT_THROW(write_file("/dev/full", "new"), Error);
  EXPECT_THROW(write_file(folder / "a.json" / "b.json", "new"), Error);
  EXPECT_EQ(read_file(folder / "a.json"), "old");
  std::filesystem::remove_all(folder);
}

TEST(FingerprintTest, OutlivesLinesAndFoldersAndTellsPlacesApart) {
  Finding finding{.kind = Kind::growth, .where = {{"/home/a/train.py", 41, "step"}}};
  const auto fingerprint = fingerprint_of(finding);
  finding.where = {{"/srv/b/train.py", 99, "step"}};
  EXPECT_EQ(fingerprint_of(finding), fingerprint);
  finding.where = {{"/srv/b/train.py", 99, "validate"}};
  EXPECT_NE(fingerprint_of(finding), fingerprint);
  // A statement that was found in the sources beside it.
  finding.where = {{"/srv/b/train.py", 99, "step"}, {"/srv/b/train.py", 7, ""}};
  EXPECT_EQ(fingerprint_of(finding), fingerprint);
}

TEST(FixTest, MendsTheUsersOwnStatement) {
  Finding finding{.kind = Kind::graph_retention};
  finding.kept_by = {"train.py", 45, "self.history.append(loss)", "loss"};
  EXPECT_EQ(fix_for(finding, {}), "keep a number, not the tensor: self.history.append(loss.item())");
  finding.explained_steps = 16;
  EXPECT_EQ(fix_for(finding, {}), "") << "no recorded step bears it out";
  finding.kept_count = 15;
  EXPECT_EQ(fix_for(finding, {}), "keep a number, not the tensor: self.history.append(loss.item())");
  finding.kept_by = {};
  EXPECT_EQ(fix_for(finding, {}), "keep a number, not the tensor");
}

TEST(FixTest, SaysWhatCameOfItWhereItWasTried) {
  Finding finding{.kind = Kind::graph_retention};
  finding.kept_by = {"train.py", 45, "self.history.append(loss)", "loss"};
  const auto untried = fix_for(finding, {});
  Trial trial{.corrections = corrections_for(finding, {}),
              .statements = {"self.history.append(loss.item())", "self.total += loss.item()"},
              .steps = 16,
              .outcome = TrialOutcome::ended};
  EXPECT_EQ(
      fix_for(finding, {}, {trial}),
      "keep a number, not the tensor: self.history.append(loss.item()) and self.total += loss.item() (tried for 16 "
      "steps: it ends)");
  trial.statements.pop_back();
  trial.outcome = TrialOutcome::eased;
  EXPECT_EQ(fix_for(finding, {}, {trial}),
            "keep a number, not the tensor: self.history.append(loss.item()) (tried for 16 steps: no graph stays, what "
            "keeps it still grows)");
  trial.outcome = TrialOutcome::in_vain;
  EXPECT_EQ(fix_for(finding, {}, {trial}), "keep a number, not the tensor") << "no statement to follow";
  trial.what = "train.py:46  self.best = loss";
  EXPECT_EQ(fix_for(finding, {}, {trial}),
            "keep a number, not the tensor: self.history.append(loss.item()) (tried for 16 steps: it goes on, by "
            "train.py:46  self.best = loss)");
  trial.outcome = TrialOutcome::raised;
  trial.what = "RuntimeError: no scalar";
  EXPECT_EQ(fix_for(finding, {}, {trial}),
            "keep a number, not the tensor (self.history.append(loss.item()) was tried, and raised RuntimeError: no "
            "scalar)");
  ASSERT_FALSE(trial.corrections.empty());
  trial.corrections.front().line = 46;
  EXPECT_EQ(fix_for(finding, {}, {trial}), untried) << "of another statement";
}

TEST(FixTest, DetachesWhatComesInWhereALossNeedsWhatIsAssigned) {
  Finding finding{.kind = Kind::attached_activation};
  finding.kept_by = {"train.py", 45, "h = cell(h, torch.rand(8))", "cell(h, torch.rand(8))"};
  EXPECT_EQ(fix_for(finding, {}), "detach what outlives the step: h = (cell(h, torch.rand(8))).detach()");
  finding.kept_by.detached = {"h"};
  EXPECT_EQ(fix_for(finding, {}), "detach what outlives the step: h = cell(h.detach(), torch.rand(8))");
  finding.kind = Kind::graph_retention;
  EXPECT_EQ(fix_for(finding, {}), "detach what outlives the step: h = cell(h.detach(), torch.rand(8))");
  finding.kept_by.detached = std::vector<std::string>();
  EXPECT_EQ(fix_for(finding, {}), "detach what outlives the step");
  finding.kind = Kind::view_pins_storage;
  EXPECT_EQ(fix_for(finding, {}), "copy the part that is kept: h = (cell(h, torch.rand(8))).clone()");
}

TEST(FixTest, DetachesEachPartThatKeepsAGraph) {
  Finding finding{.kind = Kind::attached_activation};
  finding.kept_by = {"train.py", 45, "log.append((loss, item, acc))", "acc"};
  finding.kept_by.detached = {"acc", "loss", "item"};
  EXPECT_EQ(fix_for(finding, {}),
            "detach what outlives the step: log.append((loss.detach(), item.detach(), acc.detach()))");
  finding.kind = Kind::graph_retention;
  EXPECT_EQ(fix_for(finding, {}),
            "keep a number, not the tensor: log.append((loss.detach(), item.detach(), acc.item()))");
}

TEST(FixTest, SaysTheSameOfAStoredStatement) {
  Finding finding{.kind = Kind::graph_retention};
  finding.kept_by = {"train.py", 45, "h = cell(x, h)", "cell(x, h)"};
  const auto is_same = [&] {
    auto stored = finding;
    stored.kept_by = statement_from_json(statement_to_json(finding.kept_by));
    return fix_for(stored, {}) == fix_for(finding, {});
  };
  EXPECT_TRUE(is_same());
  finding.kept_by.is_used_as_tensor = true;
  EXPECT_TRUE(is_same());
  for (const auto& detached : {std::vector<std::string>{"h"}, std::vector<std::string>()}) {
    finding.kept_by.detached = detached;
    EXPECT_TRUE(is_same());
  }
}

TEST(FixTest, KeepsATensorWhereItsMethodsAreCalled) {
  Finding finding{.kind = Kind::graph_retention};
  finding.kept_by = {"train.py", 45, "self.sum = self.sum + value", "self.sum + value"};
  finding.kept_by.is_used_as_tensor = true;
  EXPECT_EQ(fix_for(finding, {}), "detach what outlives the step: self.sum = (self.sum + value).detach()");
}

TEST(FixTest, WritesNoStatementWhereWhatIsKeptIsNoTensor) {
  Finding finding{.kind = Kind::graph_retention};
  for (const auto* kept : {"[*losses, loss]", "([*losses, loss] if is_leaky else [loss])", "loss if keep else None"}) {
    finding.kept_by = {"train.py", 45, std::string("losses[:] = ") + kept, kept};
    EXPECT_EQ(fix_for(finding, {}), "keep a number, not the tensor") << kept;
  }
  finding.kept_by = {"train.py", 45, "losses.append(step(a))", "step(a)"};
  EXPECT_EQ(fix_for(finding, {}), "keep a number, not the tensor: losses.append(step(a).item())");
}

TEST(FixTest, SaysNothingOfHostMemoryThatOnlyALibraryKnows) {
  Finding finding{.kind = Kind::host_heap};
  EXPECT_EQ(fix_for(finding, {}), "");
  finding.where = {{"train.py", 7, "step"}};
  EXPECT_EQ(fix_for(finding, {}), "free what is allocated there, or bound what keeps it");
  finding.holder = "train.log (list, len 9)";
  EXPECT_EQ(fix_for(finding, {}), "bound what the step appends to on the host");
}

TEST(FixTest, KeepsNoOptimizerWhoseGroupsBecomeMore) {
  Finding finding{.kind = Kind::optimizer_state};
  finding.kept_by = {.file = "train.py",
                     .line = 12,
                     .text = "optimizer.add_param_group({'params': [prompt]})",
                     .calls = {"add_param_group"}};
  EXPECT_EQ(fix_for(finding, {}), "an optimizer gives no group back: make a new optimizer where its parameters change");
  finding.kept_by = {.file = "train.py", .line = 12, .text = "log('add_param_group()', optimizer.state[prompt])"};
  EXPECT_EQ(fix_for(finding, {}), "drop the optimizer's state together with the parameters that it belongs to");
}

TEST(FixTest, CallsWhatEmptiesTheContainerAndIsNotCalled) {
  Finding finding{.kind = Kind::detached_activation};
  const auto usual = fix_for(finding, {});
  finding.structure = {.type = StructureType::uncalled, .file = "/home/me/metrics.py", .line = 17};
  EXPECT_EQ(fix_for(finding, {}), "call what empties it, at metrics.py:17, once what it holds is of no more use");
  finding.structure.type = StructureType::reset;
  EXPECT_EQ(fix_for(finding, {}), usual);
}

TEST(FixTest, KeepsToWhatIsDeclared) {
  Finding finding{.kind = Kind::host_heap};
  finding.structure = {.type = StructureType::exceeded, .bound = 500, .file = "/home/me/agent.py", .line = 17};
  EXPECT_EQ(fix_for(finding, {}), "keep it to the 500 entries that agent.py:17 declares, or declare what it needs");
  finding.structure.type = StructureType::declared;
  EXPECT_EQ(fix_for(finding, {}), "");
}

TEST(FixTest, TakesOutWhatWasRegisteredWhereItsTableIsWhatGrew) {
  Finding finding{.kind = Kind::host_heap, .where = {{"train.py", 7, "step"}}, .holder_index = 0};
  const auto usual = fix_for({.kind = finding.kind, .where = finding.where, .holder = "train.model (Linear)"}, {});
  const auto fix_of = [&](const std::string& table, int container) {
    Recording recording;
    recording.objects.nodes = {{.type = "Linear", .name = "train.model"}, {.type = "OrderedDict"}, {.type = "list"}};
    recording.objects.edges = {{0, 1, EdgeType::attribute, table}, {1, 2, EdgeType::key, "3"}};
    recording.holders = {{.path = {0, 1}, .held = 2, .container = container}};
    return fix_for(finding, recording);
  };
  EXPECT_NE(fix_of("_forward_hooks", 1).find("remove()"), std::string::npos);
  EXPECT_EQ(fix_of("_forward_hooks", 2), usual);
  EXPECT_EQ(fix_of("history", 1), usual);
  EXPECT_NE(fix_of("_exit_callbacks", 1).find("close the stack"), std::string::npos);
  EXPECT_EQ(fix_of("handlers", 1), usual);
  finding.kept_by = {.text = "log.addHandler(Window())", .calls = {"addHandler"}};
  EXPECT_NE(fix_of("handlers", 1).find("removeHandler()"), std::string::npos);
  EXPECT_EQ(fix_of("listeners", 1), usual);
}

TEST(FixTest, BoundsACacheByItsOwnSize) {
  const Finding finding{.kind = Kind::host_heap, .where = {{"train.py", 7, "step"}}, .holder_index = 0};
  const auto fix_of = [&](const std::string& type) {
    Recording recording;
    recording.objects.nodes = {{.type = type, .name = "train.encode"}, {.type = "dict"}};
    recording.objects.edges = {{0, 1, EdgeType::hidden, ""}};
    recording.holders = {{.path = {0}, .held = 1, .container = 1}};
    return fix_for(finding, recording);
  };
  EXPECT_NE(fix_of("_lru_cache_wrapper").find("maxsize"), std::string::npos);
  EXPECT_EQ(fix_of("Cache").find("maxsize"), std::string::npos);
  EXPECT_NE(fix_of("cycle").find("new iterator"), std::string::npos);
  EXPECT_EQ(fix_of("Bicycle").find("new iterator"), std::string::npos);
}

// A root that leads to a container, and that to what is kept.
Recording kept_under(const ObjectNode& root, const std::string& container, const std::string& held, EdgeType how) {
  Recording recording;
  recording.objects.nodes = {root, {.type = container}, {.type = held}};
  recording.objects.edges = {{0, 1, EdgeType::attribute, "kept"}, {1, 2, how}};
  recording.holders = {{.path = {0, 1}, .held = 2, .container = 1}};
  return recording;
}

TEST(FixTest, UndoesWhatALibraryWasTold) {
  const Finding finding{.kind = Kind::host_heap, .holder_index = 0};
  const auto fix_of = [&](const ObjectNode& root, const std::string& container, const std::string& held, EdgeType how) {
    return fix_for(finding, kept_under(root, container, held, how));
  };
  EXPECT_NE(fix_of({.name = "atexit"}, "list", "tuple", EdgeType::index).find("atexit.unregister()"),
            std::string::npos);
  EXPECT_EQ(fix_of({.name = "train.atexits"}, "list", "tuple", EdgeType::index).find("atexit"), std::string::npos);
  EXPECT_NE(fix_of({.name = "train"}, "Counter", "Tensor", EdgeType::other).find("tolist()"), std::string::npos);
  EXPECT_EQ(fix_of({.name = "train"}, "Counter", "str", EdgeType::other).find("tolist()"), std::string::npos);
  EXPECT_NE(fix_of({.name = "train"}, "dict", "profile", EdgeType::index).find("schedule"), std::string::npos);
  EXPECT_EQ(fix_of({.name = "train"}, "dict", "Profile", EdgeType::index).find("schedule"), std::string::npos);
}

TEST(FixTest, DestroysGroupsWhereAStepMakesThem) {
  Finding finding{.kind = Kind::host_heap, .holder_index = 0};
  const auto recording =
      kept_under({.name = "torch.distributed.distributed_c10d._world"}, "dict", "list", EdgeType::index);
  EXPECT_EQ(fix_for(finding, recording).find("destroy_process_group"), std::string::npos);
  finding.kept_by = {.text = "group = dist.new_group([0])", .calls = {"new_group"}};
  EXPECT_NE(fix_for(finding, recording).find("destroy_process_group(group)"), std::string::npos);
}

TEST(FixTest, TakesOffAHookThatATensorGetsInCpp) {
  Finding finding{.kind = Kind::growth, .holder_index = 0};
  finding.kept_by = {.text = "weight.register_hook(log);", .calls = {"register_hook"}};
  auto recording = kept_under({.name = "Probe::weight"}, "torch::Tensor", "Tensor", EdgeType::hidden);
  EXPECT_EQ(fix_for(finding, recording).find("remove_hook()"), std::string::npos);
  recording.holders.front().is_of_sources = true;
  EXPECT_NE(fix_for(finding, recording).find("remove_hook()"), std::string::npos);
}

TEST(FixTest, TakesBackWhatAContextVariableWasSetTo) {
  Finding finding{.kind = Kind::host_heap, .where = {{"train.py", 7, "step"}}, .holder_index = 0};
  Recording recording;
  recording.objects.nodes = {{.type = "ContextVar", .name = "train.current"}, {.type = "Span"}};
  recording.objects.edges = {{0, 1, EdgeType::hidden, ""}};
  recording.holders = {{.path = {0}, .held = 1}};
  EXPECT_EQ(fix_for(finding, recording).find("token"), std::string::npos);
  finding.kept_by = {.text = "self.token = current.set(self)", .calls = {"set"}};
  EXPECT_NE(fix_for(finding, recording).find("token"), std::string::npos);
  // The newest of a chain in another variable has the token.
  recording.objects = {.nodes = {{.type = "Span", .name = "train.span"}}};
  recording.holders = {{.held = 0}};
  EXPECT_NE(fix_for(finding, recording).find("token"), std::string::npos);
  finding.kept_by = {.text = "event.set(self)", .calls = {"set"}};
  EXPECT_EQ(fix_for(finding, recording).find("token"), std::string::npos);
}

TEST(FixTest, BreaksACycleOfTorchsWhereItCloses) {
  const Finding finding{.kind = Kind::reference_cycle, .where = {{"train.py", 7, "step"}}, .holder_index = 0};
  const auto fix_through = [&](const std::string& label) {
    Recording recording;
    recording.objects.nodes = {{.type = "Tensor", .name = "a cycle"}, {.type = "OrderedDict"}};
    recording.objects.edges = {{0, 1, EdgeType::attribute, label}};
    recording.holders = {{.path = {0}, .held = 1}};
    return fix_for(finding, recording);
  };
  EXPECT_NE(fix_through("_backward_hooks").find("x.detach()"), std::string::npos);
  EXPECT_NE(fix_through("grad").find("set .grad to None"), std::string::npos);
  EXPECT_NE(fix_through("parent").find("hold one side weakly"), std::string::npos);
}

TEST(FixTest, EndsTheFunctionWhoseVariablesKeepIt) {
  Finding finding{.kind = Kind::detached_activation, .holder_index = 0};
  const auto fix_behind = [&](const std::string& type, const std::string& root = "list") {
    Recording recording;
    recording.objects.nodes = {{.type = root, .name = "train.errors"}, {.type = type}, {.type = "Tensor"}};
    recording.objects.edges = {{0, 1, EdgeType::index, "0"}, {1, 2, EdgeType::attribute, "x"}};
    recording.holders = {{.path = {0, 1}, .held = 2, .container = root == "list" ? 0 : 1}};
    return fix_for(finding, recording);
  };
  const auto usual = fix_for({.kind = finding.kind}, {});
  EXPECT_EQ(fix_behind("Batch"), usual);
  EXPECT_NE(fix_behind("_tee_dataobject").find("tee()"), std::string::npos);
  EXPECT_EQ(fix_behind("list", "generator"), usual);  // which grows within it
  EXPECT_NE(fix_behind("traceback").find("with_traceback(None)"), std::string::npos);
  EXPECT_NE(fix_behind("generator").find("close()"), std::string::npos);
  EXPECT_NE(fix_behind("coroutine").find("await"), std::string::npos);
}

TEST(ScenarioRegistryTest, NamesBothFilesOfADuplicate) {
  ScenarioRegistry registry;
  registry.add({.name = "a", .file = "one.cpp"});
  registry.add({.name = "b", .file = "two.cpp"});
  try {
    registry.add({.name = "a", .file = "three.cpp"});
    FAIL() << "took a name twice";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("one.cpp"), std::string::npos);
    EXPECT_NE(what.find("three.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepleak
