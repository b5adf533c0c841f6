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

void CppUnits::add(const std::string& path, const std::vector<std::string_view>& includes) {
  auto& endings = includes_[path];
  for (const auto include : includes) {
    if (include.empty()) unknown_.insert(path);
    endings.push_back(ending_of(include));
  }
}

void CppUnits::link() const {
  std::multimap<std::string, std::string> by_name;
  for (const auto& [path, endings] : includes_) {
    by_name.emplace(std::filesystem::path(path).filename().string(), path);
  }
  for (const auto& [path, endings] : includes_) {
    for (const auto& ending : endings) {
      const auto [first, last] = by_name.equal_range(std::filesystem::path(ending).filename().string());
      const bool is_found = std::any_of(first, last, [&](const auto& file) { return file.second.ends_with(ending); });
      for (auto file = first; file != last; ++file) {
        if (!is_found || file->second.ends_with(ending)) included_by_[file->second].push_back(path);
      }
    }
  }
  is_linked_ = true;
}

const std::set<std::string>& CppUnits::includers_of(const std::string& path) const {
  if (!is_linked_) link();
  const auto [found, is_new] = includers_.try_emplace(path, std::set{path});
  if (!is_new) return found->second;
  std::vector<std::string> waiting{path};
  while (!waiting.empty()) {
    const auto at = waiting.back();
    waiting.pop_back();
    for (const auto& includer : included_by_[at]) {
      if (found->second.insert(includer).second) waiting.push_back(includer);
    }
  }
  return found->second;
}

bool CppUnits::may_share(const std::string& one, const std::string& other) const {
  if (one == other || !includes_.contains(one) || !includes_.contains(other)) return true;
  const auto& ones = includers_of(one);
  const auto& others = includers_of(other);
  const auto is_unknown = [&](const std::string& path) { return unknown_.contains(path); };
  return std::ranges::any_of(ones, is_unknown) || std::ranges::any_of(others, is_unknown) ||
         std::ranges::any_of(ones, [&](const std::string& path) { return others.contains(path); });
}

}  // namespace stepleak
