// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_units.hpp"

#include <algorithm>
#include <filesystem>

namespace stepleak {
namespace {

// "../models/net.hpp" is looked for as "/models/net.hpp".
std::string ending_of(std::string_view include) {
  std::string ending;
  for (const auto& part : std::filesystem::path(include).lexically_normal()) {
    if (part != ".." && part != ".") ending += "/" + part.string();
  }
  return ending;
}

}  // namespace

CppUnits::CppUnits(const std::map<std::string, std::vector<std::string_view>>& includes) {
  std::multimap<std::string, std::string> by_name;
  for (const auto& [path, included] : includes) {
    by_name.emplace(std::filesystem::path(path).filename().string(), path);
    included_by_[path];
  }
  for (const auto& [path, included] : includes) {
    for (const auto include : included) {
      if (include.empty()) unknown_.insert(path);
      const auto ending = ending_of(include);
      const auto [first, last] = by_name.equal_range(std::filesystem::path(ending).filename().string());
      const bool is_found = std::any_of(first, last, [&](const auto& file) { return file.second.ends_with(ending); });
      for (auto file = first; file != last; ++file) {
        if (!is_found || file->second.ends_with(ending)) included_by_[file->second].push_back(path);
      }
    }
  }
}

const std::set<std::string>& CppUnits::includers_of(const std::string& path) const {
  const auto [found, is_new] = includers_.try_emplace(path, std::set{path});
  if (!is_new) return found->second;
  std::vector<std::string> waiting{path};
  while (!waiting.empty()) {
    const auto at = waiting.back();
    waiting.pop_back();
    for (const auto& includer : included_by_.at(at)) {
      if (found->second.insert(includer).second) waiting.push_back(includer);
    }
  }
  return found->second;
}

bool CppUnits::may_share(const std::string& one, const std::string& other) const {
  if (one == other || !included_by_.contains(one) || !included_by_.contains(other)) return true;
  const auto& ones = includers_of(one);
  const auto& others = includers_of(other);
  const auto is_unknown = [&](const std::string& path) { return unknown_.contains(path); };
  return std::ranges::any_of(ones, is_unknown) || std::ranges::any_of(others, is_unknown) ||
         std::ranges::any_of(ones, [&](const std::string& path) { return others.contains(path); });
}

}  // namespace stepleak
