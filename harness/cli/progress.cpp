// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/progress.hpp"

#include <cinttypes>
#include <cstdio>

#include "harness/base/text.hpp"

namespace stepleak {

void Progress::show(std::size_t ended, const std::string& running, std::int64_t step) {
  if (!is_terminal_) return;
  std::fprintf(stderr, "\r\x1b[K%zu of %zu done · %s · step %" PRId64, ended, total_, printable_line(running).c_str(),
               step);
  std::fflush(stderr);
  is_shown_ = true;
}

void Progress::clear() {
  if (is_shown_) std::fprintf(stderr, "\r\x1b[K");
  is_shown_ = false;
}

}  // namespace stepleak
