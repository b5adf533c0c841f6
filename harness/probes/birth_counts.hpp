// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "harness/trace/counter.hpp"

namespace stepleak {

/// What is alive of a counter, by the step of its birth.
using BirthCounts = std::map<Counter, std::map<std::int64_t, std::int64_t>>;

}  // namespace stepleak
