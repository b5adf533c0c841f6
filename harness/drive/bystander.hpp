// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <initializer_list>

namespace stepleak {

/// A process of our group that does nothing but get signals: what it gets as well was sent to the whole group, as
/// supervisors do (systemd, Slurm, `kill -- -GROUP`), and not to this process alone. The kernel does not tell. It ends
/// with this process, and has another name and no arguments: `pkill stepleak` does not mean it.
class Bystander {
 public:
  /// `signals`: those that it may be asked for. Where no process can be made, nothing was sent to all.
  explicit Bystander(std::initializer_list<int> signals);
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander();

  /// Whether it has got a signal since it was asked last, or gets it within 50 ms: who sends to each process of a group
  /// reaches one after the other. May be called in a signal's handler, in one thread at a time.
  [[nodiscard]] bool has_got(int signal) const noexcept;

 private:
  pid_t process_ = -1;
  int channel_ = -1;
};

}  // namespace stepleak
