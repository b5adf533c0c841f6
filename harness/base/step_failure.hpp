// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace stepleak {

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
