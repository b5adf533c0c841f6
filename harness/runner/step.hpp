// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace stepleak {

/// The user's training step. run() is called once a step, always from the same thread.
/// `index` counts from 0, for callables that take the step's number.
using Step = std::function<void(std::int64_t index)>;

/// The user's step failed: what it threw, with its own stack trace where it has one. Never a verdict.
class StepFailure : public std::runtime_error {
 public:
  explicit StepFailure(const std::string& what, std::string remedy = {})
      : std::runtime_error(what), remedy_(std::move(remedy)) {}
  [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string remedy_;
};

/// The user interrupted the run (Ctrl-C): passes through everything up to the front door.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace stepleak
