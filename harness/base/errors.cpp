// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/errors.hpp"

#include <cstdio>
#include <cstdlib>

namespace stepleak {

void fail_precondition(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "stepleak: %s:%d: expected: %s\n", file, line, condition);
  std::abort();
}

}  // namespace stepleak
