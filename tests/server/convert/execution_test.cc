// Defaults of trainers in both directions: a plan states all of them, whatever their values.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "evenkeel/v1/job.pb.h"
#include "planner/trainer/trainers.h"
#include "server/convert/job/execution_from_proto.h"

namespace evenkeel::server {
namespace {

using google::protobuf::FieldDescriptor;

v1::Execution ToProto(const planner::Execution& execution) {
  v1::Execution out;
  ExecutionToProto(execution, &out);
  return out;
}

// Sets the field of `to` to a valid value that it does not have in `from`. Powers of two survive
// changes of unit.
void SetAnother(const v1::Execution& from, const FieldDescriptor* field, v1::Execution* to) {
  const auto& reflection = *from.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(to, field, !reflection.GetBool(from, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(to, field, reflection.GetInt32(from, field) + 1);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(to, field, reflection.GetInt64(from, field) + 1);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(to, field, field->name() == "kernel_rate_ratio" ? 0.5 : 1. / 128);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(to, field, reflection.GetEnumValue(from, field) == 2 ? 1 : 2);
    default:
      FAIL() << field->full_name() << " is of a type that the test does not know";
  }
}

// Returns whether the trainer has the same value in both, and both say so.
bool SameField(const v1::Execution& a, const v1::Execution& b, const FieldDescriptor* field) {
  v1::Execution one, two;
  const auto copy = [field](const v1::Execution& from, v1::Execution* to) {
    *to = from;
    const auto* descriptor = from.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i)
      if (descriptor->field(i) != field) to->GetReflection()->ClearField(to, descriptor->field(i));
  };
  copy(a, &one);
  copy(b, &two);
  return one.SerializeAsString() == two.SerializeAsString();
}

TEST(ExecutionTest, EveryFieldIsStatedAndComesBack) {
  for (const char* name : {"megatron-core", "pytorch-fsdp", "torchtitan", "huggingface-trainer"}) {
    const planner::Trainer& trainer = *planner::FindTrainer(name);
    const planner::Execution defaults = planner::DefaultExecution(trainer, trainer.zero_stage);
    const v1::Execution stated = ToProto(defaults);
    const auto* descriptor = stated.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      EXPECT_TRUE(stated.GetReflection()->HasField(stated, field)) << name << ' ' << field->name();
      v1::Execution asked;
      if (field->name() == "compiled_loss") asked.set_fused_loss(false);  // they exclude each other
      SetAnother(stated, field, &asked);
      planner::Execution read = defaults;
      ViolationSink sink(10);
      ExecutionFromProto(asked, FieldPath("execution"), sink, &read);
      EXPECT_EQ(sink.count(), 0) << name << ' ' << field->name();
      EXPECT_TRUE(SameField(ToProto(read), asked, field)) << name << ' ' << field->name();
    }
  }
}

}  // namespace
}  // namespace evenkeel::server
