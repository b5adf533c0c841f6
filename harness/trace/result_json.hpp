// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the .cpp files of this folder only: what a result keeps of a run for its pictures.

#include "harness/trace/holder_group.hpp"
#include "harness/trace/json_values.hpp"
#include "harness/trace/survivor_group.hpp"

namespace stepleak {

[[nodiscard]] Json survivors_to_json(const std::vector<SurvivorGroup>& groups);
[[nodiscard]] std::vector<SurvivorGroup> survivors_from_json(const Json& json);
[[nodiscard]] Json held_to_json(const std::vector<HolderGroup>& groups);
[[nodiscard]] std::vector<HolderGroup> held_from_json(const Json& json);
[[nodiscard]] Json holder_path_to_json(const std::vector<HolderPart>& path);
[[nodiscard]] std::vector<HolderPart> holder_path_from_json(const Json& json);

/// Some of the looks, spread over the run, and of many births of a look some: as many as a picture shows.
[[nodiscard]] Json few_looks_to_json(const std::vector<Look>& looks);
[[nodiscard]] std::vector<Look> few_looks_from_json(const Json& json);
/// Type and first step of each.
[[nodiscard]] Json passes_to_json(const std::vector<Pass>& passes);
[[nodiscard]] std::vector<Pass> passes_from_json(const Json& json);

}  // namespace stepleak
