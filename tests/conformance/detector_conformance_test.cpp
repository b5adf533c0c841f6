// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What every detector keeps to, whatever it looks for. A new one is in all_detectors() and so in here.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "detectors/detectors.hpp"
#include "harness/trace/serialise.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kSteps = 274;
constexpr Device kGpu{DeviceType::cuda, 0};

constexpr Counter kHostCounters[] = {Counter::live_bytes,     Counter::live_blocks,  Counter::live_nodes,
                                     Counter::live_tensors,   Counter::heap_bytes,   Counter::python_objects,
                                     Counter::resident_bytes, Counter::pinned_bytes, Counter::python_blocks};
constexpr Counter kGpuCounters[] = {Counter::live_bytes,     Counter::live_blocks,        Counter::active_bytes,
                                    Counter::reserved_bytes, Counter::private_pool_bytes, Counter::outside_bytes};

// Every ledger that there is, each with the same course.
Trace trace_with(const std::function<std::int64_t(std::int64_t)>& course) {
  TraceBuilder builder(kSteps);
  for (const auto counter : kHostCounters) builder.with({counter}, course);
  for (const auto counter : kGpuCounters) builder.with({counter, kGpu}, course);
  return builder.build();
}

// One ledger grows, the others stand still.
Trace trace_growing_in(const SeriesKey& growing) {
  TraceBuilder builder(kSteps);
  const auto still = [](std::int64_t) { return std::int64_t{1} << 30; };
  for (const auto counter : kHostCounters) builder.with({counter}, still);
  for (const auto counter : kGpuCounters) builder.with({counter, kGpu}, still);
  builder.with(growing, [](std::int64_t step) { return (std::int64_t{1} << 30) + 4096 * step; });
  return builder.build();
}

std::vector<Trace> growing_traces() {
  std::vector<Trace> traces;
  for (const auto counter : kHostCounters) traces.push_back(trace_growing_in({counter}));
  for (const auto counter : kGpuCounters) traces.push_back(trace_growing_in({counter, kGpu}));
  return traces;
}

std::string text_of(const std::vector<Finding>& findings) {
  Result result;
  result.findings = findings;
  return to_json(result);
}

class DetectorConformanceTest : public testing::TestWithParam<std::size_t> {
 protected:
  DetectorConformanceTest() : detectors_(all_detectors()) {}
  [[nodiscard]] const Detector& detector() const { return *detectors_.at(GetParam()); }
  [[nodiscard]] std::vector<Finding> findings_in(const Trace& trace) const {
    return Analysed(trace).findings(detector());
  }

 private:
  std::vector<std::unique_ptr<Detector>> detectors_;
};

TEST_P(DetectorConformanceTest, IsSilentWithoutLedgers) { EXPECT_TRUE(findings_in(Trace()).empty()); }

TEST_P(DetectorConformanceTest, IsSilentWhereNothingGrows) {
  EXPECT_TRUE(findings_in(trace_with([](std::int64_t) { return 4096; })).empty());
}

TEST_P(DetectorConformanceTest, IsSilentWhereEverySawToothComesBack) {
  EXPECT_TRUE(findings_in(trace_with([](std::int64_t step) { return 4096 + 512 * (step % 8); })).empty());
}

TEST_P(DetectorConformanceTest, IsSilentOnAShortTrace) {
  TraceBuilder builder(4);
  builder.with({Counter::live_bytes}, [](std::int64_t step) { return 4096 * step; });
  EXPECT_TRUE(findings_in(builder.build()).empty());
}

TEST_P(DetectorConformanceTest, GivesTheSameFindingsForTheSameTrace) {
  for (const auto& trace : growing_traces()) {
    EXPECT_EQ(text_of(findings_in(trace)), text_of(findings_in(trace)));
  }
}

TEST_P(DetectorConformanceTest, FillsItsFindings) {
  for (const auto& trace : growing_traces()) {
    for (const auto& finding : findings_in(trace)) {
      EXPECT_EQ(finding.kind, detector().kind());
      EXPECT_FALSE(finding.what.empty());
      EXPECT_FALSE(finding.accounts_for.empty());
      EXPECT_TRUE(std::isfinite(finding.bytes_per_step) && finding.bytes_per_step >= 0);
      EXPECT_TRUE(std::isfinite(finding.count_per_step) && finding.count_per_step >= 0);
      EXPECT_GE(finding.kept_count, 0);
      EXPECT_LE(finding.kept_count, finding.explained_steps);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DetectorConformanceTest, testing::Range(std::size_t{0}, all_detectors().size()),
                         [](const auto& info) { return std::string(to_string(all_detectors()[info.param]->kind())); });

}  // namespace
}  // namespace stepleak
