// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/analyse/trends.hpp"
#include "harness/trace/policy.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// What the judge says at a look.
struct Decision {
  enum class Next : std::uint8_t { more_steps, clean, leak, inconclusive };
  Next next = Next::more_steps;
  bool needs_proof = false;  ///< leak: too soon to call it one by its trend alone
  std::string reason;        ///< inconclusive, and more_steps where clean was possible: what has not settled, and how
  Limit limit;
};

/// Decides from the trends of all ledgers over the judged steps. A pure function.
/// Clean: from policy.clean_steps on, when every exact ledger is flat and the host heap is below its floor.
/// Leak: from policy.leak_steps on, when an exact ledger grows and its cohorts agree, or the host heap grows; from
/// policy.proof_steps on, when either grows and a record pass proves it.
/// Inconclusive: the budget is used up.
[[nodiscard]] Decision decide(const Trace& trace, const Trends& trends, const Policy& policy);

/// Settled level of each exact ledger: its minimum over the last quarter of the judged steps. Of Python objects only
/// where no record pass has moved it.
[[nodiscard]] std::map<std::string, std::int64_t> steady_levels(const Trace& trace, StepRange judged);

/// Keeps of several findings those that explain something which none before them explains.
[[nodiscard]] std::vector<Finding> narrowed(const std::vector<Finding>& findings);

}  // namespace stepleak
