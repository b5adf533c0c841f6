// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "harness/trace/pass.hpp"

namespace stepleak {

/// What a session does next.
enum class Next : std::uint8_t { go_on, record, fill, stop };

/// A session's wish at a look or at the end of a pass, and what its group agreed on.
struct Move {
  Next next = Next::go_on;
  Pass pass;             ///< record, fill: the pass that begins
  bool is_leak = false;  ///< stop: as a leak, which no other rank's verdict changes
  bool is_open = false;  ///< stop: for want of steps; more of them may decide it
};

/// The ranks of one training job, which must run the same steps: whoever stops, or records, does so together.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Waits for the wishes of all ranks after the same step and returns the move that all make. Throws PeerFailure.
  [[nodiscard]] virtual Move agree(std::int64_t step, const Move& own) = 0;
  /// This rank ends early: the others shall not wait for it.
  virtual void leave(const std::string& what) noexcept = 0;
};

/// Another rank ended early, or did not answer in time; names it.
class PeerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The move that several ranks make together: where one suspects a leak, all record, with the longest pass that one of
/// them needs; a leak on one rank is the job's verdict, whatever the others would still see; else, as long as one goes
/// on or fills, all do. A pure function, the same on each.
[[nodiscard]] Move joint_move(const Move& a, const Move& b);

}  // namespace stepleak
