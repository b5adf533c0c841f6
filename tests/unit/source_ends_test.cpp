// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

using enum StructureType;

// A trainer whose step does something with its loss; `later` in the 900th one.
std::string doing(std::string step, const std::string& later, const std::string& fields,
                  const std::string& before = "") {
  const std::string kDirect = "losses_.push_back(loss);";
  const auto at = step.find(kDirect);
  if (at != std::string::npos) step.replace(at, kDirect.size(), kDirect + "  // keeps\n");
  const std::string mark = at == std::string::npos ? "  // keeps" : "";
  return before + R"(
class Trainer {
 public:
  void step() {
    ++n_;
    auto loss = model(batch);  // made
    )" + step +
         "\n" + (later.empty() ? "" : "    if (n_ == 900) { " + later + " }\n") + R"(  }
  void keep(at::Tensor loss) { losses_.push_back(loss); })" +
         mark + R"(
  void skip(at::Tensor loss) {}
  std::vector<at::Tensor> losses_;
  int n_ = 0;
  )" + fields +
         "\n};\n";
}

constexpr auto kPhases = "enum class Phase { fill, use };\n";
constexpr auto kStates = R"(
class Trainer;
struct State { virtual void run(Trainer& trainer, at::Tensor loss) = 0; };
struct Filling : State { void run(Trainer& trainer, at::Tensor loss) override { trainer.keep(loss); } };
struct Using : State { void run(Trainer& trainer, at::Tensor loss) override {} };
)";

constexpr auto kVariants = "struct Filling { std::vector<at::Tensor> losses_; };\nstruct Using { int n = 0; };\n";
constexpr auto kVisit = R"(
    std::visit(Overloaded{[&](Filling& filling) { filling.losses_.push_back(loss); },  // keeps
                          [](Using&) {}}, state_);)";

INSTANTIATE_TEST_SUITE_P(
    ThatEndSomeDay, SourceHoldersTest,
    testing::Values(
        SourceCase{"under a flag", doing("if (!full_) keep(loss);", "full_ = true;", "bool full_ = false;"),
                   conditional, kLosses},
        SourceCase{"behind a flag", doing("if (full_) return;\nkeep(loss);", "full_ = true;", "bool full_ = false;"),
                   conditional, kLosses},
        SourceCase{"by a flag and a colon",
                   doing("full_ ? skip(loss) : keep(loss);", "full_ = true;", "bool full_ = false;"), conditional,
                   kLosses},
        SourceCase{"by a flag or",
                   doing("if (full_ || n_ < 0) skip(loss); else keep(loss);", "full_ = true;", "bool full_ = false;"),
                   conditional, kLosses},
        SourceCase{"under an atomic flag",
                   doing("if (!full_.load()) keep(loss);", "full_.store(true);", "std::atomic<bool> full_{false};"),
                   conditional, kLosses},
        SourceCase{"in a phase",
                   doing("if (phase_ == Phase::fill) keep(loss);", "phase_ = Phase::use;",
                         "Phase phase_ = Phase::fill;", kPhases),
                   conditional, kLosses},
        SourceCase{"in a case",
                   doing("switch (phase_) {\n case Phase::fill: keep(loss); break;\n case Phase::use: break;\n }",
                         "phase_ = Phase::use;", "Phase phase_ = Phase::fill;", kPhases),
                   conditional, kLosses},
        SourceCase{"by a function that another one follows",
                   doing("do_(loss);", "do_ = nullptr;",
                         "std::function<void(at::Tensor)> do_ = [this](at::Tensor x) { keep(x); };"),
                   conditional, kLosses},
        SourceCase{"by a state that another one follows",
                   doing("state_->run(*this, loss);", "state_ = std::make_unique<Using>();",
                         "std::unique_ptr<State> state_ = std::make_unique<Filling>();", kStates),
                   reset, kLosses},
        SourceCase{"in one of several states",
                   doing(kVisit, "state_ = std::move(next);", "std::variant<Filling, Using> state_;", kVariants), reset,
                   "Filling::losses_ (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"by a table of functions",
                   doing("table_[phase_](loss);", "phase_ = 1;",
                         "int phase_ = 0;\nstd::vector<std::function<void(at::Tensor)>> table_{[this](at::Tensor x) { "
                         "keep(x); }, [](at::Tensor) {}};"),
                   conditional, kLosses},
        SourceCase{"until it throws",
                   doing("try { add(loss); } catch (const Full&) {}", "full_ = true;",
                         "bool full_ = false;\nvoid add(at::Tensor x) { if (full_) throw Full(); keep(x); }"),
                   conditional, kLosses},
        SourceCase{"out of a pool",
                   doing("if (!pool_.empty()) { keep(loss); pool_.pop_back(); }", "",
                         "std::vector<int> pool_ = std::vector<int>(900);"),
                   conditional, kLosses},
        SourceCase{"while a method says so",
                   doing("if (is_filling()) keep(loss);", "", "bool is_filling() const { return n_ < 900; }"),
                   conditional, kLosses},
        SourceCase{"into what is pointed to",
                   doing("if (sink_ != nullptr) keep(loss);", "sink_ = nullptr;", "Sink* sink_ = &sink;"), conditional,
                   kLosses},
        SourceCase{"for a while",
                   doing("if (std::chrono::steady_clock::now() < end_) keep(loss);", "",
                         "std::chrono::steady_clock::time_point end_;"),
                   conditional, kLosses},
        SourceCase{"by a hook that is taken out",
                   doing("for (auto& hook : hooks_) hook(loss);", "hooks_.clear();",
                         "std::vector<std::function<void(at::Tensor)>> hooks_{[this](at::Tensor x) { keep(x); }};"),
                   conditional, kLosses},
        SourceCase{
            "where nothing is free",
            doing("for (auto& one : losses_) { if (one.use_count() == 1) return; }\nlosses_.push_back(loss);", "", ""),
            conditional, kLosses},
        SourceCase{"where nothing is found",
                   doing("const auto found = std::find_if(losses_.begin(), losses_.end(), is_free);\nif (found == "
                         "losses_.end()) losses_.push_back(loss);",
                         "", ""),
                   conditional, kLosses}));

INSTANTIATE_TEST_SUITE_P(
    ThatDoNotEnd, SourceHoldersTest,
    testing::Values(
        SourceCase{"under a flag that stays", doing("if (!full_) keep(loss);", "", "bool full_ = false;"), unbounded,
                   kLosses},
        SourceCase{"in a case that stays",
                   doing("switch (phase_) {\n case Phase::fill: keep(loss); break;\n case Phase::use: break;\n }", "",
                         "Phase phase_ = Phase::fill;", kPhases),
                   unbounded, kLosses},
        SourceCase{"in a case that comes round",
                   doing("switch (n_ % 3) {\n case 0: keep(loss); break;\n default: break;\n }", "", ""), unbounded,
                   kLosses},
        SourceCase{"by a function that stays",
                   doing("do_(loss);", "", "std::function<void(at::Tensor)> do_ = [this](at::Tensor x) { keep(x); };"),
                   unbounded, kLosses},
        SourceCase{"by a state that stays",
                   doing("state_->run(*this, loss);", "",
                         "std::unique_ptr<State> state_ = std::make_unique<Filling>();", kStates),
                   unbounded, kLosses},
        SourceCase{"by a hook that stays",
                   doing("for (auto& hook : hooks_) hook(loss);", "",
                         "std::vector<std::function<void(at::Tensor)>> hooks_{[this](at::Tensor x) { keep(x); }};"),
                   unbounded, kLosses},
        SourceCase{"in one of several states, and no other follows",
                   doing(kVisit, "", "std::variant<Filling, Using> state_;", kVariants), unbounded,
                   "Filling::losses_ (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "in a sum that begins beside another",
            doing("if (!mean_.defined()) { mean_ = loss; sum_ = loss.square(); }\nelse { mean_ = mean_ + loss;  // "
                  "keeps\nsum_ = sum_ + loss.square(); }",
                  "", "at::Tensor mean_, sum_;"),
            unbounded, "Trainer::mean_ (at::Tensor) -> Tensor"},
        SourceCase{"once all are read", doing("for (auto& one : losses_) show(one);\nlosses_.push_back(loss);", "", ""),
                   unbounded, kLosses}));

}  // namespace
}  // namespace stepleak
