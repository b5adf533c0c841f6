// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What every reporter keeps to, whatever a result holds. A new one is one line in reporters().

#include <gtest/gtest.h>
#include <pugixml.hpp>

#include <algorithm>
#include <functional>
#include <limits>

#include "harness/report/annotations.hpp"
#include "harness/report/code_quality.hpp"
#include "harness/report/console.hpp"
#include "harness/report/html.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/sarif.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

struct Reporter {
  std::string name;
  std::function<std::string(const Result&)> write;
};

const SourceTree kTree{"/tree", "/tree/below"};

std::vector<Reporter> reporters() {
  return {{"console", [](const Result& result) { return to_console(result); }},
          {"junit",
           [](const Result& result) {
             return to_junit("suite", {{&result, ""}});
           }},
          {"junit_failure",
           [](const Result& result) {
             return to_junit("suite", {{&result, "why it failed"}});
           }},
          {"sarif",
           [](const Result& result) {
             return to_sarif(problems_of({{&result, "why"}}, kTree), kTree);
           }},
          {"code_quality",
           [](const Result& result) {
             return to_code_quality(problems_of({{&result, "why"}}, kTree));
           }},
          {"annotations",
           [](const Result& result) {
             return to_annotations(problems_of({{&result, "why"}}, kTree));
           }},
          {"html",
           [](const Result& result) {
             return to_html({{&result, {}}});
           }},
          {"json", [](const Result& result) { return to_json(result); }}};
}

std::vector<Result> results() {
  std::vector<Result> results;
  for (const auto verdict : {Verdict::clean, Verdict::leak, Verdict::inconclusive, Verdict::failure}) {
    Result plain;
    plain.verdict = verdict;
    results.push_back(plain);

    Result full = plain;
    full.target = "a<b>&\"c\" \x01\x1b[31m";
    full.reason = "because\x02";
    full.notes = {"", "note \x7f"};
    full.failure = RunFailure{.what = "died \x03", .remedy = "restart it", .output_tail = "last\nlines\x04"};
    full.seconds = 1e9;
    full.steps = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 100; ++i) {
      Finding finding;
      finding.kind = static_cast<Kind>(i % kKindCount);
      finding.bytes_per_step = 1e300;
      finding.what = "what \x05";
      finding.where = {{"file.py", 1, "function", "text \x06", FrameOwner::user}};
      full.findings.push_back(finding);
    }
    results.push_back(full);
  }
  return results;
}

bool is_clean_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char letter) { return letter == '\n' || letter == '\t' || letter >= 0x20; });
}

class ReporterConformanceTest : public testing::TestWithParam<std::size_t> {};

TEST_P(ReporterConformanceTest, WritesWholeLinesForAnyResult) {
  const auto reporter = reporters().at(GetParam());
  for (const auto& result : results()) {
    const auto text = reporter.write(result);
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.back(), '\n');
  }
}

TEST_P(ReporterConformanceTest, WritesNoControlCharacters) {
  const auto reporter = reporters().at(GetParam());
  for (const auto& result : results()) EXPECT_TRUE(is_clean_text(reporter.write(result))) << reporter.write(result);
}

INSTANTIATE_TEST_SUITE_P(All, ReporterConformanceTest, testing::Range(std::size_t{0}, reporters().size()),
                         [](const auto& info) { return reporters()[info.param].name; });

TEST(JunitConformanceTest, IsXmlForAnyResult) {
  for (const auto& result : results()) {
    pugi::xml_document document;
    const auto text = to_junit("suite", {{&result, "failed"}});
    EXPECT_TRUE(document.load_string(text.c_str()));
    // pugixml reads references to control characters, which XML 1.0 forbids.
    EXPECT_EQ(text.find("&#"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepleak
