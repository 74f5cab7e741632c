// Locks of the standard library that clang's thread-safety analysis understands: it refuses code
// that touches a member marked ABSL_GUARDED_BY(mutex_) without holding mutex_. Other compilers see
// no difference. absl::Mutex is not used: the packaged library is not instrumented, so
// ThreadSanitizer would report races that do not exist.
#ifndef EVENKEEL_SERVER_BASE_MUTEX_H_
#define EVENKEEL_SERVER_BASE_MUTEX_H_

#include <absl/base/thread_annotations.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace evenkeel::server {

// Has the names of a standard mutex, because spdlog locks one with std::lock_guard. Our own code
// uses the locks below.
template <typename Std>
class ABSL_LOCKABLE BasicMutex {
 public:
  BasicMutex() = default;
  BasicMutex(const BasicMutex&) = delete;
  BasicMutex& operator=(const BasicMutex&) = delete;

  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { std_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { std_.unlock(); }

  // Tells the analysis that the lock is held where it cannot know this. Checks nothing.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  template <typename>
  friend class BasicMutexLock;

  Std std_;
};

using Mutex = BasicMutex<std::mutex>;
using RecursiveMutex = BasicMutex<std::recursive_mutex>;  // only for callbacks that re-enter

// Holds a mutex until the end of the scope.
template <typename Std>
class ABSL_SCOPED_LOCKABLE BasicMutexLock {
 public:
  explicit BasicMutexLock(BasicMutex<Std>& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex.std_) {}
  ~BasicMutexLock() ABSL_UNLOCK_FUNCTION() {}
  BasicMutexLock(const BasicMutexLock&) = delete;
  BasicMutexLock& operator=(const BasicMutexLock&) = delete;

  // Releases the mutex for a while.
  void Unlock() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { lock_.lock(); }

 private:
  friend class CondVar;

  std::unique_lock<Std> lock_;
};

using MutexLock = BasicMutexLock<std::mutex>;
using RecursiveMutexLock = BasicMutexLock<std::recursive_mutex>;

// A condition variable. A predicate that reads guarded members says so:
//   wake_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
// The analysis cannot see that Wait calls it with the lock held, so it skips these functions.
class CondVar {
 public:
  void NotifyOne() { std_.notify_one(); }
  void NotifyAll() { std_.notify_all(); }

  void Wait(MutexLock& lock) { std_.wait(lock.lock_); }

  template <typename Predicate>
  void Wait(MutexLock& lock, Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std_.wait(lock.lock_, std::move(predicate));
  }

  template <typename Clock, typename Duration>
  void WaitUntil(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    std_.wait_until(lock.lock_, time);
  }

  // Return what the predicate returns at the end.
  template <typename Clock, typename Duration, typename Predicate>
  bool WaitUntil(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time,
                 Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return std_.wait_until(lock.lock_, time, std::move(predicate));
  }
  template <typename Rep, typename Period, typename Predicate>
  bool WaitFor(MutexLock& lock, const std::chrono::duration<Rep, Period>& time,
               Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return std_.wait_for(lock.lock_, time, std::move(predicate));
  }

 private:
  std::condition_variable std_;
};

// A mutex that many readers, or one writer, may hold.
class ABSL_LOCKABLE SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

 private:
  friend class ReaderMutexLock;
  friend class WriterMutexLock;

  std::shared_mutex std_;
};

class ABSL_SCOPED_LOCKABLE ReaderMutexLock {
 public:
  explicit ReaderMutexLock(SharedMutex& mutex) ABSL_SHARED_LOCK_FUNCTION(mutex)
      : lock_(mutex.std_) {}
  ~ReaderMutexLock() ABSL_UNLOCK_FUNCTION() {}
  ReaderMutexLock(const ReaderMutexLock&) = delete;
  ReaderMutexLock& operator=(const ReaderMutexLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class ABSL_SCOPED_LOCKABLE WriterMutexLock {
 public:
  explicit WriterMutexLock(SharedMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex.std_) {}
  ~WriterMutexLock() ABSL_UNLOCK_FUNCTION() {}
  WriterMutexLock(const WriterMutexLock&) = delete;
  WriterMutexLock& operator=(const WriterMutexLock&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_BASE_MUTEX_H_
