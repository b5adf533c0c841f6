// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// Golden texts of our own reports. STEPLEAK_ACCEPT=1 ci/test golden accepts what the code writes now; an
// accepting run ends as skipped, so that it can never look green.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "harness/base/files.hpp"
#include "harness/base/source_root.hpp"
#include "harness/report/annotations.hpp"
#include "harness/report/code_quality.hpp"
#include "harness/report/console.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/sarif.hpp"
#include "harness/trace/serialise.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

Result result_of(Verdict verdict) {
  Result result;
  result.target = "train.py:step";
  result.verdict = verdict;
  result.steps = 274;
  result.seconds = 2.125;
  result.limit = {1, 48};
  result.conditions = {{"torch", "2.11.0"}};
  result.steady = {{"live_bytes@cpu", 4096}};
  result.trace = TraceBuilder(4).with({Counter::live_bytes}, [](auto step) { return 4096 + 64 * step; }).build();
  if (verdict == Verdict::clean) result.notes = {"4.0 KiB a step on cpu is freed by Python's cycle collector only"};
  if (verdict == Verdict::inconclusive) result.reason = "after 1024 steps live_bytes@cpu has not settled";
  if (verdict == Verdict::failure) {
    result.reason = "the step failed";
    const std::vector<Frame> where{{"train.py", 14, "step", "kept.append(batch)", FrameOwner::user}};
    const LiveMemory model{.bytes = 4096};
    const LiveMemory batch{.bytes = 1 << 20, .first_step = 4, .last_step = 4, .where = where};
    result.failure = RunFailure{.what = "the step raised MemoryError (in step 5)",
                                .remedy = "make the step smaller",
                                .output_tail = "last words\n",
                                .memory = {.bytes = (5 << 20) + 4096,
                                           .blocks = 6,
                                           .largest = {batch, model},
                                           .newest = {batch, model},
                                           .by_stack = {{2 << 20, 2, 1, 4, where}, {4096, 2, 0, 1, {}}}},
                                .is_out_of_memory = true};
  }
  if (verdict == Verdict::leak) {
    Finding finding{.kind = Kind::graph_retention, .bytes_per_step = 64, .count_per_step = 6};
    finding.counted = Counted::autograd_nodes;
    finding.since_step = 2;
    finding.what = "6 autograd nodes, kept by a tensor (float, 0-dim), survive every step since step 2";
    finding.op = "aten::mse_loss";
    finding.where = {{"train.py", 14, "train_step", "loss = mse_loss(model(x), y)", FrameOwner::user},
                     {"train.py", 25, "step", "", FrameOwner::user},
                     {"losses.py", 7, "mse_loss", "return (x - y).square().mean()", FrameOwner::library, 3}};
    finding.holder = "train.trainer (Trainer) .history (list, len 274) [271] -> Tensor -> MseLossBackward0";
    finding.kept_by = {"train.py", 18, "self.history.append(loss)", "loss"};
    finding.kept_count = finding.explained_steps = 16;
    finding.fix = "keep a number, not the tensor: self.history.append(loss.item())";
    finding.fingerprint = "0123456789abcdef";
    result.findings = {finding};
  }
  return result;
}

// The version is the only part of a report that changes without a change of the report.
std::string normalised(std::string text) {
  const std::string version = STEPLEAK_VERSION;
  for (auto at = text.find(version); at != std::string::npos; at = text.find(version)) {
    text.replace(at, version.size(), "VERSION");
  }
  return text;
}

class ReportsGoldenTest : public testing::TestWithParam<Verdict> {
 protected:
  static void compare(const std::string& extension, const std::string& report) {
    const auto name = std::string(to_string(GetParam())) + extension;
    const auto file = std::filesystem::path(STEPLEAK_SOURCE_ROOT) / "tests/golden/expected" / name;
    const auto text = normalised(report);
    if (std::getenv("STEPLEAK_ACCEPT") != nullptr) {
      write_file(file, text);
      GTEST_SKIP() << "accepted " << file;
    }
    EXPECT_EQ(read_file(file), text) << "accept it: STEPLEAK_ACCEPT=1 ci/test golden";
  }

  // With the line that the command line adds once the files are written.
  static std::string console_report(const ConsoleOptions& looks) {
    return to_console(result_of(GetParam()), looks) + report_line("more", "result.json", looks);
  }
};

TEST_P(ReportsGoldenTest, Console) { compare(".txt", console_report({})); }
TEST_P(ReportsGoldenTest, ColouredConsole) { compare(".colour.txt", console_report({.use_colours = true})); }
TEST_P(ReportsGoldenTest, NarrowConsole) { compare(".narrow.txt", console_report({.columns = 40})); }
TEST_P(ReportsGoldenTest, Json) { compare(".json", to_json(result_of(GetParam()))); }
TEST_P(ReportsGoldenTest, Junit) {
  const auto result = result_of(GetParam());
  compare(".xml",
          to_junit("stepleak run", {{&result, result.verdict == Verdict::clean ? std::string() : summary_of(result)}}));
}
TEST_P(ReportsGoldenTest, CiFormats) {
  const auto result = result_of(GetParam());
  const SourceTree tree{"/tree", "/tree/below"};
  const auto problems =
      problems_of({{&result, result.verdict == Verdict::clean ? std::string() : summary_of(result)}}, tree);
  compare(".sarif", to_sarif(problems, tree));
  compare(".code_quality.json", to_code_quality(problems));
  compare(".annotations", to_annotations(problems));
}

INSTANTIATE_TEST_SUITE_P(EveryVerdict, ReportsGoldenTest,
                         testing::Values(Verdict::clean, Verdict::leak, Verdict::inconclusive, Verdict::failure),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

}  // namespace
}  // namespace stepleak
