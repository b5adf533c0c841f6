// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/loaded_torch.hpp"

#include <torch/version.h>

#include <cstdint>
#include <string>

#include "harness/base/errors.hpp"
#include "harness/probes/torch/compat/features.hpp"

// Of torch's C interface, whose names and types stay. Weak: old releases have none.
extern "C" std::uint64_t aoti_torch_abi_version() __attribute__((weak));

namespace stepleak {
namespace {

#ifdef STEPLEAK_TORCH_TELLS_VERSION
constexpr bool kBuiltTellsVersion = true;
#else
constexpr bool kBuiltTellsVersion = false;
#endif

std::string dotted(std::uint64_t major, std::uint64_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

Error other_torch(const std::string& loaded) {
  return failure_error("stepleak was built against torch " TORCH_VERSION ", and " + loaded + " is loaded here",
                       "build stepleak against the torch that the program takes, or let it take torch " +
                           dotted(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR) + " (ldd shows which libtorch_cpu.so)");
}

}  // namespace

void expect_torch_as_built() {
  if (aoti_torch_abi_version == nullptr) {
    if (kBuiltTellsVersion) throw other_torch("an older one");
    return;
  }
  // Major, minor and patch, a byte each, from the highest on.
  const auto version = aoti_torch_abi_version();
  const auto major = version >> 56U;
  const auto minor = version >> 48U & 0xffU;
  if (major == TORCH_VERSION_MAJOR && minor == TORCH_VERSION_MINOR) return;
  throw other_torch("torch " + dotted(major, minor));
}

}  // namespace stepleak
