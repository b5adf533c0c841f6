// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stepleak {

/// Throws a failure error where a script that is about to start could not be watched on this device: no such GPU is
/// visible here. Asks a child, and nothing of "auto" and "cpu"; where threads run in this process, from before it
/// could judge, nothing is asked either, and the script's own start tells.
void check_device_of_script(const std::string& name);

}  // namespace stepleak
