// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stepleak {

/// The threads of this process by their names, in the order of their ids: the main one is the first.
[[nodiscard]] std::vector<std::string> thread_names();

/// The same where there is one thread; of several, once each bears a name of its own, which a thread gives itself some
/// time after it was started (until then it bears the main one's). Waits for 100 ms at most: not every thread has one.
[[nodiscard]] std::vector<std::string> own_thread_names();

/// Throws a failure error where a process of these threads cannot fork safely: a fork copies one of them alone, and the
/// others' locks would stay locked for ever. The remedy is that of the library that has started one.
void expect_one_thread(const std::vector<std::string>& names);

}  // namespace stepleak
