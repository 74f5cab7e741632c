// Walks every leaf of the Job message. A hostile value must give a violation at its path, unless it
// is accepted on purpose.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Fields that take any value of their type, and why.
const std::set<std::string>& AcceptedAsTheyAre() {
  static const auto& fields = *new const std::set<std::string>{
      "job.training.seed",  // any 64 bits
  };
  return fields;
}

// A place of the walk: the path of a message, and how to find it in a fresh request.
struct Place {
  std::string path;
  std::function<Message*(v1::PlanJobRequest*)> find;
};

// Sets one leaf, or adds to it.
using Setter = std::function<void(Message*, const FieldDescriptor*)>;

template <typename Value, typename Set, typename Add>
Setter Assign(Value value, Set set, Add add) {
  return [=](Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    if (!field->is_repeated()) {
      (reflection->*set)(message, field, value);
    } else if (reflection->FieldSize(*message, field) == 0) {
      (reflection->*add)(message, field, value);
    } else {  // the first element, so that lists keep their lengths
      message->GetReflection()->RemoveLast(message, field);
      (reflection->*add)(message, field, value);
    }
  };
}

std::vector<Setter> HostileValues(const FieldDescriptor* field) {
  std::vector<Setter> setters;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      for (const int32_t value :
           {-1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
        setters.push_back(Assign(value, &Reflection::SetInt32, &Reflection::AddInt32));
      }
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      for (const int64_t value : {int64_t{-1}, std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()}) {
        setters.push_back(Assign(value, &Reflection::SetInt64, &Reflection::AddInt64));
      }
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      for (const double value :
           {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
            std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        setters.push_back(Assign(value, &Reflection::SetDouble, &Reflection::AddDouble));
      }
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      for (const int value : {-1, 1000, std::numeric_limits<int>::max()}) {
        setters.push_back(Assign(value, &Reflection::SetEnumValue, &Reflection::AddEnumValue));
      }
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      for (const std::string& value : {std::string(100000, 'x'), std::string("\x1b[2J")}) {
        setters.push_back([value](Message* message, const FieldDescriptor* f) {
          const Reflection* reflection = message->GetReflection();
          if (f->is_repeated()) {
            reflection->AddString(message, f, value);
          } else {
            reflection->SetString(message, f, value);
          }
        });
      }
      break;
    default:  // a bool has no hostile value
      break;
  }
  return setters;
}

// Returns whether the violation is about the leaf or one of its elements.
bool IsAbout(const std::string& violation, const std::string& leaf) {
  return violation == leaf || violation.starts_with(leaf + "[");
}

void ExpectRefused(const v1::PlanJobRequest& request, const std::string& leaf) {
  planner::Job job;
  const std::vector<Violation> violations = JobFromProto(request, &job);
  bool about = false;
  std::string seen;
  for (const Violation& violation : violations) {
    about = about || IsAbout(violation.field, leaf);
    seen += "\n  " + violation.field + ": " + violation.description;
  }
  EXPECT_TRUE(about) << leaf << " took " << request.ShortDebugString().substr(0, 4000) << seen;
}

class Walk {
 public:
  explicit Walk(std::string base) : base_(std::move(base)) {}

  void Visit(const google::protobuf::Descriptor* type, const Place& place) {
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      const std::string path = place.path + "." + field->name();
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Visit(field->message_type(), Inside(place, field, path));
      } else {
        VisitLeaf(field, place, path);
      }
    }
  }
  int leaves() const { return leaves_; }

 private:
  // Makes the message if the base request lacks it.
  static Place Inside(const Place& place, const FieldDescriptor* field, const std::string& path) {
    const auto find = [=](v1::PlanJobRequest* request) -> Message* {
      Message* parent = place.find(request);
      const Reflection* reflection = parent->GetReflection();
      if (!field->is_repeated()) return reflection->MutableMessage(parent, field);
      if (reflection->FieldSize(*parent, field) == 0) return reflection->AddMessage(parent, field);
      return reflection->MutableRepeatedMessage(parent, field, 0);
    };
    return {field->is_repeated() ? path + "[0]" : path, find};
  }

  void VisitLeaf(const FieldDescriptor* field, const Place& place, const std::string& path) {
    ++leaves_;
    for (const Setter& set : HostileValues(field)) {
      v1::PlanJobRequest request = Parse(base_);
      set(place.find(&request), field);
      if (AcceptedAsTheyAre().contains(path)) {
        planner::Job job;
        EXPECT_TRUE(JobFromProto(request, &job).empty()) << path;
      } else {
        ExpectRefused(request, path);
      }
    }
  }

  std::string base_;
  int leaves_ = 0;
};

TEST(JobFields, EachRefusesHostileValues) {
  Walk walk(DescribedText());
  walk.Visit(v1::Job::descriptor(),
             {"job", [](v1::PlanJobRequest* request) { return request->mutable_job(); }});
  EXPECT_GT(walk.leaves(), 80);
}

// The walk must start from a valid request, or it would prove nothing.
TEST(JobFields, TheBaseIsValid) { JobOf(DescribedText()); }

}  // namespace
}  // namespace evenkeel::server
