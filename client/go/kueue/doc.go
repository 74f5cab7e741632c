// Package kueue is an admission check of Kueue: a job that has quota is admitted once the planner says that it fits, with
// the plan's id on its pods. docs/KUEUE.md says how to run it.
package kueue
