// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Traces recorded on a GPU and on a CPU (tests/data), judged anew.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>

#include "detectors/detectors.hpp"
#include "harness/base/files.hpp"
#include "harness/explain/conclusion.hpp"
#include "harness/trace/serialise.hpp"
#include "harness/trace/trace_file.hpp"
#include "tests/unit/recorded/recorded_folder.hpp"

namespace stepleak {
namespace {

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRecordedFolder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  return names;
}

Result judged_anew(const std::string& name) {
  const auto records = read_trace_file(std::filesystem::path(kTraceFolder) / (name + ".trace")).records;
  const auto owned = all_detectors();
  std::vector<const Detector*> detectors;
  for (const auto& detector : owned) detectors.push_back(detector.get());
  return conclude(records.at(0), detectors);
}

class RecordedTraceTest : public testing::TestWithParam<std::string> {};

TEST_P(RecordedTraceTest, GivesTheResultThatItsRunGave) {
  const auto stored = read_file(std::filesystem::path(kRecordedFolder) / (GetParam() + ".json"));
  const auto anew = to_json(judged_anew(GetParam()));
  EXPECT_EQ(nlohmann::json::parse(anew), nlohmann::json::parse(stored));
  EXPECT_TRUE(anew == stored) << "equal values, and other text: the order of keys, or how a number is written";
}

TEST(RecordedTracesTest, AreOfLeaksOfHealthyStepsAndOfWhatALibraryKeeps) {
  std::set<Verdict> verdicts;
  for (const auto& name : recorded_names()) verdicts.insert(judged_anew(name).verdict);
  EXPECT_EQ(verdicts, (std::set{Verdict::clean, Verdict::leak, Verdict::inconclusive}));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RecordedTraceTest, testing::ValuesIn(recorded_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stepleak
