// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/api/options.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// Watches pieces of work that take turns in one process, round after round: each is judged by a run of its own, whose
/// steps are its turns. What lies outside of them is one more piece, whose step is a round.
///
///   Turns turns({.target = "outside"});
///   for (int round = 0; round < 64; ++round) {
///     for (auto& test : tests) { turns.begin(test.name); test.run(); turns.end(); }
///     turns.end_round();
///   }
///   turns.result("TrainerTest.Trains");
///
/// For C++ only: Python's objects are not watched. All calls from one thread; not beside a check() or a watch.
class Turns {
 public:
  /// Throws usage errors for wrong options, failure errors where the device is not visible. Generators keep their
  /// seeds.
  explicit Turns(const Options& options);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns();

  /// What follows, with the turns in it, belongs together, as a suite with its set-up and tear-down: what a piece
  /// leaves to be given back at its end is no growth. A piece is always in the same one, or in none.
  void begin_group(const std::string& group);
  void end_group();
  /// A turn begins; pieces are known by their names. Not within another's.
  void begin(const std::string& piece);
  void end();
  void end_round();
  /// How many turns a piece has had.
  [[nodiscard]] std::int64_t turns_of(const std::string& piece) const;
  /// Whether its run has ended by itself, or by result().
  [[nodiscard]] bool is_decided(const std::string& piece) const;
  /// Ends the piece's run and judges it; its later turns are not watched. Of what lies outside by options.target.
  [[nodiscard]] const Result& result(const std::string& piece);

 private:
  struct Parts;
  std::unique_ptr<Parts> own_;
};

}  // namespace stepleak
