#include "server/convert/unknown_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <set>
#include <string>
#include <vector>

namespace evenkeel::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Reports an unknown field. `path` is nullptr for the request itself. A field that occurs several
// times is reported once.
void Report(const Message& message, const FieldPath* path, ViolationSink& sink) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  if (unknown.empty()) return;
  std::set<int> numbers;
  for (int i = 0; i < unknown.field_count(); ++i) numbers.insert(unknown.field(i).number());
  for (const int number : numbers) {
    const std::string name = std::to_string(number);
    sink.Add(path == nullptr ? FieldPath(name) : path->Child(name),
             "unknown field " + name + ": not known to this version");
  }
}

void Visit(const Message& message, const FieldPath* path, ViolationSink& sink) {
  Report(message, path, sink);
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  const auto child = [&](const FieldDescriptor* field, int index) {
    return path == nullptr ? FieldPath(field->name()) : path->Child(field->name(), index);
  };
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      const FieldPath at = child(field, -1);
      Visit(reflection->GetMessage(message, field), &at, sink);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      const FieldPath at = child(field, i);
      Visit(reflection->GetRepeatedMessage(message, field, i), &at, sink);
    }
  }
}

}  // namespace

void CheckNoUnknownFields(const Message& message, ViolationSink& sink) {
  Visit(message, nullptr, sink);
}

}  // namespace evenkeel::server
