// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr std::int64_t kStepsOfPage = 16;

class Evaluation : protected SmallTraining {
 protected:
  explicit Evaluation(torch::Device device) : SmallTraining(device) {}

  void write_outputs() {
    const torch::NoGradGuard no_grad;
    const auto outputs = model_->forward(torch::rand({kBatch, kWidth}, device_)).cpu().flatten();
    for (std::int64_t i = 0; i < outputs.numel(); ++i) text_ << outputs[i].item<float>() << '\n';
  }

  std::ostringstream text_;
};

class EvaluationThatWritesOn : Evaluation {
 public:
  explicit EvaluationThatWritesOn(torch::Device device) : Evaluation(device) {}

  void step() { write_outputs(); }
};

class EvaluationOfPages : Evaluation {
 public:
  explicit EvaluationOfPages(torch::Device device) : Evaluation(device) {}

  void step() {
    write_outputs();
    if (++steps_done_ % kStepsOfPage == 0) text_.str({});
  }

 private:
  std::int64_t steps_done_ = 0;
};

const Registration kLeak{{
    .name = "cpp_text_log_in_memory",
    .story =
        "An evaluation writes its outputs into a stream of text that nobody empties, some 2 KiB a step. The stream's "
        "buffer doubles whenever it is full: host memory stands still for ever longer, and then rises by ever more.",
    .report = "hatchet-dev/hatchet#4432",
    .file = "scenarios/cpp/text_log_in_memory.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::host_heap},
    .lines = {"text_ << outputs[i].item<float>()"},
    .set_up = set_up_of<EvaluationThatWritesOn>(),
}};

const Registration kClean{{
    .name = "cpp_text_log_in_memory_clean",
    .story = "The same stream is emptied after every 16 steps.",
    .report = "hatchet-dev/hatchet#4432",
    .file = "scenarios/cpp/text_log_in_memory.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<EvaluationOfPages>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
