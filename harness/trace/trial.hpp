// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepleak {

/// What is to be called on an expression of a statement of the user's: ".item()" on `loss`.
struct Correction {
  std::string file;
  int line = 0;
  std::string text;  ///< the statement as it is
  std::string expression;
  std::string suffix;

  bool operator==(const Correction&) const = default;
};

enum class TrialOutcome : std::uint8_t {
  ended,    ///< it is found no more
  eased,    ///< of another kind of growth the same statement is the reason still
  in_vain,  ///< it goes on
  raised,   ///< the step raised something
};
inline constexpr std::size_t kTrialOutcomeCount = static_cast<std::size_t>(TrialOutcome::raised) + 1;

/// "ended", "eased", "in vain", "raised".
[[nodiscard]] std::string_view to_string(TrialOutcome outcome);
[[nodiscard]] std::optional<TrialOutcome> parse_trial_outcome(std::string_view name);

/// What a step did with statements corrected, once it had been found to leak.
struct Trial {
  std::vector<Correction> corrections;  ///< a finding's, then what else was found to keep the same
  std::vector<std::string> statements;  ///< as they were then
  std::int64_t steps = 0;
  TrialOutcome outcome = TrialOutcome::in_vain;
  /// Raised: the exception's line. In vain: the other statement that keeps the same, where one was found.
  std::string what;
};

}  // namespace stepleak
