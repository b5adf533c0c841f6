// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Traces recorded on a GPU (tests/data), judged anew without one.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "detectors/detectors.hpp"
#include "harness/analyse/decision.hpp"
#include "harness/base/files.hpp"
#include "harness/trace/serialise.hpp"
#include "tests/support/analysed.hpp"
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

Result recorded(const std::string& name) {
  return result_from_json(read_file(std::filesystem::path(kRecordedFolder) / (name + ".json")));
}

// Kinds that ledgers alone prove; the others need survivors, which are not recorded.
bool is_proven_by_ledgers(Kind kind) {
  static const std::set<Kind> kKinds{Kind::fragmentation_drift, Kind::stuck_free, Kind::pinned_host,
                                     Kind::growing_buffer};
  return kKinds.contains(kind);
}

class RecordedTraceTest : public testing::TestWithParam<std::string> {};

TEST_P(RecordedTraceTest, HasTheVerdictThatItHadOnTheGpu) {
  const auto result = recorded(GetParam());
  const auto decision = Analysed(result.trace).decision(policy_of(Effort::standard));
  EXPECT_EQ(decision.next, result.verdict == Verdict::leak ? Decision::Next::leak : Decision::Next::clean)
      << decision.reason;
}

TEST_P(RecordedTraceTest, ShowsTheKindsThatItsLedgersProve) {
  const auto result = recorded(GetParam());
  std::set<Kind> found;
  for (const auto& detector : all_detectors()) {
    for (const auto& finding : Analysed(result.trace).findings(*detector)) found.insert(finding.kind);
  }
  for (const auto& finding : result.findings) {
    if (is_proven_by_ledgers(finding.kind)) {
      EXPECT_TRUE(found.contains(finding.kind)) << to_string(finding.kind);
    }
  }
  EXPECT_EQ(found.empty(), result.verdict == Verdict::clean);
}

INSTANTIATE_TEST_SUITE_P(Gpu, RecordedTraceTest, testing::ValuesIn(recorded_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stepleak
