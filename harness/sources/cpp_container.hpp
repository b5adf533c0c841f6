// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sources/cpp_project.hpp"

namespace stepleak {

/// What one variable or member stands for.
struct CppContainer {
  enum class Scope : std::uint8_t {
    local,   ///< of a function or of a block in it
    member,  ///< of a class
    global,  ///< of a file or a namespace
    unknown,
  };
  Scope scope = Scope::unknown;
  std::string name;
  TokenAt declared;                   ///< of no file where its declaration was not found, or several may be it
  std::string type;                   ///< as it is declared: "std::vector<at::Tensor>"
  std::string owner;                  ///< of a member: its class
  const CppFile* named_in = nullptr;  ///< where its declaration was not found: the file that names it
  /// What is meant is one of the things in it: of `queues`, in `auto& queue = queues[i]; queue.push_back(x);`.
  bool is_item = false;

  /// Whether a function or a lambda is given it.
  [[nodiscard]] bool is_parameter() const;
  [[nodiscard]] bool is_reference() const { return type.ends_with('&') || type.ends_with('*'); }
  /// Whether it is a parameter that stands for what the caller has.
  [[nodiscard]] bool is_lent() const { return is_reference() && is_parameter(); }
};

/// Whether a method gives one of the things in a container of the standard library: `at`, `back`.
[[nodiscard]] bool is_leading_in(std::string_view method);

/// Finds what names stand for: by scopes where a name stands alone or behind `this`, else by the only class that has a
/// member of that name.
class CppNames {
 public:
  explicit CppNames(const CppProject& project) : project_(project) {}

  [[nodiscard]] CppContainer resolve(TokenAt name) const;
  /// The same, through references, pointers and iterators that are made of it, and functions that return it: what is
  /// filled in `auto& kept = trainer.history(); kept.push_back(x);`.
  [[nodiscard]] CppContainer referent(TokenAt name) const { return referent(name, 0); }
  /// The same of an expression by its last token: `queues` of `queues[i]`, `queues.back()` and `found->second`.
  [[nodiscard]] CppContainer referent_of(TokenAt last) const { return referent_of(last, 0); }
  /// The token that names what a call of a method is made on, by the token of the method: of `a.b().c[i].clear` that
  /// is `c`. The same token where there is none.
  [[nodiscard]] static std::size_t receiver_of(const CppFile& file, std::size_t method);

  /// An argument of a call, by its last token, and the function that calls.
  struct Given {
    TokenAt last;
    CppBlockAt caller;
  };
  /// What all calls in the project give a parameter.
  [[nodiscard]] std::vector<Given> given_to(const TokenAt& parameter) const;

  /// What a name is declared to be, or to go through: "trainer.history()" of `auto& kept = trainer.history();`, and
  /// "queues" of `for (auto& queue : queues)`. Empty where nothing says so.
  [[nodiscard]] static TokenRange source_of(const TokenAt& declared);

  /// Whether a call by a name may be of a function of that name: not where it is a method of an object whose type is
  /// another class of the project's, or one of a library.
  [[nodiscard]] bool may_call(TokenAt name, const CppBlockAt& function) const;

  /// The class of the project's of which a call makes an object: "Tracker" of "Tracker tracker(x)", by the object's
  /// name, and of "std::make_shared<Tracker>(x)", by ">". Empty where it makes none that way.
  [[nodiscard]] std::string_view class_made_by(const TokenAt& called) const;

  /// Whether two classes are the same, or one derives from the other.
  [[nodiscard]] bool are_kin(std::string_view one, std::string_view other) const;

  [[nodiscard]] const CppProject& project() const { return project_; }

 private:
  [[nodiscard]] CppContainer referent(TokenAt name, int depth) const;
  [[nodiscard]] CppContainer referent_of(TokenAt last, int depth) const;
  [[nodiscard]] CppContainer returned_by(TokenAt call, int depth) const;
  /// `seen_from`: the file that names it.
  [[nodiscard]] CppContainer member(std::string_view name, std::string_view owner, const CppFile& seen_from,
                                    int depth = 0) const;
  [[nodiscard]] bool derives(std::string_view name, std::string_view from, int depth = 0) const;
  [[nodiscard]] CppContainer only_member(std::string_view name, const CppFile& seen_from) const;
  [[nodiscard]] static std::vector<std::size_t> declarations_in(const CppFile& file, std::string_view name, int block);

  const CppProject& project_;
};

}  // namespace stepleak
