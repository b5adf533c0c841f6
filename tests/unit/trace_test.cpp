// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/explain/explain.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/trace/serialise.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

Result leaking_result() {
  Result result;
  result.target = "train.py:step";
  result.verdict = Verdict::leak;
  result.steps = 274;
  result.findings = {{.kind = Kind::graph_retention, .bytes_per_step = 64, .fingerprint = "0123456789abcdef"}};
  result.findings.front().where = {{"train.py", 41, "step", "loss = f(x)", true}};
  result.trace = TraceBuilder(3).with({Counter::live_bytes}, [](auto step) { return step; }).build();
  return result;
}

TEST(SerialiseTest, ReadsWhatItWrote) {
  const auto text = to_json(leaking_result());
  EXPECT_EQ(to_json(result_from_json(text)), text);
}

TEST(SerialiseTest, TellsOfAMissingKeyAndOfAnotherSchema) {
  EXPECT_THROW((void)result_from_json("{}"), Error);
  EXPECT_THROW((void)result_from_json(R"({"schema": 99})"), Error);
  EXPECT_THROW((void)result_from_json("no json"), Error);
}

TEST(NamesTest, ReadEveryNameBack) {
  for (int i = 0; i < kKindCount; ++i) EXPECT_EQ(parse_kind(to_string(static_cast<Kind>(i))), static_cast<Kind>(i));
  for (int i = 0; i < kCounterCount; ++i) {
    EXPECT_EQ(parse_counter(to_string(static_cast<Counter>(i))), static_cast<Counter>(i));
  }
  EXPECT_FALSE(parse_kind("grwth"));
}

TEST(DeviceTest, ReadsItsNameBackAndNothingElse) {
  EXPECT_EQ(to_string(parse_device("cuda:1")), "cuda:1");
  EXPECT_EQ(to_string(parse_device("cpu")), "cpu");
  for (const auto* wrong : {"gpu", "cuda:", "cuda:-1", "cuda:1x", ""}) EXPECT_THROW((void)parse_device(wrong), Error);
}

TEST(BytesTest, FormatAndParse) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(10240), "10.0 KiB");
  EXPECT_EQ(parse_bytes("1.5GiB"), 1610612736);
  EXPECT_EQ(parse_bytes("300M"), 300 * 1024 * 1024);
  for (const auto* wrong : {"", "12Q", "-1", "lots"}) EXPECT_THROW((void)parse_bytes(wrong), Error);
}

TEST(FilesTest, KeepsTheOldFileWhereTheNewOneCannotBeWritten) {
  const auto folder = std::filesystem::temp_directory_path() / "stepleak_files_test";
  write_file(folder / "a.json", "old");
  EXPECT_EQ(read_file(folder / "a.json"), "old");
  EXPECT_THROW(write_file("/dev/full", "new"), Error);
  EXPECT_THROW(write_file(folder / "a.json" / "b.json", "new"), Error);
  EXPECT_EQ(read_file(folder / "a.json"), "old");
  std::filesystem::remove_all(folder);
}

TEST(FingerprintTest, OutlivesLinesAndFoldersAndTellsPlacesApart) {
  Finding finding{.kind = Kind::growth, .where = {{"/home/a/train.py", 41, "step"}}};
  const auto fingerprint = fingerprint_of(finding);
  finding.where = {{"/srv/b/train.py", 99, "step"}};
  EXPECT_EQ(fingerprint_of(finding), fingerprint);
  finding.where = {{"/srv/b/train.py", 99, "validate"}};
  EXPECT_NE(fingerprint_of(finding), fingerprint);
}

TEST(FixTest, MendsTheUsersOwnStatement) {
  Finding finding{.kind = Kind::graph_retention};
  finding.kept_by = "train.py:45  self.history.append(loss)";
  finding.kept_expression = "loss";
  EXPECT_EQ(fix_for(finding), "keep a number, not the tensor: self.history.append(loss.item())");
  finding.kept_by.clear();
  EXPECT_EQ(fix_for(finding), "keep a number, not the tensor");
}

TEST(ScenarioRegistryTest, NamesBothFilesOfADuplicate) {
  ScenarioRegistry registry;
  registry.add({.name = "a", .file = "one.cpp"});
  registry.add({.name = "b", .file = "two.cpp"});
  try {
    registry.add({.name = "a", .file = "three.cpp"});
    FAIL() << "took a name twice";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("one.cpp"), std::string::npos);
    EXPECT_NE(what.find("three.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepleak
