// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/session/peers.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// The ranks of the process group that Python's torch.distributed has initialised, through its store. Takes the GIL
/// itself; made, used and dropped without it.
class PythonPeers final : public Peers {
 public:
  /// Null where no process group of several ranks is initialised. `timeout_seconds`: how long a rank waits for another.
  [[nodiscard]] static std::unique_ptr<PythonPeers> find(double timeout_seconds);
  ~PythonPeers() override;

  [[nodiscard]] Move agree(std::int64_t step, const Move& own) override;
  void leave(const std::string& what) noexcept override;

  /// What all ranks came to: the worst verdict, and the findings of all with their ranks. Where a rank cannot be asked
  /// any more, this one's own with a note.
  [[nodiscard]] Result joined(Result own);

 private:
  struct State;
  explicit PythonPeers(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace stepleak
