// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace stepleak {

/// The exit codes of every front door; CI scripts rely on them.
enum class ExitCode {
  clean = 0,         ///< every target is clean, or the same as its baseline
  leak = 1,          ///< a leak, or worse than the baseline
  inconclusive = 2,  ///< no verdict could be reached; the reason is in the report
  failure = 3,       ///< the harness or the step failed; never a verdict
  wrong_use = 64,    ///< the command line, a file or a name given by the user is wrong
};

/// What went wrong, where, and how to fix it, with the exit code that a front door ends with.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what, std::string remedy = {})
      : std::runtime_error(what), code_(code), remedy_(std::move(remedy)) {}

  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  /// One sentence on what to do; may be empty.
  [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }

 private:
  ExitCode code_;
  std::string remedy_;
};

/// The user's input is wrong: exit code 64.
[[nodiscard]] inline Error usage_error(const std::string& what, std::string remedy = {}) {
  return {ExitCode::wrong_use, what, std::move(remedy)};
}

/// The harness or its surroundings failed: exit code 3.
[[nodiscard]] inline Error failure_error(const std::string& what, std::string remedy = {}) {
  return {ExitCode::failure, what, std::move(remedy)};
}

/// The remedy of a file that is larger than files may be (EFBIG); those in memory are meant, too.
inline constexpr const char* kLargerFiles = "let files be larger: ulimit -f says how large they may be";

[[noreturn]] void fail_precondition(const char* condition, const char* file, int line);

}  // namespace stepleak

/// A programmer error: prints the condition with its place and aborts.
#define STEPLEAK_EXPECTS(condition) \
  ((condition) ? void() : ::stepleak::fail_precondition(#condition, __FILE__, __LINE__))
