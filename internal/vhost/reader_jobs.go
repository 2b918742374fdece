package vhost

import "github.com/bartleby-mq/bartleby/internal/vhost/fact"

// Redrives lists the jobs, the newest first.
func (r Reader) Redrives() []Job {
	all := make([]Job, 0, len(r.v.jobs.all))
	for i := len(r.v.jobs.all) - 1; i >= 0; i-- {
		all = append(all, r.v.jobs.all[i].shown())
	}
	return all
}

// RedriveJob shows one job.
func (r Reader) RedriveJob(id fact.JobID) (Job, bool) {
	if j := r.v.jobs.find(id); j != nil {
		return j.shown(), true
	}
	return Job{}, false
}
