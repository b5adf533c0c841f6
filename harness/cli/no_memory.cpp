// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/no_memory.hpp"

#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

int code_at_the_end = static_cast<int>(ExitCode::failure);

[[noreturn]] void end() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    static constexpr std::string_view kText =
        "stepleak: there is no memory left: outputs that were not written yet are lost\n"
        "  remedy: free some, or run less at once: --jobs 1\n";
    (void)!::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(code_at_the_end);
  } catch (...) {
  }
  std::abort();
}

}  // namespace

NoMemoryEnd::NoMemoryEnd() : previous_(std::set_terminate(end)) {}

void NoMemoryEnd::set_exit_code(int code) { code_at_the_end = code; }

}  // namespace stepleak
