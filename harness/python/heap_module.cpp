// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
//
// stepleak._heap: walks over all of a program's Python objects, of which there are hundreds of thousands. What is
// looked at is types and C structures, as in stepleak._objects; no code of the user's runs. Knows nothing of torch.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

// Whether types are derived from one of a few; most objects are of few types.
class Kinds {
 public:
  explicit Kinds(const py::tuple& bases) {
    for (const auto& base : bases) {
      if (!PyType_Check(base.ptr())) throw py::type_error("types are needed");
      bases_.push_back(reinterpret_cast<PyTypeObject*>(base.ptr()));
    }
  }

  [[nodiscard]] bool is_exactly_one(PyObject* object) const {
    for (const auto* base : bases_) {
      if (Py_TYPE(object) == base) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_one(PyObject* object) {
    const auto [entry, is_new] = is_one_.try_emplace(Py_TYPE(object), false);
    for (auto* base : bases_) {
      if (is_new && PyType_IsSubtype(Py_TYPE(object), base) != 0) entry->second = true;
    }
    return entry->second;
  }

 private:
  std::vector<PyTypeObject*> bases_;
  std::unordered_map<PyTypeObject*, bool> is_one_;
};

// In Python 3.12 the module `_asyncio` also shows the dead iterators that it has ready for later use: see
// referents_of() of stepleak._objects.
bool is_asyncio(PyObject* object) {
  if (PyModule_Check(object) == 0) return false;
  const char* name = PyModule_GetName(object);
  if (name == nullptr) PyErr_Clear();
  return name != nullptr && std::string_view(name) == "_asyncio";
}

// Calls visit(referent) with each of an object's, as gc.get_referents() does. It may not run Python.
template <typename Visit>
void for_each_referent(PyObject* object, Visit visit) {
  if (PyObject_IS_GC(object) == 0 || Py_TYPE(object)->tp_traverse == nullptr) return;
  if (is_asyncio(object)) {
    visit(PyModule_GetDict(object));
    return;
  }
  const auto call = [](PyObject* referent, void* data) {
    (*static_cast<Visit*>(data))(referent);
    return 0;
  };
  Py_TYPE(object)->tp_traverse(object, call, &visit);
}

// To make lists may run the collector: by then each object has a reference of ours.
py::list to_list(const std::vector<PyObject*>& objects) {
  std::vector<py::object> kept;
  kept.reserve(objects.size());
  for (auto* object : objects) kept.push_back(py::reinterpret_borrow<py::object>(object));
  py::list list(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) list[i] = std::move(kept[i]);
  return list;
}

py::list instances_of(const py::tuple& objects, const py::tuple& bases) {
  Kinds kinds(bases);
  std::vector<PyObject*> found;
  for (const auto& object : objects) {
    if (kinds.is_one(object.ptr())) found.push_back(object.ptr());
  }
  return to_list(found);
}

// The true length of a list, a dict or a set, whatever its class says; -1 of everything else.
Py_ssize_t length_of(PyObject* object) {
  if (PyList_Check(object)) return PyList_GET_SIZE(object);
  if (PyDict_Check(object)) return PyDict_Size(object);
  return PySet_Check(object) ? PySet_GET_SIZE(object) : -1;
}

std::vector<Py_ssize_t> lengths_of(const py::list& objects) {
  std::vector<Py_ssize_t> lengths;
  lengths.reserve(objects.size());
  for (const auto& object : objects) lengths.push_back(length_of(object.ptr()));
  return lengths;
}

std::vector<std::pair<std::size_t, Py_ssize_t>> free_places_of(const py::list& objects) {
  std::vector<std::pair<std::size_t, Py_ssize_t>> found;
  for (std::size_t at = 0; at < objects.size(); ++at) {
    auto* list = PyList_GET_ITEM(objects.ptr(), static_cast<Py_ssize_t>(at));
    const auto length = PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
    if (length == 0 || PyList_GET_ITEM(list, length - 1) != Py_None) continue;
    Py_ssize_t free = 0;
    for (Py_ssize_t i = 0; i < length; ++i) free += PyList_GET_ITEM(list, i) == Py_None ? 1 : 0;
    found.emplace_back(at, free);
  }
  return found;
}

py::list untracked_referents(const py::tuple& objects, const py::tuple& exact_types) {
  const Kinds kinds(exact_types);
  std::unordered_set<PyObject*> seen;
  std::vector<PyObject*> found;
  for (const auto& object : objects) {
    for_each_referent(object.ptr(), [&](PyObject* referent) {
      if (!kinds.is_exactly_one(referent) || PyObject_GC_IsTracked(referent) != 0) return;
      if (seen.insert(referent).second) found.push_back(referent);
    });
  }
  return to_list(found);
}

// Of text its characters, of bytes these; -1 of everything else.
Py_ssize_t buffer_length(PyObject* object) {
  if (PyUnicode_Check(object)) return PyUnicode_GET_LENGTH(object);
  if (PyBytes_Check(object)) return PyBytes_GET_SIZE(object);
  return PyByteArray_Check(object) ? PyByteArray_GET_SIZE(object) : -1;
}

struct Slot {
  PyObject* owner;
  Py_ssize_t place;
  PyObject* item;
};

py::list slots_holding(const py::tuple& objects, const py::tuple& bases, Py_ssize_t least) {
  Kinds kinds(bases);
  std::unordered_set<PyObject*> seen;
  std::vector<PyObject*> untracked;
  std::vector<Slot> slots;
  const auto look = [&](PyObject* owner) {
    Py_ssize_t place = 0;
    for_each_referent(owner, [&](PyObject* referent) {
      const auto at = place++;
      if (PyDict_CheckExact(referent) && PyObject_GC_IsTracked(referent) == 0) {
        if (seen.insert(referent).second) untracked.push_back(referent);
      } else if (kinds.is_one(referent)) {
        const auto length = buffer_length(referent);
        if (length < 0 || length >= least) slots.push_back({owner, at, referent});
      }
    });
  };
  for (const auto& object : objects) look(object.ptr());
  // Those that these hold in turn are found by the way.
  for (std::size_t i = 0; i < untracked.size(); ++i) look(untracked[i]);
  std::vector<py::object> kept;
  for (const auto& slot : slots) {
    kept.push_back(py::reinterpret_borrow<py::object>(slot.owner));
    kept.push_back(py::reinterpret_borrow<py::object>(slot.item));
  }
  py::list list;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    list.append(py::make_tuple(kept[2 * i], slots[i].place, kept[2 * i + 1]));
  }
  return list;
}

}  // namespace

PYBIND11_MODULE(_heap, module) {
  module.def("instances_of", &instances_of, py::arg("objects"), py::arg("bases"),
             "Those among objects whose type is derived from one of `bases`, in their order.");
  module.def("lengths_of", &lengths_of, py::arg("objects"),
             "The true length of each list, dict or set, also of a derived class; -1 of everything else.");
  module.def(
      "free_places_of", &free_places_of, py::arg("objects"),
      "Of each list whose last entry is None: its index among the objects, and how many of its entries are None.");
  module.def("untracked_referents", &untracked_referents, py::arg("objects"), py::arg("exact_types"),
             "What objects refer to, of exactly one of these types and not tracked by the collector; each once.");
  module.def("slots_holding", &slots_holding, py::arg("objects"), py::arg("bases"), py::arg("least"),
             "Who refers to buffers: (owner, which of its referents, item) for each item whose type is derived from "
             "one of `bases`; of text, bytes and byte arrays those of `least` or more. Owners are the objects, and the "
             "dicts that they lead to and the collector does not track.");
}
