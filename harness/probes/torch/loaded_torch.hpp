// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// Throws where the torch that this process has loaded is of another series (2.11) than the one that this was compiled
/// for: its objects are laid out otherwise, though all names may be found in it. Uses nothing of torch but its version,
/// and does not start CUDA. Two releases that both do not tell theirs are taken for one.
void expect_torch_as_built();

}  // namespace stepleak
