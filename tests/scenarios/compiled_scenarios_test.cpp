// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Every C++ scenario on the CPU, judged in this process, one after the other.

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "harness/api/check.hpp"
#include "harness/probes/torch/torch_conditions.hpp"
#include "harness/report/console.hpp"
#include "harness/scenario/scenario.hpp"

namespace stepleak {

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.file; }

namespace {

std::vector<Scenario> scenarios() {
  std::vector<Scenario> runnable;
  for (const auto& scenario : ScenarioRegistry::instance().all()) {
    if (!scenario.needs_cuda) runnable.push_back(scenario);
  }
  return runnable;
}

class CompiledScenarioTest : public testing::TestWithParam<Scenario> {};

TEST_P(CompiledScenarioTest, HasItsVerdict) {
  Options options;
  options.device = "cpu";
  options.target = GetParam().name;
  options.threads = 1;
  const IntraOpThreads threads(options.threads);
  apply_torch_conditions({.seed = options.seed});
  const auto step = GetParam().set_up(kHost);
  const auto result = check([&step](std::int64_t) { step(); }, options);
  EXPECT_EQ(result.verdict, GetParam().expected) << to_console(result);
}

INSTANTIATE_TEST_SUITE_P(All, CompiledScenarioTest, testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepleak
