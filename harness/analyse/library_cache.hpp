// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/finding.hpp"

namespace stepleak {

/// The library that keeps the better part of what a finding of kind raw_cuda or host_heap says, where that is a cache
/// of its own; else empty. cuDNN, cuFFT, MKL and their like keep a plan, and the code that was compiled for it, for
/// each shape that they meet: such growth comes now and then, in other sizes, and ends with the shapes. What a user
/// makes through them in each step and never destroys comes alike in each step.
[[nodiscard]] std::string caching_library(const Evidence& evidence, const Finding& finding);

}  // namespace stepleak
