// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Judges the tests that a binary has, without touching them: `--gtest_repeat=N` repeats them, and each repeat of a
/// test is one step of it.
///
///   int main(int argc, char** argv) {
///     testing::InitGoogleTest(&argc, argv);
///     stepleak::watch_every_test();
///     return RUN_ALL_TESTS();
///   }
///
/// or link stepleak::gtest_main and change no line. A test that leaks, or that no verdict was reached on, fails in its
/// last repeat with the report; the end lists what came of each. Under `--gtest_repeat=-1`, which has no last repeat,
/// it fails in the one that decides it. Without repetition nothing is watched. What a death test's child does is not.
/// docs/gtest.md says whose a growth is where tests share what they use.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "stepleak/turns.hpp"

namespace stepleak {
namespace assertion {

/// What fixtures and environments make before a run may die in one.
inline const bool is_recording = (record_cpu_tensors(), true);

/// The watch that is under way, which assertions make room for.
class EveryTest : public testing::EmptyTestEventListener {
 public:
  explicit EveryTest(Options options) : options_(std::move(options)) {}

  [[nodiscard]] static EveryTest*& under_way() {
    static EveryTest* watch = nullptr;
    return watch;
  }

  /// For runs that repeat for another reason there is STEPLEAK_EVERY_TEST=0.
  [[nodiscard]] static bool is_wanted() {
    const char* wish = std::getenv("STEPLEAK_EVERY_TEST");
    return wish == nullptr || std::string(wish) != "0";
  }

  /// The running test leaks on purpose.
  void expect_leak() {
    if (auto* outcome = running()) outcome->expects_leak = true;
  }

  void OnTestProgramStart(const testing::UnitTest& /*program*/) override {
    repeats_ = testing::GTEST_FLAG(repeat);
    if (repeats_ == 0 || repeats_ == 1 || !is_wanted()) return;
    // Fewer repeats than a verdict takes end each run early, and are no reason for a weaker verdict.
    if (repeats_ >= needed()) options_.steps = repeats_;
    options_.target = kOutside;
    try {
      turns_ = std::make_unique<Turns>(options_);
      under_way() = this;
    } catch (const Error& error) {
      failure_ = std::string("stepleak: ") + error.what() + "; " + error.remedy();
    }
  }

  void OnTestIterationStart(const testing::UnitTest& /*program*/, int iteration) override { iteration_ = iteration; }

  void OnTestSuiteStart(const testing::TestSuite& suite) override {
    if (turns_) turns_->begin_group(suite.name());
  }

  void OnTestSuiteEnd(const testing::TestSuite& /*suite*/) override {
    if (turns_) turns_->end_group();
  }

  void OnTestStart(const testing::TestInfo& test) override {
    if (turns_) turns_->begin(name_of(test));
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    if (!turns_) return;
    turns_->end();
    auto& outcome = outcomes_[name_of(test)];
    if (test.result()->Skipped()) ++outcome.skips;
    if (is_due(name_of(test))) conclude(name_of(test), outcome);
  }

  void OnTestIterationEnd(const testing::UnitTest& /*program*/, int /*iteration*/) override {
    if (!failure_.empty()) ADD_FAILURE() << failure_;
    if (!turns_) return;
    turns_->end_round();
    if (is_due(kOutside)) conclude_outside();
    if (repeats_ < 0) tell_end_of_watch();
  }

  void OnTestProgramEnd(const testing::UnitTest& /*program*/) override {
    if (!turns_) return;
    print_outcomes();
    under_way() = nullptr;
    turns_.reset();
  }

 private:
  static constexpr const char* kOutside = "outside of the tests";

  struct Outcome {
    std::string word = "not judged";  // as a person reads it
    std::string note;
    int skips = 0;
    bool expects_leak = false;
  };

  static std::string name_of(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
  }
  [[nodiscard]] int needed() const { return options_.effort == "quick" ? 16 : options_.effort == "nightly" ? 512 : 64; }
  // Steps in which the most is decided that may be.
  [[nodiscard]] int budget() const {
    return options_.effort == "quick" ? 256 : options_.effort == "nightly" ? 8192 : 1024;
  }
  /// Whether its verdict is told now, which is done once. Without a last repeat: as soon as it stands.
  [[nodiscard]] bool is_due(const std::string& name) {
    if (repeats_ > 0) return iteration_ + 1 == repeats_;
    return turns_->is_decided(name) && told_.insert(name).second;
  }
  /// Such a run goes on for ever: says once that there is no more to wait for.
  void tell_end_of_watch() {
    // What lies outside is one of those told.
    if (is_over_ || told_.size() <= outcomes_.size() - outcomes_.count(kOutside)) return;
    is_over_ = true;
    print_outcomes();
  }
  [[nodiscard]] Outcome* running() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return test == nullptr ? nullptr : &outcomes_[name_of(*test)];
  }

  void conclude(const std::string& name, Outcome& outcome) {
    if (outcome.expects_leak) {
      outcome.note = "  (it expects a leak)";
    } else if (outcome.skips == turns_->turns_of(name)) {
      outcome.note = "  (skipped)";
    } else {
      const auto& result = turns_->result(name);
      outcome.word = to_string(result.verdict);
      if (!result.is_clean()) ADD_FAILURE() << "\n" << result.report << remedy(name, result) << device_note(result);
    }
  }

  // Set-up and tear-down of suites and environments, and what tests have left there.
  void conclude_outside() {
    const auto& result = turns_->result(kOutside);
    if (result.verdict != Verdict::leak) return;
    outcomes_[kOutside].word = to_string(result.verdict);
    ADD_FAILURE() << "\nSetUpTestSuite, TearDownTestSuite, an environment or a listener keeps memory:\n"
                  << result.report << device_note(result);
  }

  [[nodiscard]] std::string remedy(const std::string& name, const Result& result) const {
    if (repeats_ > 0 && repeats_ < needed()) {
      return "  (one repeat is one step: run it with --gtest_repeat=" + std::to_string(needed()) + ")\n";
    }
    const int seen = repeats_ > 0 ? repeats_ : static_cast<int>(turns_->turns_of(name));
    const int longer = seen < budget() ? budget() : 4 * seen;
    const int more = result.verdict == Verdict::inconclusive ? longer : seen;
    return "  (alone: --gtest_filter=" + name + " --gtest_repeat=" + std::to_string(more) + ")\n";
  }
  static std::string device_note(const Result& result) {
    return result.device == "cpu" ? "  (no GPU was watched: CPU memory was judged)\n" : "";
  }

  void print_outcomes() const {
    std::printf("[ stepleak ] %s\n", headline().c_str());
    for (const auto& entry : outcomes_) {
      std::printf("[ %-12s ] %s%s\n", entry.second.word.c_str(), entry.first.c_str(), entry.second.note.c_str());
    }
    std::fflush(stdout);
  }
  [[nodiscard]] std::string headline() const {
    std::map<std::string, int> counts;
    for (const auto& entry : outcomes_) ++counts[entry.second.word];
    auto text = std::to_string(iteration_ + 1) + " repeats";
    for (const auto& entry : counts) text += ", " + std::to_string(entry.second) + " " + entry.first;
    return text;
  }

  Options options_;
  int repeats_ = 1;
  int iteration_ = 0;
  std::string failure_;
  std::map<std::string, Outcome> outcomes_;
  std::set<std::string> told_;  // without a last repeat
  bool is_over_ = false;
  std::unique_ptr<Turns> turns_;
};

}  // namespace assertion

/// Call it once, in main(), after InitGoogleTest(). `options.steps` is what --gtest_repeat says.
inline void watch_every_test(const Options& options = {}) {
  testing::UnitTest::GetInstance()->listeners().Append(new assertion::EveryTest(options));
}

}  // namespace stepleak
