#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "planner/catalog/catalog.h"
#include "planner/hardware/gpus.h"

namespace evenkeel::fuzz {
namespace {

using google::protobuf::Message;
using google::protobuf::Reflection;
using Field = google::protobuf::FieldDescriptor;

// Lists the message and all messages below it.
void Gather(Message* message, std::vector<Message*>* all) {
  all->push_back(message);
  const Reflection& reflection = *message->GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(*message, &fields);
  for (const Field* field : fields) {
    if (field->cpp_type() != Field::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Gather(reflection.MutableMessage(message, field), all);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      Gather(reflection.MutableRepeatedMessage(message, field, i), all);
    }
  }
}

}  // namespace

void MessageMutator::Mutate(Message* message) {
  for (size_t left = 1 + Below(4); left > 0; --left) ChangeOne(message);
}

void MessageMutator::ChangeOne(Message* message) {
  std::vector<Message*> all;
  Gather(message, &all);
  Message* chosen = all[Below(all.size())];
  const google::protobuf::Descriptor* type = chosen->GetDescriptor();
  if (type->field_count() == 0) return;
  const Field* field =
      type->field(static_cast<int>(Below(static_cast<size_t>(type->field_count()))));
  // Fields that are set are worth more than others.
  std::vector<const Field*> set;
  chosen->GetReflection()->ListFields(*chosen, &set);
  if (!set.empty() && Below(3) != 0) field = set[Below(set.size())];
  field->is_repeated() ? ChangeList(chosen, field) : ChangeField(chosen, field);
}

void MessageMutator::ChangeField(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  if (Below(8) == 0) return reflection.ClearField(message, field);
  if (field->cpp_type() != Field::CPPTYPE_MESSAGE) return SetScalar(message, field, -1);
  if (reflection.HasField(*message, field))
    return ChangeOne(reflection.MutableMessage(message, field));
  reflection.MutableMessage(message, field);
}

void MessageMutator::ChangeList(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  const int size = reflection.FieldSize(*message, field);
  const int any = size == 0 ? 0 : static_cast<int>(Below(static_cast<size_t>(size)));
  const bool messages = field->cpp_type() == Field::CPPTYPE_MESSAGE;
  switch (size == 0 ? 0 : Below(6)) {
    case 0:
      if (!messages) return SetScalar(message, field, size);
      reflection.AddMessage(message, field);
      return;
    case 1:
      if (!messages) return SetScalar(message, field, size);
      reflection.AddMessage(message, field)
          ->CopyFrom(reflection.GetRepeatedMessage(*message, field, any));
      return;
    case 2:
      return reflection.RemoveLast(message, field);
    case 3:
      return reflection.SwapElements(message, field, any, size - 1);
    default:
      if (!messages) return SetScalar(message, field, any);
      ChangeOne(reflection.MutableRepeatedMessage(message, field, any));
  }
}

// Sets an element of a list, appends one if `index` is the list's size, or sets the field if
// `index` is -1.
void MessageMutator::SetScalar(Message* message, const Field* field, int index) {
  const Reflection& reflection = *message->GetReflection();
  const bool append = index >= 0 && index == reflection.FieldSize(*message, field);
  const int from = append ? index - 1 : index;  // index of the old value
  const auto apply = [&](auto get, auto get_one, auto set, auto set_one, auto add, auto change) {
    using Value = std::decay_t<decltype((reflection.*get)(*message, field))>;
    Value old{};
    if (index < 0) old = (reflection.*get)(*message, field);
    if (index >= 0 && from >= 0) old = (reflection.*get_one)(*message, field, from);
    const auto value = static_cast<Value>(change(old));
    if (index < 0) return (reflection.*set)(message, field, value);
    append ? (reflection.*add)(message, field, value)
           : (reflection.*set_one)(message, field, index, value);
  };
  const auto whole = [this](auto old) { return Integer(static_cast<int64_t>(old)); };
  const auto real = [this](auto old) { return Real(static_cast<double>(old)); };
#define EVENKEEL_APPLY(Type, change)                                                    \
  apply(&Reflection::Get##Type, &Reflection::GetRepeated##Type, &Reflection::Set##Type, \
        &Reflection::SetRepeated##Type, &Reflection::Add##Type, change)
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return EVENKEEL_APPLY(Int32, whole);
    case Field::CPPTYPE_INT64:
      return EVENKEEL_APPLY(Int64, whole);
    case Field::CPPTYPE_UINT32:
      return EVENKEEL_APPLY(UInt32, whole);
    case Field::CPPTYPE_UINT64:
      return EVENKEEL_APPLY(UInt64, whole);
    case Field::CPPTYPE_DOUBLE:
      return EVENKEEL_APPLY(Double, real);
    case Field::CPPTYPE_FLOAT:
      return EVENKEEL_APPLY(Float, real);
    case Field::CPPTYPE_BOOL:
      return EVENKEEL_APPLY(Bool, [](bool old) { return !old; });
    case Field::CPPTYPE_ENUM:
      return EVENKEEL_APPLY(EnumValue, [&](int old) {
        const auto values = static_cast<size_t>(field->enum_type()->value_count());
        return Below(16) == 0 ? old + 100 : static_cast<int>(Below(values));
      });
    case Field::CPPTYPE_STRING:
      return apply(&Reflection::GetString, &Reflection::GetRepeatedString, &Reflection::SetString,
                   &Reflection::SetRepeatedString, &Reflection::AddString,
                   [this](const std::string& old) { return Text(old); });
    case Field::CPPTYPE_MESSAGE:
      return;
  }
#undef EVENKEEL_APPLY
}

int64_t MessageMutator::Integer(int64_t old) {
  const auto wide = static_cast<uint64_t>(old);  // wraps around
  const int64_t power = int64_t{1} << Below(63);
  switch (Below(12)) {
    case 0:
      return 0;
    case 1:
      return static_cast<int64_t>(wide + 1);
    case 2:
      return static_cast<int64_t>(wide - 1);
    case 3:
      return static_cast<int64_t>(wide * 2);
    case 4:
      return old / 2;
    case 5:
      return static_cast<int64_t>(0 - wide);
    case 6:
      return power;
    case 7:
      return power - 1;
    case 8:
      return std::numeric_limits<int64_t>::max();
    case 9:
      return std::numeric_limits<int64_t>::min();
    default:
      return static_cast<int64_t>(Below(Below(2) == 0 ? 17 : 5000));
  }
}

double MessageMutator::Real(double old) {
  using Limits = std::numeric_limits<double>;
  constexpr double kSpecial[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 1e-9,
                                 1e9,
                                 1e308,
                                 Limits::denorm_min(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN()};
  switch (Below(6)) {
    case 0:
      return kSpecial[Below(std::size(kSpecial))];
    case 1:
      return old * 2;
    case 2:
      return old / 2;
    case 3:
      return -old;
    default:
      return static_cast<double>(Below(100'000)) / static_cast<double>(1 + Below(1000));
  }
}

std::string MessageMutator::Text(const std::string& old) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"", "plan-0123456789abcdef0123456789abcdef",
                                    "ds-0123456789abcdef0123456789abcdef"};
    for (const auto& entry : planner::LanguageModels()) all.push_back(entry.spec.name);
    for (const auto& entry : planner::VisionLanguageModels()) all.push_back(entry.spec.name);
    for (const auto& entry : planner::Encoders()) all.push_back(entry.spec.name);
    for (const auto& entry : planner::Gpus()) all.push_back(entry.spec.name);
    return all;
  }();
  if (Below(4) != 0) return names[Below(names.size())];
  std::string changed = bytes_(old);
  // Returns mostly text, because other bytes do not get past the parser.
  if (Below(8) == 0) return changed;
  for (char& c : changed) c = static_cast<char>(' ' + static_cast<unsigned char>(c) % 95);
  return changed;
}

void MessageMutator::Cross(const Message& donor, Message* message) {
  std::vector<Message*> into;
  Gather(message, &into);
  std::vector<Message*> from;
  const std::unique_ptr<Message> copy(donor.New());
  copy->CopyFrom(donor);
  Gather(copy.get(), &from);
  Message* target = into[Below(into.size())];
  std::erase_if(
      from, [&](const Message* part) { return part->GetDescriptor() != target->GetDescriptor(); });
  if (from.empty()) return;
  const Message* source = from[Below(from.size())];
  Below(2) == 0 ? target->CopyFrom(*source) : target->MergeFrom(*source);
}

}  // namespace evenkeel::fuzz
