// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Pieces of work that take turns in one process, round after round, each judged on its own: what
/// `stepleak::watch_every_test()` (stepleak/every_test.hpp) does for GoogleTest, for any other runner of tests.
///
///   stepleak::Turns turns;
///   for (int round = 0; round < 64; ++round) {
///     for (auto& test : tests) {
///       turns.begin(test.name);
///       test.run();
///       turns.end();
///     }
///     turns.end_round();
///   }
///   if (turns.result("Trains").verdict == stepleak::Verdict::leak) ...
///
/// Whose a growth is: tensors, their memory and their graphs are of the piece in whose turn they were made, whoever
/// frees them. Of all else (the host heap, driver memory) the ledgers are read where a turn begins and where it ends,
/// and what its group, or the process as a whole, gives back again is nobody's. C++17 and later.

#include <cstdint>
#include <memory>
#include <string>

#include "stepleak/stepleak.hpp"

namespace stepleak {
namespace v0 {

/// All calls from one thread; not beside check() or a Watch.
class Turns {
 public:
  /// `options.target` is the name of what lies outside of all turns, one step a round. torch is not seeded. Throws
  /// Error as check() does.
  explicit Turns(const Options& options = {});
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns();

  /// What follows, with the turns in it, belongs together, as a suite with its set-up and tear-down: what a piece
  /// leaves to be given back at its end is no growth. A piece is always in the same one, or in none.
  void begin_group(const std::string& group);
  void end_group();
  /// A turn begins, which is one step of that piece. Throws Error within another turn.
  void begin(const std::string& piece);
  void end();
  /// All pieces have had their turns.
  void end_round();
  /// How many turns a piece has had.
  [[nodiscard]] std::int64_t turns_of(const std::string& piece) const;
  /// Whether its verdict stands: further turns of it are not watched.
  [[nodiscard]] bool is_decided(const std::string& piece) const;
  /// Judges what was seen of a piece, which is not watched from then on.
  [[nodiscard]] const Result& result(const std::string& piece);

 private:
  struct Parts;
  std::unique_ptr<Parts> own_;
};

}  // namespace v0

#ifndef STEPLEAK_BUILDS_ITSELF
using v0::Turns;
#endif

}  // namespace stepleak
