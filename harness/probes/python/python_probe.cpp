// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/probes/python/python_probe.hpp"

namespace stepleak {

void PythonProbe::start() {
  if (!swap_guard_) swap_guard_ = std::make_unique<SwapGuard>();
}

void PythonProbe::stop() noexcept { swap_guard_.reset(); }

void PythonProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment == Moment::after_collection) row[0] = collector_.objects();
}

}  // namespace stepleak
