#include "server/calibration/shared_subjects.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/calibration/profile_store.h"

namespace evenkeel::server {
namespace {

HistoryEntry Described(const std::string& description, const std::string& author = "tester") {
  HistoryEntry entry;
  entry.author = author;
  entry.texts.software = std::string("a trainer");
  entry.texts.described_model = description;
  planner::ModelSpec model;
  model.name = "mine";
  entry.rated.profile.model = std::move(model);
  planner::StepMeasurement step;
  step.model_version = std::string("a model");
  step.layer_version = std::string("a version");
  entry.rated.profile.steps = {step};
  return entry;
}

const planner::ModelSpec* ModelOf(const HistoryEntry& entry) { return &*entry.profile().model; }

TEST(SharedSubjectsTest, EqualTextsAreOne) {
  SharedSubjects subjects;
  HistoryEntry a = Described("x"), b = Described("x", "other");
  subjects.Share(&a);
  subjects.Share(&b);
  EXPECT_EQ(&*a.texts.software, &*b.texts.software);
  EXPECT_EQ(&*a.texts.described_model, &*b.texts.described_model);
  const planner::StepMeasurement &s = a.profile().steps[0], &t = b.profile().steps[0];
  EXPECT_EQ(&*s.model_version, &*t.model_version);
  EXPECT_EQ(&*s.layer_version, &*t.layer_version);
  EXPECT_NE(&*a.author, &*b.author);
  EXPECT_EQ(*b.author, "other");
}

// Models of one name differ by what describes them.
TEST(SharedSubjectsTest, ModelsAreSharedByDescription) {
  SharedSubjects subjects;
  HistoryEntry a = Described("x"), b = Described("y"), c = Described("x");
  for (HistoryEntry* entry : {&a, &b, &c}) subjects.Share(entry);
  EXPECT_EQ(ModelOf(a), ModelOf(c));
  EXPECT_NE(ModelOf(a), ModelOf(b));
}

// Roll-backs have no subject that a profile could be given.
TEST(SharedSubjectsTest, RollBacksShareTheirAuthorOnly) {
  SharedSubjects subjects;
  HistoryEntry back = Described(""), profile = Described("");
  back.action = ProfileAction::kRemove;
  subjects.Share(&back);
  subjects.Share(&profile);
  EXPECT_EQ(&*back.author, &*profile.author);
  EXPECT_NE(ModelOf(back), ModelOf(profile));
}

TEST(SharedSubjectsTest, AnyNumberOfModelsIsShared) {
  SharedSubjects subjects;
  std::vector<HistoryEntry> first, again;
  for (std::vector<HistoryEntry>* round : {&first, &again}) {
    for (int i = 0; i < 1000; ++i) {
      round->push_back(Described(std::to_string(i)));
      subjects.Share(&round->back());
    }
  }
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(ModelOf(first[i]), ModelOf(again[i])) << i;
}

// Otherwise models that come and go would fill the memory.
TEST(SharedSubjectsTest, WhatNoEntryUsesIsForgotten) {
  SharedSubjects subjects;
  HistoryEntry kept = Described("kept");
  subjects.Share(&kept);
  for (int i = 0; i < 10'000; ++i) {
    HistoryEntry passing = Described(std::to_string(i));
    subjects.Share(&passing);
  }
  EXPECT_LE(subjects.size(), 256u);
  HistoryEntry same = Described("kept");
  subjects.Share(&same);
  EXPECT_EQ(ModelOf(same), ModelOf(kept));
}

// A server keeps one of each for every step outcome that it ever got.
TEST(HistoryEntryTest, IsSmall) {
  EXPECT_LE(sizeof(HistoryEntry) + sizeof(planner::StepMeasurement), 480u);
}

TEST(MemoryProfileStoreTest, IsFullAtItsLimit) {
  MemoryProfileStore store(1000);
  ProfileRecord record;
  record.profile = std::string(300, 'x');
  EXPECT_EQ(store.Append(record).revision, 1);
  EXPECT_EQ(store.Append(record).revision, 2);
  EXPECT_EQ(store.Append(record).error, "profile store in memory: the store is full");
  record.profile.clear();
  EXPECT_EQ(store.Append(record).revision, 3);
}

}  // namespace
}  // namespace evenkeel::server
