// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/gate/baseline.hpp"

#include <gtest/gtest.h>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

Baseline clean_baseline() {
  Baseline baseline;
  baseline.scenario = "loss_sum_attached_clean";
  baseline.key = {{"torch", "2.11.0"}, {"threads", "1"}, {"scenario hash", "00aa"}};
  baseline.steady = {{"live_bytes@cpu", 100000}, {"live_nodes@cpu", 10}};
  return baseline;
}

Baseline leaking_baseline() {
  auto baseline = clean_baseline();
  baseline.verdict = Verdict::leak;
  baseline.kinds = {"graph_retention"};
  baseline.bytes_per_step = {{"graph_retention", 1024}};
  baseline.fingerprint_rule = 2;
  baseline.fingerprints = {"00000000000000aa"};
  baseline.leaks = {{"00000000000000aa", {"graph_retention", "train.py in step", "train.losses (list) []"}}};
  return baseline;
}

// As fast as the other.
Baseline leaking_elsewhere() {
  auto baseline = leaking_baseline();
  baseline.fingerprints = {"00000000000000bb"};
  baseline.leaks = {{"00000000000000bb", {"graph_retention", "train.py in validate", "train.scores (list) []"}}};
  return baseline;
}

TEST(BaselineTest, FindsTheSameBehaviourTheSame) {
  EXPECT_EQ(compare(clean_baseline(), clean_baseline()).change, Change::same);
  EXPECT_EQ(compare(leaking_baseline(), leaking_baseline()).change, Change::same);
}

TEST(BaselineTest, FindsANewLeakWorseAndAMendedOneBetter) {
  EXPECT_EQ(compare(clean_baseline(), leaking_baseline()).change, Change::worse);
  EXPECT_EQ(compare(leaking_baseline(), clean_baseline()).change, Change::better);
}

TEST(BaselineTest, FindsAFasterLeakWorse) {
  auto now = leaking_baseline();
  now.bytes_per_step["graph_retention"] = 1050;
  EXPECT_EQ(compare(leaking_baseline(), now).change, Change::same);
  now.bytes_per_step["graph_retention"] = 4096;
  EXPECT_EQ(compare(leaking_baseline(), now).change, Change::worse);
}

TEST(BaselineTest, AddsUpWhatFindingsOfOneKindGrow) {
  Result result;
  result.verdict = Verdict::leak;
  result.findings = {{.kind = Kind::growth, .bytes_per_step = 4096, .fingerprint = "00000000000000aa"},
                     {.kind = Kind::growth, .bytes_per_step = 64, .fingerprint = "00000000000000bb"},
                     {.kind = Kind::host_heap, .bytes_per_step = 512, .fingerprint = "00000000000000cc"}};
  const auto baseline = baseline_of(result, {});
  EXPECT_EQ(baseline.bytes_per_step, (std::map<std::string, double>{{"growth", 4160}, {"host_heap", 512}}));
}

TEST(BaselineTest, ToleratesALevelWithinBytesAndPart) {
  auto now = clean_baseline();
  now.steady["live_bytes@cpu"] = 104000;
  EXPECT_EQ(compare(clean_baseline(), now).change, Change::same);
  now.steady["live_bytes@cpu"] = 105000;
  EXPECT_EQ(compare(clean_baseline(), now).change, Change::worse);
}

TEST(BaselineTest, ComparesWhatLiesUnusedAndNotItsLargestPart) {
  const auto change_of = [](const std::string& level) {
    auto stored = clean_baseline();
    stored.steady[level] = 800'000;
    auto now = stored;
    now.steady[level] = 900'000;
    return compare(stored, now).change;
  };
  EXPECT_EQ(change_of("inactive_split_bytes@cuda:0"), Change::worse);
  EXPECT_EQ(change_of("largest_free_block_bytes@cuda:0"), Change::same);
}

TEST(BaselineTest, SaysWhichLevelOnlyOneSideHas) {
  auto fewer = clean_baseline();
  fewer.steady.erase("live_nodes@cpu");
  auto lost = compare(fewer, clean_baseline());
  EXPECT_EQ(lost.change, Change::same);
  EXPECT_EQ(lost.differences, std::vector<std::string>{"live_nodes@cpu is 10, and the baseline has no such level: "
                                                       "stepleak baseline update"});
  EXPECT_EQ(compare(clean_baseline(), fewer).differences,
            std::vector<std::string>{"live_nodes@cpu was 10, and this run did not observe it"});
  fewer.steady["live_bytes@cpu"] = 200000;
  lost = compare(fewer, clean_baseline());
  EXPECT_EQ(lost.change, Change::better);
  EXPECT_EQ(lost.differences.size(), 2U);
  EXPECT_TRUE(compare(clean_baseline(), clean_baseline()).differences.empty());
}

TEST(BaselineTest, SaysNothingOfLevelsThatARunMayLack) {
  auto on_gpu = clean_baseline();
  on_gpu.steady["live_bytes@cuda:0"] = 1000;
  auto without_record_pass = on_gpu;
  without_record_pass.steady.erase("live_nodes@cpu");
  EXPECT_TRUE(compare(without_record_pass, on_gpu).differences.empty());
  EXPECT_TRUE(compare(on_gpu, without_record_pass).differences.empty());
  without_record_pass.steady.erase("live_bytes@cpu");
  EXPECT_EQ(compare(without_record_pass, on_gpu).differences.size(), 1U);
}

TEST(BaselineTest, FindsAnotherLeakOfTheSameKindAndRateWorse) {
  const auto comparison = compare(leaking_baseline(), leaking_elsewhere());
  EXPECT_EQ(comparison.change, Change::worse);
  ASSERT_EQ(comparison.differences.size(), 1U);
  EXPECT_EQ(comparison.differences.front(),
            "another graph_retention: made in train.py in validate, was train.py in step; "
            "held by train.scores (list) [], was train.losses (list) []");
}

TEST(BaselineTest, FindsOneMoreLeakWorseAndOneLessBetter) {
  auto both = leaking_baseline();
  both.leaks.merge(leaking_elsewhere().leaks);
  EXPECT_EQ(compare(leaking_baseline(), both).change, Change::worse);
  EXPECT_EQ(compare(both, leaking_baseline()).change, Change::better);
}

TEST(BaselineTest, DoesNotTellLeaksApartOfWhichOneHasNeitherPlaceNorHolder) {
  auto unknown = leaking_baseline();
  unknown.leaks = {{"00000000000000ff", {"graph_retention", "", ""}}};
  EXPECT_EQ(compare(leaking_baseline(), unknown).change, Change::same);
  EXPECT_EQ(compare(unknown, leaking_baseline()).change, Change::same);
}

TEST(BaselineTest, DoesNotTellLeaksApartOfWhichOneIsLessKnown) {
  auto unplaced = leaking_baseline();
  auto& [kind, where, holder] = unplaced.leaks.begin()->second;
  where.clear();
  unplaced.leaks = {{"00000000000000ff", unplaced.leaks.begin()->second}};
  EXPECT_EQ(compare(leaking_baseline(), unplaced).change, Change::same);
  EXPECT_EQ(compare(unplaced, leaking_baseline()).change, Change::same);
  EXPECT_EQ(compare(unplaced, leaking_elsewhere()).change, Change::worse);
}

TEST(BaselineTest, NeverComparesFingerprintsOfAnotherRuleAndSaysSo) {
  auto stored = leaking_baseline();
  stored.fingerprint_rule = 0;
  stored.leaks.clear();
  const auto comparison = compare(stored, leaking_elsewhere());
  EXPECT_EQ(comparison.change, Change::same);
  EXPECT_EQ(comparison.differences.size(), 1U);
  stored.fingerprints.clear();
  EXPECT_TRUE(compare(stored, leaking_elsewhere()).differences.empty());
}

TEST(BaselineTest, NeverComparesAnotherKey) {
  auto now = leaking_baseline();
  now.key["torch"] = "2.12.0";
  const auto comparison = compare(clean_baseline(), now);
  EXPECT_EQ(comparison.change, Change::other_key);
  ASSERT_EQ(comparison.differences.size(), 1U);
  EXPECT_EQ(comparison.differences.front(), "torch is 2.12.0, was 2.11.0");
}

TEST(BaselineTest, ReadsWhatItWrote) {
  const auto baseline = baseline_from_json(to_json(leaking_baseline()), "test");
  EXPECT_EQ(compare(leaking_baseline(), baseline).change, Change::same);
  EXPECT_EQ(compare(leaking_elsewhere(), baseline).change, Change::worse);
  EXPECT_EQ(baseline.scenario, leaking_baseline().scenario);
}

TEST(BaselineTest, TellsOfACorruptFileAndOfAnotherSchema) {
  EXPECT_THROW((void)baseline_from_json("{", "x.json"), Error);
  auto text = to_json(clean_baseline());
  text.replace(text.find("\"schema\": 1"), 11, "\"schema\": 9");
  try {
    (void)baseline_from_json(text, "x.json");
    FAIL() << "read another schema";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failure);
    EXPECT_NE(std::string(error.what()).find("x.json has schema 9"), std::string::npos) << error.what();
    EXPECT_FALSE(error.remedy().empty());
  }
}

// Where one value of a baseline's JSON is exchanged: what the error says.
std::string error_after(const Baseline& baseline, const std::string& from, const std::string& to) {
  auto text = to_json(baseline);
  text.replace(text.find(from), from.size(), to);
  try {
    (void)baseline_from_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_FALSE(error.remedy().empty());
    return error.what();
  }
  return "no error";
}

TEST(BaselineTest, NamesFileAndKeyOfAValueThatNoRunGives) {
  struct Case {
    std::string from, to, key;
  };
  for (const auto& [from, to, key] : std::vector<Case>{
           {"\"graph_retention\"\n", "\"graph_retenton\"\n", "kinds"},
           {"\"graph_retention\": 1024.0", "\"host_heap\": 1024.0", "bytes_per_step.host_heap"},
           {"\"graph_retention\": 1024.0", "\"graph_retention\": -1", "bytes_per_step.graph_retention"},
           {"\"graph_retention\": 1024.0", "\"graph_retention\": null", "bytes_per_step"},
           {"\"graph_retention\": 1024.0", "", "bytes_per_step"},
           {"\"verdict\": \"leak\"", "\"verdict\": \"clean\"", "kinds"},
           {"\"verdict\": \"leak\"", "\"verdict\": \"failure\"", "verdict"},
           {"\"steps\": 0", "\"steps\": -1", "steps"},
           {"\"steps\": 0", "\"steps\": 1.5", "steps"},
           {"\"steps\": 0", "\"steps\": 18446744073709551615", "steps"},
           {"\"verdict\": \"leak\"", "\"verdict\": \"leaky\"", "verdict"},
           {"\"scenario hash\": \"00aa\",", "", "key"},
           {"\"threads\"", "\"thread\"", "key"},
           {"\"torch\"", "\"pytorch\"", "key"},
           {"100000", "1e300", "steady.live_bytes@cpu"},
           {"100000", "9223372036854775807", "steady.live_bytes@cpu"},
           {"100000", "1152921504606846977", "steady.live_bytes@cpu"},
           {"\"live_nodes@cpu\": 10", "\"live_nodes@cpu\": 9223372036854775807", "steady.live_nodes@cpu"},
           {"\"steps\": 0", "\"steps\": 9223372036854775807", "steps"},
           {"\"graph_retention\": 1024.0", "\"graph_retention\": 1e308", "bytes_per_step.graph_retention"},
       }) {
    const auto what = error_after(leaking_baseline(), from, to);
    EXPECT_TRUE(what.starts_with("x.json is no baseline: " + key + " ")) << what;
  }
}

TEST(BaselineTest, KeepsTheFolderOfItsScenarios) {
  auto baseline = clean_baseline();
  EXPECT_EQ(to_json(baseline).find("scenarios"), std::string::npos);
  EXPECT_EQ(baseline_from_json(to_json(baseline), "x.json").scenarios, "");
  baseline.scenarios = "tests/leaks";
  const auto again = baseline_from_json(to_json(baseline), "x.json");
  EXPECT_EQ(again.scenarios, "tests/leaks");
  EXPECT_EQ(compare(clean_baseline(), again).change, Change::same);
}

TEST(BaselineTest, ReadsWhatTheLargestMachineCouldHave) {
  auto baseline = clean_baseline();
  baseline.steady["live_bytes@cpu"] = std::int64_t{1} << 60;
  EXPECT_EQ(baseline_from_json(to_json(baseline), "x.json").steady, baseline.steady);
}

TEST(BaselineTest, RefusesACleanBaselineWithoutLevels) {
  auto emptied = clean_baseline();
  emptied.steady.clear();
  EXPECT_THROW((void)baseline_from_json(to_json(emptied), "x.json"), Error);
  auto leaking = leaking_baseline();
  leaking.steady.clear();
  EXPECT_NO_THROW((void)baseline_from_json(to_json(leaking), "x.json"));
}

}  // namespace
}  // namespace stepleak
