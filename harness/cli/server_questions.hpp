// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/cli/observing.hpp"

namespace stepleak {

// What a server must know of torch, CUDA and Python's files before its first worker. One that was started anew has no
// torch, and asks a worker (server_start.hpp). Throw failure errors.

/// What the scenarios of this build and the files of a folder declare. `set_up` is empty. A file that ends the process
/// as it is loaded, or takes longer than `timeout_seconds` (0: no limit), is one that does not load, and costs no
/// other's. Makes this process one that workers can be forked from (start_server()).
[[nodiscard]] ScenarioList scenarios_for_server(const std::string& folder, double timeout_seconds);

/// The device that "auto" stands for, or the parsed one. Throws usage errors, too.
[[nodiscard]] Device device_for_server(const std::string& name);

[[nodiscard]] GpuAnswer gpus_for_server();

/// Names of the steps that keep nothing of their own.
[[nodiscard]] std::vector<std::string> self_growth_for_server();

}  // namespace stepleak
