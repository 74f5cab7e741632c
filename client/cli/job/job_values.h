// An option of a job, and the kinds of values that options have.
#ifndef EVENKEEL_CLIENT_CLI_JOB_JOB_VALUES_H_
#define EVENKEEL_CLIENT_CLI_JOB_JOB_VALUES_H_

#include <google/protobuf/repeated_field.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "client/cli/base/flags.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/job/option_names.h"
#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {

struct JobOption;

// The field of JobFlags that takes the value of an option, and the effect of a given value on a
// job.
struct JobValue {
  std::function<CLI::Option*(const JobOption& option, CLI::App* command, JobFlags* flags)> add;
  // Empty if job_request.cc sets the value, because it depends on other flags or reads files.
  std::function<void(const JobOption& option, const JobFlags& flags, v1::Job* job)> set = nullptr;
};

struct JobOption {
  std::string name, type, help;
  JobValue value;
  std::string group = "";  // in --help
};

// Returns the part of the job that has fields of this message. It is made if it is not there.
template <typename Message>
Message* PartOf(v1::Job* job) {
  if constexpr (std::is_same_v<Message, v1::Training>) {
    return job->mutable_training();
  } else if constexpr (std::is_same_v<Message, v1::Execution>) {
    return job->mutable_training()->mutable_execution();
  } else if constexpr (std::is_same_v<Message, v1::Padding>) {
    return job->mutable_training()->mutable_padding();
  } else if constexpr (std::is_same_v<Message, v1::Constraints>) {
    return job->mutable_constraints();
  } else if constexpr (std::is_same_v<Message, v1::Reliability>) {
    return job->mutable_reliability();
  } else if constexpr (std::is_same_v<Message, v1::Model>) {
    return job->mutable_model();
  } else if constexpr (std::is_same_v<Message, v1::Lora>) {
    return job->mutable_model()->mutable_lora();
  } else {
    static_assert(std::is_same_v<Message, v1::GpuPool>);
    v1::Cluster* const cluster = job->mutable_cluster();
    return cluster->pools_size() == 0 ? cluster->add_pools() : cluster->mutable_pools(0);
  }
}

// Of several values, the last counts.
template <typename T>
JobValue One(T JobFlags::*field, const CLI::Validator& check = {}) {
  return {[=](const JobOption& option, CLI::App* command, JobFlags* flags) {
    return Add(command, option.name, &(flags->*field), option.type, option.help, option.group)
        ->check(check);
  }};
}

// Values are separated by `delimiter`, if any, and those of several occurrences add up.
template <typename T>
JobValue Several(std::vector<T> JobFlags::*field, char delimiter = ',',
                 const CLI::Validator& check = {}) {
  return {[=](const JobOption& option, CLI::App* command, JobFlags* flags) {
    return command->add_option(option.name, flags->*field, option.help)
        ->type_name(option.type)
        ->group(option.group)
        ->delimiter(delimiter)
        ->take_all()
        ->check(check);
  }};
}

template <typename T, typename Message>
JobValue Several(std::vector<T> JobFlags::*field,
                 google::protobuf::RepeatedField<T>* (Message::*list)()) {
  JobValue value = Several(field);
  value.set = [=](const JobOption&, const JobFlags& flags, v1::Job* job) {
    const std::vector<T>& given = flags.*field;
    if (!given.empty()) (PartOf<Message>(job)->*list)()->Assign(given.begin(), given.end());
  };
  return value;
}

inline JobValue Switch(bool JobFlags::*field) {
  return {[=](const JobOption& option, CLI::App* command, JobFlags* flags) {
    return command->add_flag(option.name, flags->*field, option.help)->group(option.group);
  }};
}

template <typename Message>
JobValue Switch(bool JobFlags::*field, void (Message::*set)(bool)) {
  JobValue value = Switch(field);
  value.set = [=](const JobOption&, const JobFlags& flags, v1::Job* job) {
    if (flags.*field) (PartOf<Message>(job)->*set)(true);
  };
  return value;
}

// A number. `scale` converts it from the flag's unit to the field's.
template <typename Number, typename Message, typename Value>
JobValue Amount(std::optional<Number> JobFlags::*field, const CLI::Validator& check,
                void (Message::*set)(Value), double scale = 1) {
  JobValue value = One(field, check);
  value.set = [=](const JobOption&, const JobFlags& flags, v1::Job* job) {
    if (!(flags.*field)) return;
    const Number given = *(flags.*field);
    if constexpr (std::is_integral_v<Number>) {
      (PartOf<Message>(job)->*set)(given);
    } else if constexpr (std::is_integral_v<Value>) {
      (PartOf<Message>(job)->*set)(std::llround(given * scale));
    } else {
      (PartOf<Message>(job)->*set)(given * scale);
    }
  };
  return value;
}

// Returns the fault of a text that is none of the names.
inline std::string NotOneOf(const std::vector<std::string>& names, const std::string& text) {
  return "must be " + Listed(names) + ", but is \"" + text + "\"";
}

template <typename Enum, size_t kSize>
CLI::Validator NameIn(const OptionNames<Enum, kSize>& names) {
  const auto check = [all = AllNames(names)](const std::string& text) {
    const bool known = std::find(all.begin(), all.end(), text) != all.end();
    return known ? "" : NotOneOf(all, text);
  };
  return CLI::Validator(check, "");
}

// A name of the table.
template <typename Enum, size_t kSize, typename Message>
JobValue Name(std::string JobFlags::*field, const OptionNames<Enum, kSize>& names,
              void (Message::*set)(Enum)) {
  JobValue value = One(field, NameIn(names));
  const auto* const table = &names;
  value.set = [=](const JobOption&, const JobFlags& flags, v1::Job* job) {
    if (!(flags.*field).empty()) (PartOf<Message>(job)->*set)(ValueOf(*table, flags.*field));
  };
  return value;
}

// "N" or "MIN:MAX". Another text makes `set` throw CommandError(kBadInput).
JobValue Degree(std::string JobFlags::*field, v1::DegreeRange* (v1::Constraints::*range)());

// Sets a field in a way of its own.
template <typename Set>
JobValue With(JobValue value, Set set) {
  value.set = [=](const JobOption&, const JobFlags& flags, v1::Job* job) { set(flags, job); };
  return value;
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_JOB_VALUES_H_
