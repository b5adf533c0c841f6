// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <sstream>

#include "harness/report/console.hpp"
#include "harness/report/html.hpp"
#include "harness/report/html_values.hpp"
#include "harness/report/junit.hpp"

namespace stepleak {
namespace {

Result result_of(Verdict verdict) {
  Result result;
  result.target = "train.py:step";
  result.verdict = verdict;
  result.steps = 274;
  if (verdict == Verdict::leak) {
    result.findings = {{.kind = Kind::graph_retention, .bytes_per_step = 10240, .what = "9 autograd nodes survive"}};
    result.findings.front().where = {{"train.py", 41, "step", "loss = f(x)", FrameOwner::user}};
  }
  if (verdict == Verdict::failure)
    result.failure =
        RunFailure{.what = "killed by SIGSEGV in step 17", .remedy = "debug it", .output_tail = "last \x01 words"};
  return result;
}

TEST(ConsoleTest, SaysCleanInOneLine) {
  const auto text = to_console(result_of(Verdict::clean));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("train.py:step is clean on cpu"), std::string::npos) << text;
}

TEST(ConsoleTest, SaysInTheLimitWhatIsDeclared) {
  auto result = result_of(Verdict::clean);
  const auto declared_at = [](int line, std::int64_t length) {
    return DeclaredBound{"list", length, {StructureType::declared, 500, "agent.py", line, "bounded([], 500)"}};
  };
  result.declared = {declared_at(7, 64)};
  EXPECT_NE(to_console(result).find("; declared: at most 500 in a list (agent.py:7), which holds 64\n"),
            std::string::npos)
      << to_console(result);
  result.declared = {declared_at(1, 4), declared_at(2, 3), declared_at(3, 2), declared_at(4, 1), declared_at(5, 1)};
  EXPECT_NE(to_console(result).find("(agent.py:3), which holds 2, and 2 more\n"), std::string::npos)
      << to_console(result);
}

TEST(ConsoleTest, BreaksATableBetweenWordsBelowItsFirst) {
  EXPECT_EQ(hanging_text("  host heap   ", "yes: as malloc has it, exact", 34),
            "  host heap   yes: as malloc has\n              it, exact\n");
  EXPECT_EQ(hanging_text("  host heap   ", "yes: as malloc has it, exact", 0),
            "  host heap   yes: as malloc has it, exact\n");
  EXPECT_EQ(hanging_text("  ", "", 34), "  \n");
}

TEST(ConsoleTest, LeadsFromALeakToItsLine) {
  const auto text = to_console(result_of(Verdict::leak));
  EXPECT_NE(text.find("train.py:step leaks at least 10.0 KiB/step on cpu · graph_retention"), std::string::npos)
      << text;
  EXPECT_NE(text.find("train.py:41 in step      loss = f(x)"), std::string::npos) << text;
}

TEST(ConsoleTest, ShowsALibraryInOneLineBehindTheUsersFrames) {
  auto result = result_of(Verdict::leak);
  auto& where = result.findings.front().where;
  for (const int line : {42, 43, 44, 45}) where.push_back({"train.py", line, "outer", "", FrameOwner::user});
  where.push_back({"cache.py", 7, "update", "", FrameOwner::library, 3});
  const auto text = to_console(result);
  EXPECT_NE(text.find("train.py:44 in outer\n          through cache.py:7 in update      (+3 library frames)\n"),
            std::string::npos)
      << text;
  where = {{"cache.py", 7, "update", "", FrameOwner::library}};
  EXPECT_NE(to_console(result).find("  where   cache.py:7 in update\n"), std::string::npos) << to_console(result);
}

TEST(ConsoleTest, ColoursOnlyWhenAskedTo) {
  EXPECT_EQ(to_console(result_of(Verdict::leak)).find('\x1b'), std::string::npos);
  EXPECT_NE(to_console(result_of(Verdict::leak), {.use_colours = true}).find('\x1b'), std::string::npos);
}

TEST(ConsoleTest, UnderlinesTheSourceLineAndNothingElse) {
  auto result = result_of(Verdict::leak);
  result.findings.front().kept_by = {"train.py", 43, "kept.append(loss)", "loss"};
  const auto text = to_console(result, {.use_colours = true});
  EXPECT_NE(text.find("train.py:41 in step      \x1b[4mloss = f(x)\x1b[0m\n"), std::string::npos) << text;
  EXPECT_NE(text.find("train.py:43  \x1b[4mkept.append(loss)\x1b[0m\n"), std::string::npos) << text;
  EXPECT_EQ(to_console(result).find('\x1b'), std::string::npos);
}

TEST(ConsoleTest, UnderlinesASourceLineOverSeveralRows) {
  auto result = result_of(Verdict::leak);
  result.findings.front().where.front().text = "loss = function_of(x, y)";
  const auto text = to_console(result, {.use_colours = true, .columns = 30});
  EXPECT_NE(text.find("\x1b[4mloss =\x1b[0m\n          \x1b[4mfunction_of(x, y)\x1b[0m\n"), std::string::npos) << text;
}

TEST(ConsoleTest, BreaksLinesOfANarrowTerminalBetweenWordsOnly) {
  auto result = result_of(Verdict::leak);
  const std::string path = "/a/path/that/is/longer/than/all/of/the/terminal/train.py";
  result.findings.front().where.front().file = path;
  const auto text = to_console(result, {.columns = 40});
  EXPECT_NE(text.find(path + ":41"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(path) != std::string::npos) continue;
    EXPECT_LE(line.size(), 42U) << line;  // "·" is two bytes
  }
  std::string words = to_console(result);
  std::string broken = text;
  for (auto* each : {&words, &broken}) std::erase_if(*each, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_EQ(words, broken) << "a word is lost, or twice there";
}

TEST(ConsoleTest, LeavesLinesThatFitAsTheyAre) {
  const auto result = result_of(Verdict::failure);
  EXPECT_EQ(to_console(result, {.columns = 200}), to_console(result));
}

TEST(JunitTest, TellsFailuresFromErrorsAndReplacesControlCharacters) {
  const auto clean = result_of(Verdict::clean);
  const auto leak = result_of(Verdict::leak);
  const auto failure = result_of(Verdict::failure);
  const auto text = to_junit("suite", {{&clean, ""}, {&leak, "leaks"}, {&failure, "died"}});
  EXPECT_NE(text.find(R"(tests="3" failures="1" errors="1")"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST(HtmlTest, DrawsAShortLedgerByAllItsTurns) {
  Ledger ledger{{Counter::live_bytes}};
  const std::vector<std::int64_t> values{5, 5, 5, 7, 7, 5};
  for (std::size_t i = 0; i < values.size(); ++i) ledger.add(static_cast<std::int64_t>(i) + 1, values[i]);
  const std::vector<Point> turns{{1, 5}, {3, 5}, {4, 7}, {5, 7}, {6, 5}};
  EXPECT_EQ(drawn_points(ledger, 100), turns);
}

TEST(HtmlTest, LosesNoPeakOfALongLedger) {
  Ledger ledger{{Counter::live_bytes}};
  for (std::int64_t step = 1; step <= 10000; ++step) ledger.add(step, step == 7777 ? 1000000 : step % 10);
  const auto points = drawn_points(ledger, 200);
  EXPECT_LE(points.size(), 200U);
  EXPECT_NE(std::find(points.begin(), points.end(), Point(7777, 1000000)), points.end());
  EXPECT_EQ(points.front(), Point(1, 1));
  EXPECT_EQ(points.back(), Point(10000, 0));
}

TEST(HtmlTest, DrawsInATableTheLedgerInWhichTheLeakShows) {
  const Device gpu{DeviceType::cuda, 0};
  auto result = result_of(Verdict::leak);
  result.trace = Trace({}, {{Counter::heap_bytes}, {Counter::live_bytes}, {Counter::live_bytes, gpu}});
  result.trace.add_boundary(std::vector<std::int64_t>{1, 2, 3});
  result.device = gpu;
  const auto is_told = [&](Kind kind, Device device, const std::string& name) {
    result.findings.front().kind = kind;
    result.findings.front().device = device;
    return to_html({{&result, {}}}).find("\"telling\":\"" + name + "\"") != std::string::npos;
  };
  EXPECT_TRUE(is_told(Kind::growth, gpu, "live_bytes@cuda:0"));
  EXPECT_TRUE(is_told(Kind::growth, kHost, "live_bytes@cpu"));
  EXPECT_TRUE(is_told(Kind::host_heap, kHost, "heap_bytes@cpu"));
  EXPECT_TRUE(is_told(Kind::raw_cuda, gpu, "live_bytes@cuda:0"));  // what is outside was not read
  result.findings.clear();
  EXPECT_NE(to_html({{&result, {}}}).find("\"telling\":\"live_bytes@cuda:0\""), std::string::npos);
}

TEST(HtmlTest, EscapesWhatItShows) {
  auto result = result_of(Verdict::leak);
  result.target = "</script><b>";
  const auto page = to_html({{&result, {}}});
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;/script&gt;&lt;b&gt;"), std::string::npos);
}

}  // namespace
}  // namespace stepleak
