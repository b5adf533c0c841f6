// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// stepleak for C++: does memory that a training step takes ever stop growing, and if not, who keeps it?
///
///   const auto result = stepleak::check([&](std::int64_t) { trainer.step(); });   // repeats a step of yours
///
///   stepleak::Watch watch;                                                       // or watches your own loop
///   for (auto& batch : loader) {
///     trainer.train(batch);
///     watch.step();
///   }
///   if (watch.finish().verdict == stepleak::Verdict::leak) ...
///
/// For assertions in GoogleTest see stepleak/gtest.hpp. One run at a time: the memory that is watched is the process's.

#include "harness/api/check.hpp"
#include "harness/api/watch.hpp"
#include "harness/trace/result.hpp"
