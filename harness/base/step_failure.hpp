// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace stepleak {

/// The user's step failed: what it threw, with its own stack trace where it has one. Never a verdict.
class StepFailure : public std::runtime_error {
 public:
  explicit StepFailure(const std::string& what, std::string remedy = {})
      : std::runtime_error(what), remedy_(std::move(remedy)) {
    if (remedy_.empty() && is_out_of_memory()) {
      remedy_ =
          "memory ran out: see what is live, and make the step smaller, or raise --memory where that is the limit";
    }
  }
  [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }
  /// Whether it ran out of memory, by what torch, Python and C++ say then.
  [[nodiscard]] bool is_out_of_memory() const {
    const std::string_view text = what();
    const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
    return has("out of memory") || has("can't allocate memory") || has("bad_alloc") || has("MemoryError");
  }

 private:
  std::string remedy_;
};

/// The user interrupted the run (Ctrl-C): passes through everything up to the front door.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace stepleak
