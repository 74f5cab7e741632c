// The extension module evenkeel._native: bytes of requests in, bytes of answers out. Only
// serialised messages pass, so the protobuf library here and the one of Python share nothing. Uses
// only Python's stable ABI. Called by evenkeel/local.py.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "client/local/answers.h"
#include "server/convert/deterministic_bytes.h"

namespace evenkeel::python {
namespace {

using Clock = std::chrono::steady_clock;

PyObject* failure_type = nullptr;  // evenkeel._native.Failure(kind, details)

// A Python exception is set.
struct Raised {};

// An owned reference, or null with a Python exception set.
class Reference {
 public:
  explicit Reference(PyObject* object) : object_(object) {
    if (object == nullptr) throw Raised();
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* Release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};

// Gives up the interpreter's lock for its lifetime, and says whether to go on without it. While
// computing, it takes the lock back for a moment now and then, so that Ctrl-C and the caller's
// `cancelled` are noticed.
class Computing {
 public:
  enum class Why { kGoesOn, kDeadline, kCancelled, kRaised };

  Computing(double timeout_seconds, PyObject* cancelled)
      : timeout_seconds_(timeout_seconds), cancelled_(cancelled), state_(PyEval_SaveThread()) {}
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  ~Computing() { PyEval_RestoreThread(state_); }

  bool Stops() {
    const Clock::time_point now = Clock::now();
    if (std::chrono::duration<double>(now - start_).count() > timeout_seconds_) {
      why_ = Why::kDeadline;
    } else if (now - asked_ > kBetweenQuestions) {
      PyEval_RestoreThread(state_);
      why_ = Ask();
      state_ = PyEval_SaveThread();
      asked_ = Clock::now();
    }
    return why_ != Why::kGoesOn;
  }

  Why why() const { return why_; }

 private:
  static constexpr std::chrono::milliseconds kBetweenQuestions{30};

  Why Ask() const {
    if (PyErr_CheckSignals() != 0) return Why::kRaised;
    if (cancelled_ == Py_None) return Why::kGoesOn;
    PyObject* said = PyObject_CallObject(cancelled_, nullptr);
    const int is_true = said == nullptr ? -1 : PyObject_IsTrue(said);
    Py_XDECREF(said);
    if (is_true < 0) return Why::kRaised;
    return is_true == 1 ? Why::kCancelled : Why::kGoesOn;
  }

  const double timeout_seconds_;
  PyObject* const cancelled_;  // callable, or None
  PyThreadState* state_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point asked_ = start_;
  Why why_ = Why::kGoesOn;
};

PyObject* Text(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyObject* Bytes(const void* data, size_t size) {
  return PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size));
}

template <typename T>
PyObject* Bytes(const std::vector<T>& values) {
  return Bytes(values.data(), values.size() * sizeof(T));
}

// Sets Failure(kind, [(field, description), ...]).
void Raise(const char* kind, const std::vector<server::Violation>& details) {
  const Reference list(PyList_New(0));
  for (const server::Violation& detail : details) {
    const Reference field(Text(detail.field)), description(Text(detail.description));
    const Reference pair(PyTuple_Pack(2, field.get(), description.get()));
    if (PyList_Append(list.get(), pair.get()) != 0) throw Raised();
  }
  const Reference name(PyUnicode_FromString(kind));
  const Reference arguments(PyTuple_Pack(2, name.get(), list.get()));
  PyErr_SetObject(failure_type, arguments.get());
}

void Raise(const local::Failure& failure, Computing::Why why) {
  switch (failure.kind) {
    case local::Failure::Kind::kInvalid:
      return Raise("invalid", failure.violations);
    case local::Failure::Kind::kStopped:
      if (why == Computing::Why::kRaised) return;  // such as KeyboardInterrupt
      return Raise(why == Computing::Why::kCancelled ? "cancelled" : "deadline", {});
    case local::Failure::Kind::kDefect:
      std::vector<server::Violation> details;
      for (const std::string& fault : failure.faults) details.push_back({"", fault});
      return Raise("defect", details);
  }
}

// Runs `work` without the interpreter's lock. Throws Raised if it fails.
template <typename Work>
auto Compute(double timeout_seconds, PyObject* cancelled, const Work& work) {
  Computing::Why why = Computing::Why::kGoesOn;
  try {
    Computing computing(timeout_seconds, cancelled);
    try {
      return work([&computing] { return computing.Stops(); });
    } catch (...) {
      why = computing.why();
      throw;
    }
  } catch (const local::Failure& failure) {
    Raise(failure, why);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  throw Raised();
}

template <typename Message>
Message Parsed(const char* data, Py_ssize_t size) {
  Message message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) {
    PyErr_SetString(PyExc_ValueError, "these bytes are not the request's message");
    throw Raised();
  }
  return message;
}

// (request: bytes, timeout: float, cancelled: Callable[[], bool] | None) -> bytes
template <typename Request, typename Answer>
PyObject* Call(PyObject* arguments, const Answer& answer) {
  const char* data = nullptr;
  Py_ssize_t size = 0;
  double timeout_seconds = 0;
  PyObject* cancelled = nullptr;
  if (PyArg_ParseTuple(arguments, "y#dO", &data, &size, &timeout_seconds, &cancelled) == 0)
    return nullptr;
  try {
    const auto request = Parsed<Request>(data, size);
    const std::string bytes =
        Compute(timeout_seconds, cancelled, [&](const std::function<bool()>& stop) {
          return server::DeterministicBytes(answer(request, stop));
        });
    return Bytes(bytes.data(), bytes.size());
  } catch (const Raised&) {
    return nullptr;
  }
}

PyObject* PlanJob(PyObject*, PyObject* arguments) {
  return Call<v1::PlanJobRequest>(arguments, [](const auto& request, const auto& stop) {
    return local::PlanJob(request, {.stop = stop, .enter = {}});
  });
}

PyObject* PlanCurve(PyObject*, PyObject* arguments) {
  return Call<v1::PlanCurveRequest>(arguments, [](const auto& request, const auto& stop) {
    return local::PlanCurve(request, {.stop = stop, .enter = {}});
  });
}

PyObject* EvaluatePlan(PyObject*, PyObject* arguments) {
  return Call<v1::EvaluatePlanRequest>(arguments, [](const auto& request, const auto& stop) {
    return local::EvaluatePlan(request, {.stop = stop, .enter = {}});
  });
}

PyObject* ListModels(PyObject*, PyObject* arguments) {
  return Call<v1::ListModelsRequest>(
      arguments, [](const auto& request, const auto&) { return local::ListModels(request); });
}

PyObject* ListGpuTypes(PyObject*, PyObject* arguments) {
  return Call<v1::ListGpuTypesRequest>(
      arguments, [](const auto& request, const auto&) { return local::ListGpuTypes(request); });
}

PyObject* ListTrainers(PyObject*, PyObject* arguments) {
  return Call<v1::ListTrainersRequest>(
      arguments, [](const auto& request, const auto&) { return local::ListTrainers(request); });
}

// The bytes of an array of int32, or of T.
struct Column {
  const char* data = nullptr;
  Py_ssize_t size = 0;

  template <typename T = int32_t>
  std::vector<T> Values() const {
    std::vector<T> values(static_cast<size_t>(size) / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), data, values.size() * sizeof(T));
    return values;
  }
};

// (start: bytes, tokens, units, encoder_units, loss_tokens: bytes of int32, timeout: float,
// cancelled: Callable[[], bool] | None) -> (summary, offsets: bytes of int64, members: of uint32,
// order: of int64, step_group: of int32, loss_normalizer: of float64)
PyObject* PackDataset(PyObject*, PyObject* arguments) {
  Column start, tokens, units, encoder_units, loss_tokens;
  double timeout_seconds = 0;
  PyObject* cancelled = nullptr;
  if (PyArg_ParseTuple(arguments, "y#y#y#y#y#dO", &start.data, &start.size, &tokens.data,
                       &tokens.size, &units.data, &units.size, &encoder_units.data,
                       &encoder_units.size, &loss_tokens.data, &loss_tokens.size, &timeout_seconds,
                       &cancelled) == 0)
    return nullptr;
  try {
    const auto parsed = Parsed<v1::PackDatasetStart>(start.data, start.size);
    const local::Packed packed =
        Compute(timeout_seconds, cancelled, [&](const std::function<bool()>& stop) {
          const std::vector<int32_t> token_values = tokens.Values(), unit_values = units.Values(),
                                     of_encoders = encoder_units.Values(),
                                     loss_values = loss_tokens.Values();
          return local::PackDataset(parsed, {unit_values, token_values, of_encoders}, loss_values,
                                    stop);
        });
    const std::string summary_bytes = server::DeterministicBytes(packed.summary);
    const Reference summary(Bytes(summary_bytes.data(), summary_bytes.size()));
    const Reference offsets(Bytes(packed.result.packing.offsets));
    const Reference members(Bytes(packed.result.packing.members));
    const Reference order(Bytes(packed.result.order));
    const Reference step_group(Bytes(packed.result.groups.step_group));
    const Reference normalizers(Bytes(packed.result.groups.loss_normalizers));
    return PyTuple_Pack(6, summary.get(), offsets.get(), members.get(), order.get(),
                        step_group.get(), normalizers.get());
  } catch (const Raised&) {
    return nullptr;
  }
}

// (start: bytes, units, tokens: bytes of int32, counts: of int64, timeout: float, cancelled:
// Callable[[], bool] | None) -> (packs at least, how that is proven)
PyObject* PackBound(PyObject*, PyObject* arguments) {
  Column start, units, tokens, counts;
  double timeout_seconds = 0;
  PyObject* cancelled = nullptr;
  if (PyArg_ParseTuple(arguments, "y#y#y#y#dO", &start.data, &start.size, &units.data, &units.size,
                       &tokens.data, &tokens.size, &counts.data, &counts.size, &timeout_seconds,
                       &cancelled) == 0)
    return nullptr;
  try {
    const auto parsed = Parsed<v1::PackDatasetStart>(start.data, start.size);
    const planner::PackBound bound =
        Compute(timeout_seconds, cancelled, [&](const std::function<bool()>& stop) {
          const std::vector<int32_t> unit_values = units.Values(), token_values = tokens.Values();
          const std::vector<int64_t> count_values = counts.Values<int64_t>();
          planner::SampleTypes types(token_values.size());
          for (size_t i = 0; i < types.size(); ++i)
            types[i] = {unit_values.at(i), token_values[i], count_values.at(i)};
          return local::BoundOfPacks(parsed, std::move(types), stop);
        });
    const Reference packs(PyLong_FromLongLong(bound.packs)), method(Text(bound.method));
    return PyTuple_Pack(2, packs.get(), method.get());
  } catch (const Raised&) {
    return nullptr;
  }
}

PyMethodDef methods[] = {
    {"plan_job", PlanJob, METH_VARARGS, nullptr},
    {"plan_curve", PlanCurve, METH_VARARGS, nullptr},
    {"evaluate_plan", EvaluatePlan, METH_VARARGS, nullptr},
    {"list_models", ListModels, METH_VARARGS, nullptr},
    {"list_gpu_types", ListGpuTypes, METH_VARARGS, nullptr},
    {"list_trainers", ListTrainers, METH_VARARGS, nullptr},
    {"pack_dataset", PackDataset, METH_VARARGS, nullptr},
    {"pack_bound", PackBound, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "evenkeel._native",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace evenkeel::python

PyMODINIT_FUNC PyInit__native() {
  using evenkeel::python::failure_type;
  PyObject* module = PyModule_Create(&evenkeel::python::definition);
  if (module == nullptr) return nullptr;
  failure_type = PyErr_NewException("evenkeel._native.Failure", nullptr, nullptr);
  if (failure_type == nullptr || PyModule_AddObjectRef(module, "Failure", failure_type) != 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
