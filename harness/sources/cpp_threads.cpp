// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_threads.hpp"

#include <array>
#include <string_view>

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 3> kStarting{"thread", "jthread", "async"};
constexpr std::array<std::string_view, 2> kAdding{"emplace_back", "push_back"};

class ThreadReader {
 public:
  explicit ThreadReader(const CppNames& names) : names_(names) {}

  std::vector<CppBlockAt> read() {
    for (const auto type : kStarting) {
      for (const auto& use : names_.project().uses(type)) read_type(use);
    }
    return std::move(found_);
  }

 private:
  // "std::thread(...)", "std::thread worker(...)", "std::vector<std::thread> workers".
  void read_type(const TokenAt& use) {
    const auto& file = *use.file;
    auto next = use.token + 1;
    while (file.token(next).is(">") || file.token(next).is("&") || file.token(next).is("*")) ++next;
    read_arguments(file, next);
    if (!file.token(next).is_name() || !file.is_declaration(next)) return;
    const TokenAt variable{&file, next};
    for (const auto& other : names_.project().uses(file.token(next).text)) {
      if (other == variable || names_.resolve(other).declared == variable) read_variable(other);
    }
  }

  // "worker_([this] { loop(); })", "workers.emplace_back(&Pool::run, this)".
  void read_variable(const TokenAt& use) {
    const auto& file = *use.file;
    const bool is_adding = file.token(use.token + 1).is(".") && is_one_of(file.token(use.token + 2).text, kAdding);
    read_arguments(file, use.token + (is_adding ? 3 : 1));
  }

  void read_arguments(const CppFile& file, std::size_t open) {
    if (!file.token(open).is("(") && !file.token(open).is("{")) return;
    for (auto i = open + 1; i < file.partner(open); ++i) {
      if (const auto lambda = file.token(i).is("[") ? file.lambda_at(i) : -1; lambda >= 0) {
        found_.push_back({&file, lambda});
        return;
      }
      if (!file.token(i).is_name()) continue;
      for (const auto& function : names_.project().functions(file.token(i).text)) found_.push_back(function);
    }
  }

  const CppNames& names_;
  std::vector<CppBlockAt> found_;
};

}  // namespace

std::vector<CppBlockAt> run_by_threads(const CppNames& names) { return ThreadReader(names).read(); }

}  // namespace stepleak
