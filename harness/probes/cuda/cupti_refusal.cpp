// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/cupti_refusal.hpp"

#include <fmt/format.h>

namespace stepleak {

std::string cupti_refusal(CUptiResult status, const std::string& other, std::string_view name) {
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    // Kineto's older ones give no name, and CUPTI then writes "CUPTI for <not provided>".
    const bool is_named = !other.empty() && other.find("<not provided>") == std::string::npos;
    return fmt::format("{} holds CUPTI's only subscription: run without it",
                       is_named ? other : "another tool (torch.profiler, nsys, cuda-gdb, compute-sanitizer)");
  }
  if (status == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    return "the NVIDIA driver lets administrators alone profile (" + std::string(name) +
           "): run with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN), or load the driver with "
           "NVreg_RestrictProfilingToAdminUsers=0";
  }
  return fmt::format("CUPTI refused a subscription ({}, error {})", name, static_cast<int>(status));
}

}  // namespace stepleak
