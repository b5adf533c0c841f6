// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stepleak {

/// One line on a terminal's standard error that says how far the run is; nothing elsewhere.
class Progress {
 public:
  Progress(std::size_t total, bool is_terminal) : total_(total), is_terminal_(is_terminal) {}
  void show(std::size_t ended, const std::string& running, std::int64_t step);
  void clear();

 private:
  std::size_t total_;
  bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace stepleak
