// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

using enum StructureType;

const std::string kOfHistory = "History::losses_ (std::vector<at::Tensor>) -> Tensor";
const std::string kEachCallback = "for (const auto& callback : callbacks_) callback(1, output);";
const std::string kAdding = "trainer.on_step([&history](int, const Output& out) { history.add(out.loss); });";

// A trainer whose step calls what was put into it elsewhere: `calling` in the step, `registering` before it.
std::string trainer_of_callbacks(const std::string& calling, const std::string& registering) {
  return R"(
struct Output { at::Tensor loss; };
class History {
 public:
  void add(const at::Tensor& loss) {
    losses_.push_back(loss);  // keeps
  }
  std::vector<at::Tensor> losses_;
};
using Callback = std::function<void(int, const Output&)>;
class Trainer {
 public:
  void on_step(Callback callback) { callbacks_.push_back(std::move(callback)); }
  void on_epoch(std::function<void()> callback) { on_epoch_ = std::move(callback); }
  void name(const std::string& name, Callback callback) { named_[name] = std::move(callback); }
  void step() {
    Output output;
    output.loss = model(batch);  // made
    )" + calling +
         R"(
  }
  int seen_ = 0;
  std::vector<Callback> callbacks_;
  std::map<std::string, Callback> named_;
  std::function<void()> on_epoch_;
};
void log_step(int, const Output& out) { kHistory.add(out.loss); }
History kHistory;
void install(Trainer& trainer, History& history) {
  )" + registering +
         "\n}\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfCallbacks, SourceHoldersTest,
    testing::Values(
        SourceCase{"in a list", trainer_of_callbacks(kEachCallback, kAdding), unbounded, kOfHistory, -1, false, true},
        SourceCase{"copied from a list", trainer_of_callbacks("for (auto one : callbacks_) one(1, output);", kAdding),
                   unbounded, kOfHistory, -1, false, true},
        SourceCase{"called with another type",
                   trainer_of_callbacks(kEachCallback,
                                        "on_loss([&history](int, const at::Tensor& out) { history.add(out); });"),
                   unknown, "", -1, false, true},
        SourceCase{"called with fewer",
                   trainer_of_callbacks(kEachCallback, "on([&history](const Output& out) { history.add(out.loss); });"),
                   unknown, "", -1, false, true},
        SourceCase{"of any type",
                   trainer_of_callbacks(kEachCallback,
                                        "trainer.on_step([&](auto, auto& out) { history.add(out.loss); "
                                        "});"),
                   unbounded, kOfHistory, -1, false, true},
        SourceCase{"by name in a map", trainer_of_callbacks("named_[\"loss\"](1, output);", kAdding), unbounded,
                   kOfHistory, -1, false, true},
        SourceCase{"a function by its name", trainer_of_callbacks(kEachCallback, "trainer.on_step(log_step);"),
                   unbounded, kOfHistory, -1, false, true},
        SourceCase{"a function that nobody hands on", trainer_of_callbacks(kEachCallback, ""), unknown, "", -1, false,
                   true},
        SourceCase{"called under a test", trainer_of_callbacks("if (seen_++ < 100) " + kEachCallback, kAdding),
                   conditional, kOfHistory, -1, false, true},
        SourceCase{"cleared by another one",
                   trainer_of_callbacks(kEachCallback + " on_epoch_();",
                                        kAdding + "\n  trainer.on_epoch([&history] { history.losses_.clear(); });"),
                   reset, kOfHistory, -1, false, true},
        SourceCase{"cleared by one that is not called",
                   trainer_of_callbacks(kEachCallback,
                                        kAdding + "\n  trainer.on_epoch([&history] { history.losses_.clear(); });"),
                   uncalled, kOfHistory, -1, false, true}));

const std::string kKept = "local kept (std::vector<at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfNamedLambdas, SourceHoldersTest,
    testing::Values(SourceCase{"by the name of a variable",
                               test_with("std::vector<at::Tensor> kept;\nauto record = [&](const at::Tensor& x) {\n"
                                         "  kept.push_back(x);  // keeps\n};",
                                         "auto loss = model(x);\nrecord(loss);"),
                               unbounded, kKept, -1, true, true},
                    SourceCase{"that takes a number",
                               test_with("std::vector<float> kept;\nauto record = [&](float x) { kept.push_back(x); };",
                                         "auto loss = model(x);\nrecord(loss.item<float>());"),
                               unknown, "", -1, true, true},
                    SourceCase{
                        "given to a function of ours by another one, too",
                        "template <typename F>\nvoid each(const at::Tensor& x, F&& run) { run(x); }\n"
                        "std::vector<at::Tensor> others;\nvoid elsewhere() { each(x, [&](const at::Tensor& one) { "
                        "others.push_back(one); }); }\n" +
                            test_with("std::vector<at::Tensor> kept;",
                                      "auto loss = model(x);\neach(loss, [&](const at::Tensor& one) {\n"
                                      "  kept.push_back(one);  // keeps\n});"),
                        unbounded, kKept, -1, true, true},
                    SourceCase{"given to a function of ours",
                               "template <typename F>\nvoid each(const at::Tensor& x, F&& run) { run(x); }\n" +
                                   test_with("std::vector<at::Tensor> kept;",
                                             "auto loss = model(x);\neach(loss, [&](const at::Tensor& one) {\n"
                                             "  kept.push_back(one);  // keeps\n});"),
                               unbounded, kKept, -1, true, true}));

}  // namespace
}  // namespace stepleak
