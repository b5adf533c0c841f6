// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Preloaded, it lets the torch of a process tell another version: that of STEPLEAK_TEST_TORCH, as in 2.99.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" std::uint64_t aoti_torch_abi_version() {
  unsigned major = 0;
  unsigned minor = 0;
  const char* text = std::getenv("STEPLEAK_TEST_TORCH");
  if (text == nullptr || std::sscanf(text, "%u.%u", &major, &minor) != 2) std::abort();
  constexpr std::uint64_t kLaterPatch = 9;
  return static_cast<std::uint64_t>(major) << 56U | static_cast<std::uint64_t>(minor) << 48U | kLaterPatch << 40U;
}
