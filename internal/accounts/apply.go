package accounts

// Apply applies one fact made earlier or elsewhere. It cannot fail: an expression that no longer compiles permits
// nothing. It keeps the fact's slices, which must not change afterwards.
func (m *Machine) Apply(f Fact) {
	v := &m.now
	if f.Kind == DeedRecorded {
		v.audit.add(f.Deed)
		return
	}
	v.version++
	switch f.Kind {
	case UserPut:
		u := &User{Name: f.User, Hash: f.Hash, Algorithm: f.Algorithm, Tags: f.Tags}
		if old, ok := v.users.rows[f.User]; ok {
			u.Limits = old.Limits
		}
		v.users.put(f.User, u)
	case UserDeleted:
		v.users.remove(f.User)
		v.removePermissions(func(g grant) bool { return g.user == f.User })
		v.removeTopics(func(g topicGrant) bool { return g.user == f.User })
	case VHostPut:
		v.putVHost(f)
	case VHostDeleted:
		v.vhosts.remove(f.VHost)
		v.removePermissions(func(g grant) bool { return g.vhost == f.VHost })
		v.removeTopics(func(g topicGrant) bool { return g.vhost == f.VHost })
	case PermissionSet:
		p, _ := newPermission(f)
		v.largeBytes += p.bytes - v.largeBytesOf(f)
		v.permissions.put(grant{f.User, f.VHost}, p)
	case PermissionCleared:
		v.largeBytes -= v.largeBytesOf(f)
		v.permissions.remove(grant{f.User, f.VHost})
	case TopicPermissionSet:
		t, _ := newTopicPermission(f)
		v.topicsBytes += t.bytes - v.topicBytes(f)
		v.topics.put(topicGrant{f.User, f.VHost, f.Exchange}, t)
	case TopicPermissionCleared:
		v.clearTopics(f)
	case GlobalParameterSet:
		v.globalsBytes += sizeOfGlobal(f.Name, f.Value) - v.sizeOfGlobal(f.Name)
		v.globals.put(f.Name, &GlobalParameter{Name: f.Name, Value: f.Value})
	case GlobalParameterCleared:
		v.globalsBytes -= v.sizeOfGlobal(f.Name)
		v.globals.remove(f.Name)
	case VHostLimitSet, VHostLimitCleared:
		v.limitVHost(f)
	case UserLimitSet, UserLimitCleared:
		v.limitUser(f)
	case LogIDsUsed:
		v.nextLogID = max(v.nextLogID, f.LogID+1)
	case ImportBegun:
		v.importing = &Import{Source: f.Name, Value: f.Value}
	case ImportEnded:
		v.importing = nil
	}
}

func (v *View) putVHost(f Fact) {
	h := &VHost{
		Name: f.VHost, LogID: f.LogID, Description: f.Description, Tags: f.Tags,
		DefaultQueueType: f.DefaultQueueType, Tracing: f.Tracing, Protected: f.Protected,
	}
	if old, ok := v.vhosts.rows[f.VHost]; ok {
		h.Limits = old.Limits
	}
	v.vhosts.put(f.VHost, h)
	v.nextLogID = max(v.nextLogID, f.LogID+1)
}

// removePermissions takes permissions away.
func (v *View) removePermissions(from func(grant) bool) {
	for g, p := range v.permissions.rows {
		if from(g) {
			v.largeBytes -= p.bytes
		}
	}
	v.permissions.removeAll(from)
}

// largeBytesOf is what the permission that f is about takes of largeBytes, 0 if there is none.
func (v *View) largeBytesOf(f Fact) int {
	if p, ok := v.permissions.rows[grant{f.User, f.VHost}]; ok {
		return p.bytes
	}
	return 0
}

func (v *View) clearTopics(f Fact) {
	if f.Exchange != "" {
		v.topicsBytes -= v.topicBytes(f)
		v.topics.remove(topicGrant{f.User, f.VHost, f.Exchange})
		return
	}
	v.removeTopics(func(g topicGrant) bool { return g.user == f.User && g.vhost == f.VHost })
}

// removeTopics takes topic permissions away.
func (v *View) removeTopics(from func(topicGrant) bool) {
	for g, t := range v.topics.rows {
		if from(g) {
			v.topicsBytes -= t.bytes
		}
	}
	v.topics.removeAll(from)
}

// topicBytes is what the topic permission that f is about takes of topicsBytes, 0 if there is none.
func (v *View) topicBytes(f Fact) int {
	if t, ok := v.topics.rows[topicGrant{f.User, f.VHost, f.Exchange}]; ok {
		return t.bytes
	}
	return 0
}

func (v *View) limitVHost(f Fact) {
	old, ok := v.vhosts.rows[f.VHost]
	if !ok {
		return
	}
	h := *old
	h.Limits = f.changeLimits(old.Limits)
	v.vhosts.put(f.VHost, &h)
}

func (v *View) limitUser(f Fact) {
	old, ok := v.users.rows[f.User]
	if !ok {
		return
	}
	u := *old
	u.Limits = f.changeLimits(old.Limits)
	v.users.put(f.User, &u)
}

func (f Fact) changeLimits(limits []Limit) []Limit {
	if f.Kind == VHostLimitCleared || f.Kind == UserLimitCleared {
		return withoutLimit(limits, f.Name)
	}
	return withLimit(limits, Limit{Name: f.Name, Value: f.Limit})
}
