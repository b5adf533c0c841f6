// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/base/descriptor.hpp"

namespace stepleak {

/// An anonymous file in memory that outlives its writer, closed where a program is started unless `share()`d.
class MemoryFile {
 public:
  /// Throws a failure error where there is no memory for it. `name`: for whoever looks into /proc.
  explicit MemoryFile(const char* name);

  [[nodiscard]] int descriptor() const { return file_.number(); }
  /// The program that this process becomes inherits it.
  void share() const;
  /// Writes a text that another process will read from its start. Throws a failure error where it has no room.
  void fill(std::string_view text) const;
  /// Whether it is as large as files may be (ulimit -f), so that who writes into it may have been refused more.
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] std::string text() const { return tail(size()); }
  /// The last bytes, `most` at most.
  [[nodiscard]] std::string tail(std::size_t most) const;

  /// Gives back the memory of all but the last bytes. Who writes goes on behind them; what is given back reads as
  /// zeros.
  void forget_all_but(std::size_t most) const;

 private:
  [[nodiscard]] std::size_t size() const;

  Descriptor file_;
};

}  // namespace stepleak
