// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/symbol_patches.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace stepleak {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kCallEntry = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t kAddressEntry = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint32_t kCallEntry = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t kAddressEntry = R_AARCH64_GLOB_DAT;
#else
#error "the entries of a table have other numbers on this machine: add them here"
#endif

struct Loaded {
  std::string file;  // empty: the program itself
  std::uintptr_t base = 0;
  const ElfW(Phdr) * headers = nullptr;
  int header_count = 0;
};

struct Objects {
  std::vector<Loaded> loaded;
  unsigned long long loads = 0;  // since the program began
};

Objects loaded_objects() {
  Objects objects;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        auto& all = *static_cast<Objects*>(found);
        all.loaded.push_back({info->dlpi_name, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum});
        all.loads = info->dlpi_adds;
        return 0;
      },
      &objects);
  return objects;
}

// The tables of one object, and which of its pages were made read-only after they were filled.
class Tables {
 public:
  explicit Tables(const Loaded& object) : base_(object.base) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (const auto* header = object.headers; header != object.headers + object.header_count; ++header) {
      if (header->p_type == PT_DYNAMIC) dynamic = at<ElfW(Dyn)>(header->p_vaddr);
      if (header->p_type == PT_LOAD) {
        first_ = std::min(first_, base_ + header->p_vaddr);
        last_ = std::max(last_, base_ + header->p_vaddr + header->p_memsz);
      }
      if (header->p_type == PT_GNU_RELRO) {
        read_only_from_ = page_of(base_ + header->p_vaddr);
        read_only_to_ = page_of(base_ + header->p_vaddr + header->p_memsz);
      }
    }
    for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) read(*dynamic);
  }

  /// Calls `visit(name, entry, is_call)` for each entry that leads to a function or a variable by its name. `is_call`:
  /// only calls use it, and nobody asks for its value.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (symbols_ == nullptr || names_ == nullptr) return;
    visit_all(calls_, call_bytes_ / sizeof(ElfW(Rela)), 0, visit);
    visit_all(others_, other_bytes_ / sizeof(ElfW(Rela)), relative_count_, visit);
  }

  [[nodiscard]] bool contains(const void* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return first_ <= value && value < last_;
  }

  void set(void** entry, void* value) const noexcept {
    const auto page = page_of(reinterpret_cast<std::uintptr_t>(entry));
    const bool is_read_only = read_only_from_ <= page && page < read_only_to_;
    auto* memory = reinterpret_cast<void*>(page);
    if (is_read_only && ::mprotect(memory, page_size(), PROT_READ | PROT_WRITE) != 0) return;
    std::atomic_ref(*entry).store(value, std::memory_order_relaxed);
    if (is_read_only) ::mprotect(memory, page_size(), PROT_READ);
  }

 private:
  static std::uintptr_t page_size() {
    static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    return size;
  }
  static std::uintptr_t page_of(std::uintptr_t address) { return address & ~(page_size() - 1); }

  // glibc has turned the table's offsets into addresses, but for objects that it did not load itself.
  template <typename Entry>
  [[nodiscard]] const Entry* at(std::uintptr_t address) const {
    return reinterpret_cast<const Entry*>(address < base_ ? base_ + address : address);
  }

  void read(const ElfW(Dyn) & entry) {
    switch (entry.d_tag) {
      case DT_SYMTAB:
        symbols_ = at<ElfW(Sym)>(entry.d_un.d_ptr);
        break;
      case DT_STRTAB:
        names_ = at<char>(entry.d_un.d_ptr);
        break;
      case DT_JMPREL:
        calls_ = at<ElfW(Rela)>(entry.d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        call_bytes_ = entry.d_un.d_val;
        break;
      case DT_RELA:
        others_ = at<ElfW(Rela)>(entry.d_un.d_ptr);
        break;
      case DT_RELASZ:
        other_bytes_ = entry.d_un.d_val;
        break;
      case DT_RELACOUNT:
        relative_count_ = entry.d_un.d_val;
        break;
      default:
        break;
    }
  }

  template <typename Visit>
  void visit_all(const ElfW(Rela) * table, std::size_t count, std::size_t from, const Visit& visit) const {
    for (auto i = from; table != nullptr && i < count; ++i) {
      const auto type = ELF64_R_TYPE(table[i].r_info);
      if (type != kCallEntry && type != kAddressEntry) continue;
      const auto& symbol = symbols_[ELF64_R_SYM(table[i].r_info)];
      visit(names_ + symbol.st_name, reinterpret_cast<void**>(base_ + table[i].r_offset), type == kCallEntry);
    }
  }

  std::uintptr_t base_;
  std::uintptr_t first_ = UINTPTR_MAX;
  std::uintptr_t last_ = 0;
  std::uintptr_t read_only_from_ = 0;
  std::uintptr_t read_only_to_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const ElfW(Rela) * calls_ = nullptr;
  const ElfW(Rela) * others_ = nullptr;
  std::size_t call_bytes_ = 0;
  std::size_t other_bytes_ = 0;
  std::size_t relative_count_ = 0;
};

// Keeps an object loaded. Null for the kernel's, which has no file, and for what was unloaded meanwhile.
std::shared_ptr<void> held(const Loaded& object) {
  auto* handle = ::dlopen(object.file.empty() ? nullptr : object.file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  const bool is_same = handle != nullptr && ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_addr == object.base;
  std::shared_ptr<void> holder(handle, [](void* opened) {
    if (opened != nullptr) ::dlclose(opened);
  });
  return is_same ? holder : nullptr;
}

template <typename Change>
void for_each_object(const Objects& objects, const Change& change) {
  const auto loader = static_cast<std::uintptr_t>(::getauxval(AT_BASE));
  for (const auto& object : objects.loaded) {
    // The loader allocates under its own lock, and for itself.
    if (object.base == loader) continue;
    if (const auto holder = held(object)) change(Tables(object), holder.get());
  }
}

bool is_defined_here(const Tables& tables, void* function) {
  Dl_info info{};
  void* symbol = nullptr;
  // The entry of a program for another's function is a symbol, too, and has no section.
  return tables.contains(function) && ::dladdr1(function, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr &&
         static_cast<const ElfW(Sym)*>(symbol)->st_shndx != SHN_UNDEF;
}

}  // namespace

SymbolPatch find_symbol(const std::string& name, void* replacement) {
  SymbolPatch patch{.name = name, .replacement = replacement};
  for_each_object(loaded_objects(), [&](const Tables& tables, void* object) {
    if (patch.definition != nullptr) return;
    auto* found = ::dlsym(object, name.c_str());
    if (found != nullptr && is_defined_here(tables, found)) patch.definition = found;
  });
  patch.address = ::dlsym(RTLD_DEFAULT, name.c_str());
  if (patch.address == nullptr) patch.address = patch.definition;
  return patch;
}

SymbolPatches::SymbolPatches(std::vector<SymbolPatch> patches) : patches_(std::move(patches)) {
  std::erase_if(patches_, [](const SymbolPatch& patch) { return patch.definition == nullptr; });
}

void SymbolPatches::attach() {
  const auto objects = loaded_objects();
  if (objects.loads == seen_loads_) return;
  seen_loads_ = objects.loads;
  for_each_object(objects, [&](const Tables& tables, void* object) {
    tables.for_each([&](const char* name, void** entry, bool /*is_call*/) {
      for (const auto& patch : patches_) {
        if (std::strcmp(patch.name.c_str(), name) != 0) continue;
        const auto leads_to_it = [&](const void* value) { return value == patch.definition || value == patch.address; };
        const auto* value = std::atomic_ref(*entry).load(std::memory_order_relaxed);
        // An entry that was not used yet leads back into the object, which looks the name up.
        const bool is_unused = tables.contains(value) && leads_to_it(::dlsym(object, name));
        if (leads_to_it(value) || is_unused) tables.set(entry, patch.replacement);
      }
    });
  });
}

void SymbolPatches::detach() noexcept try {
  if (std::exchange(seen_loads_, 0) == 0) return;
  for_each_object(loaded_objects(), [&](const Tables& tables, void* /*object*/) {
    tables.for_each([&](const char* name, void** entry, bool is_call) {
      for (const auto& patch : patches_) {
        if (*entry != patch.replacement || std::strcmp(patch.name.c_str(), name) != 0) continue;
        tables.set(entry, is_call ? patch.definition : patch.address);
      }
    });
  });
} catch (const std::exception&) {
  // Without memory to list what is loaded the replacements stay, which call the originals.
}

}  // namespace stepleak
