// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "harness/base/shared_mapping.hpp"

namespace stepleak {

/// A forked process that leaves nothing behind. A keeper stands between it and this process: what the process started
/// (also in a session of its own) falls to the keeper when it ends, and ends with it. So does all of it when
/// this process dies, however it dies.
///
/// For a process with one thread. Not to be used from two threads.
class KeptProcess {
 public:
  /// Forks. `body` runs in the new process, in a process group of its own, with the signal mask of the caller; where it
  /// returns the process exits with 0. Throws a failure error where there is no further process.
  explicit KeptProcess(const std::function<void()>& body);
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;
  ~KeptProcess();

  /// To the process alone; before it is there, nothing happens.
  void send(int signal) const;
  /// To the process and its group.
  void send_to_group(int signal) const;
  /// Ends the process and all that it started.
  void end() const;
  /// As waitpid() gives it, once the process and all that it started are gone; nothing until then.
  [[nodiscard]] std::optional<int> status();
  /// Why no process could be forked; 0: it could.
  [[nodiscard]] int error() const;

 private:
  struct Shared;

  SharedMapping memory_;
  Shared* shared_;
  pid_t keeper_ = -1;
};

}  // namespace stepleak
