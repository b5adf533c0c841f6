// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/explain/joint_result.hpp"

#include <fmt/format.h>

namespace stepleak {
namespace {

// A leak that one rank has proven is not undone by another's failure.
int badness_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return 0;
    case Verdict::inconclusive:
      return 1;
    case Verdict::failure:
      return 2;
    case Verdict::leak:
      break;
  }
  return 3;
}

}  // namespace

Result joint_result(Result own, int own_rank, const std::vector<Result>& by_rank) {
  for (auto& finding : own.findings) finding.rank = own_rank;
  int worst_rank = own_rank;
  Verdict worst = own.verdict;
  for (std::size_t i = 0; i < by_rank.size(); ++i) {
    const auto rank = static_cast<int>(i);
    const auto& result = by_rank[i];
    own.rank_verdicts.push_back(result.verdict);
    if (rank == own_rank) continue;
    for (auto finding : result.findings) {
      finding.rank = rank;
      own.findings.push_back(std::move(finding));
    }
    if (badness_of(result.verdict) <= badness_of(worst)) continue;
    worst = result.verdict;
    worst_rank = rank;
  }
  if (worst_rank == own_rank) return own;
  const auto& other = by_rank[static_cast<std::size_t>(worst_rank)];
  own.verdict = worst;
  own.reason = other.reason.empty() ? "" : fmt::format("rank {}: {}", worst_rank, other.reason);
  if (worst == Verdict::leak) own.losses = other.losses;
  if (worst == Verdict::failure) own.failure = other.failure;
  return own;
}

}  // namespace stepleak
