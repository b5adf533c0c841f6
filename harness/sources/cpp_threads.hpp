// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// The lambdas and functions that a project hands to std::thread, std::jthread and std::async, or to a variable of such
/// a type: they run beside the steps, whenever they like. What a pool of the project's own is given is not among them.
[[nodiscard]] std::vector<CppBlockAt> run_by_threads(const CppNames& names);

}  // namespace stepleak
