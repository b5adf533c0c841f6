// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

/// Tells which batch it was that failed.
class BatchError : public std::runtime_error {
 public:
  BatchError(const char* what, torch::Tensor batch) : std::runtime_error(what), batch_(std::move(batch)) {}

  [[nodiscard]] std::int64_t rows() const { return batch_.size(0); }

 private:
  torch::Tensor batch_;
};

class Trainer : protected SmallTraining {
 protected:
  explicit Trainer(torch::Device device) : SmallTraining(device) {}

  /// One batch in six, at random, is refused.
  void train() {
    const auto batch = torch::rand({static_cast<std::int64_t>(4 + draws_() % 8), kWidth}, device_);
    const auto loss = model_->forward(batch).square().mean();
    if (draws_() % 6 == 0) throw BatchError("a batch out of range", batch);
    optimizer_.zero_grad();
    loss.backward();
    optimizer_.step();
  }

 private:
  std::mt19937 draws_{7};
};

class TrainerKeepingErrors : Trainer {
 public:
  explicit TrainerKeepingErrors(torch::Device device) : Trainer(device) {}

  void step() {
    try {
      train();
    } catch (const BatchError& error) {
      errors_.push_back(error);
    }
  }

 private:
  std::vector<BatchError> errors_;
};

class TrainerCountingErrors : Trainer {
 public:
  explicit TrainerCountingErrors(torch::Device device) : Trainer(device) {}

  void step() {
    try {
      train();
    } catch (const BatchError& error) {
      refused_rows_ += error.rows();
    }
  }

 private:
  std::int64_t refused_rows_ = 0;
};

const Registration kLeak{{
    .name = "cpp_exceptions_kept",
    .story = "A trainer goes on after a batch that is refused, and keeps the exception for a summary. The "
             "exception carries the batch, of random size, so the error path alone leaks.",
    .report = "pytorch/pytorch#18853",
    .file = "scenarios/cpp/exceptions_kept.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::growth},
    .lines = {"errors_.push_back(error);", "const auto batch = torch::rand("},
    .set_up = set_up_of<TrainerKeepingErrors>(),
}};

const Registration kClean{{
    .name = "cpp_exceptions_kept_clean",
    .story = "The same trainer counts what was refused, and lets the exception go.",
    .report = "pytorch/pytorch#18853",
    .file = "scenarios/cpp/exceptions_kept.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<TrainerCountingErrors>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
