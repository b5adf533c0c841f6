// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What CI systems are told of a result, and at which line.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/report/annotations.hpp"
#include "harness/report/code_quality.hpp"
#include "harness/report/sarif.hpp"

namespace stepleak {
namespace {

const SourceTree kTree{"/tree", "/tree/below"};

Result leak_at(const std::string& file) {
  Result result;
  result.target = "loss_sum_attached";
  result.verdict = Verdict::leak;
  result.findings = {{.kind = Kind::graph_retention, .what = "9 nodes survive", .fix = "keep a number"}};
  result.findings.front().where = {{file, 41, "step", "loss = f(x)", FrameOwner::user}};
  result.findings.front().fingerprint = "0123456789abcdef";
  return result;
}

Result without_verdict(const std::string& target) {
  Result result;
  result.target = target;
  result.verdict = Verdict::inconclusive;
  return result;
}

std::vector<Problem> problems_in(const Result& result) { return problems_of({{&result, "why"}}, kTree); }

nlohmann::json sarif_run(const Result& result) {
  return nlohmann::json::parse(to_sarif(problems_in(result), kTree)).at("runs").at(0);
}

TEST(ProblemsTest, LeavesOutWhatDoesNotFailTheBuild) {
  const auto result = leak_at("train.py");
  EXPECT_TRUE(problems_of({{&result, ""}}, kTree).empty());
  EXPECT_EQ(problems_of({{&result, "leaks"}}, kTree).size(), 1U);
}

TEST(ProblemsTest, LeaveOutTheFindingsThatAreLetBe) {
  auto result = leak_at("train.py");
  result.findings.push_back(result.findings.front());
  const auto problems_of_known = [&](const std::vector<bool>& known) {
    return problems_of({{&result, "leaks", known}}, kTree);
  };
  EXPECT_EQ(problems_of_known({}).size(), 2U);
  ASSERT_EQ(problems_of_known({true, false}).size(), 1U);
  EXPECT_EQ(problems_of_known({true, false}).front().finding, &result.findings.back());
  // It fails all the same, for another reason.
  ASSERT_EQ(problems_of_known({true, true}).size(), 1U);
  EXPECT_EQ(problems_of_known({true, true}).front().finding, nullptr);
}

TEST(ProblemsTest, NameFilesFromTheRootOfTheTreeOn) {
  for (const auto* file : {"train.py", "/tree/below/train.py", "../below/train.py"}) {
    const auto result = leak_at(file);
    const auto place = problems_in(result).front().place;
    ASSERT_TRUE(place);
    EXPECT_EQ(place->file, "below/train.py") << file;
    EXPECT_TRUE(place->is_below);
    EXPECT_EQ(place->line, 41);
  }
  const auto outside = leak_at("/tree2/train.py");
  EXPECT_EQ(problems_in(outside).front().place->file, "/tree2/train.py");
  EXPECT_FALSE(problems_in(outside).front().place->is_below);
}

TEST(ProblemsTest, TakeTheStatementThatKeepsBeforeTheLineThatMakes) {
  auto result = leak_at("train.py");
  result.findings.front().kept_by = {"train.py", 45, "history.append(loss)", "loss"};
  EXPECT_EQ(problems_in(result).front().place->line, 45);
  // Not where it lies outside of the repository: nobody can change it there.
  result.findings.front().kept_by.file = "/elsewhere/trainer.py";
  EXPECT_EQ(problems_in(result).front().place->line, 41);
}

TEST(ProblemsTest, FallBackToTheFileThatTheTargetNames) {
  auto result = leak_at("/site-packages/trainer.py");
  result.findings.front().where.front().owner = FrameOwner::library;
  EXPECT_FALSE(problems_in(result).front().place) << "a scenario's name names no file";
  result.target = "sub/train.py:step";
  EXPECT_EQ(problems_in(result).front().place->file, "below/sub/train.py");
  for (const auto* target : {"-m package.train", "train.pyc", "<string>.py"}) {
    EXPECT_FALSE(problems_in(without_verdict(target)).front().place) << target;
  }
}

TEST(SarifTest, TellsOfWhatHasNoPlaceAsOfTheRun) {
  const auto with = sarif_run(without_verdict("train.py:step"));
  EXPECT_EQ(with.at("results").size(), 1U);
  EXPECT_FALSE(with.at("invocations").at(0).contains("toolExecutionNotifications"));
  const auto without = sarif_run(without_verdict("scenario"));
  EXPECT_TRUE(without.at("results").empty());
  EXPECT_EQ(without.at("invocations").at(0).at("toolExecutionNotifications").at(0).at("level"), "warning");
}

TEST(SarifTest, WritesUrisOfAnyPath) {
  const auto uri_of = [](const std::string& file) {
    return sarif_run(leak_at(file))
        .at("results")
        .at(0)
        .at("locations")
        .at(0)
        .at("physicalLocation")
        .at("artifactLocation");
  };
  EXPECT_EQ(uri_of("/tree/a b:c%\xff.py").at("uri"), "a%20b%3Ac%25%FF.py");
  EXPECT_EQ(uri_of("/tree/a b:c%\xff.py").at("uriBaseId"), "SRCROOT");
  EXPECT_EQ(uri_of("/elsewhere/a.py").at("uri"), "file:///elsewhere/a.py");
  EXPECT_FALSE(uri_of("/elsewhere/a.py").contains("uriBaseId"));
}

TEST(CodeQualityTest, KnowsFilesOfTheRepositoryOnly) {
  const auto issues = nlohmann::json::parse(to_code_quality(problems_in(leak_at("train.py"))));
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_EQ(issues[0].at("location").at("path"), "below/train.py");
  EXPECT_EQ(issues[0].at("location").at("lines").at("begin"), 41);
  EXPECT_EQ(issues[0].at("severity"), "major");
  EXPECT_EQ(to_code_quality(problems_in(leak_at("/elsewhere/train.py"))), "[]\n");
}

TEST(CodeQualityTest, KeepsTheFingerprintOfALeakThatMoved) {
  const auto fingerprint_of = [](const Result& result) {
    return nlohmann::json::parse(to_code_quality(problems_in(result))).at(0).at("fingerprint").get<std::string>();
  };
  auto result = leak_at("train.py");
  const auto before = fingerprint_of(result);
  result.findings.front().where.front().line = 77;
  EXPECT_EQ(fingerprint_of(result), before);
  result.target = "another";
  EXPECT_NE(fingerprint_of(result), before);
}

TEST(AnnotationsTest, EscapeAsGitHubDefines) {
  auto result = leak_at("/tree/a,b:c%.py");
  result.findings.front().what = "50 %\n::error::forged\r";
  const auto text = to_annotations(problems_in(result));
  EXPECT_TRUE(text.starts_with("::error file=a%2Cb%3Ac%25.py,line=41,title=stepleak graph_retention::")) << text;
  EXPECT_NE(text.find("50 %25%0A::error::forged?"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(AnnotationsTest, WarnOfWhatHasNoVerdictAndNameNoFileOutside) {
  EXPECT_TRUE(to_annotations(problems_in(without_verdict("scenario"))).starts_with("::warning title="));
  EXPECT_TRUE(to_annotations(problems_in(leak_at("/elsewhere/a.py"))).starts_with("::error title="));
}

}  // namespace
}  // namespace stepleak
