// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/gtest/stepleak/gtest.hpp"

#include "harness/base/errors.hpp"
#include "harness/report/console.hpp"

namespace stepleak {
namespace {

std::string name_of(const char* text) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return test == nullptr ? text : std::string(test->test_suite_name()) + "." + test->name();
}

std::string report_of(const Result& result) {
  auto report = "\n" + to_console(result);
  if (result.device == kHost) report += "  (no GPU was watched: CPU memory was judged)\n";
  return report;
}

}  // namespace

testing::AssertionResult judge_no_leak(const char* text, const Step& step, Options options) try {
  options.target = name_of(text);
  const auto result = check(step, options);
  if (result.verdict == Verdict::clean) return testing::AssertionSuccess();
  return testing::AssertionFailure() << report_of(result);
} catch (const Error& error) {
  return testing::AssertionFailure() << "\nstepleak: " << error.what() << "; " << error.remedy() << "\n";
}

testing::AssertionResult judge_leak(const char* text, const Step& step, Kind kind, Options options) try {
  options.target = name_of(text);
  const auto result = check(step, options);
  for (const auto& finding : result.findings) {
    if (result.verdict == Verdict::leak && finding.kind == kind) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "\nexpected a leak of kind " << to_string(kind)
                                     << ", but:" << report_of(result);
} catch (const Error& error) {
  return testing::AssertionFailure() << "\nstepleak: " << error.what() << "; " << error.remedy() << "\n";
}

}  // namespace stepleak
