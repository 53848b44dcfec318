package fleet

// modelCache is what the operator's caches have of an earlier time. Writes go to what there is now, and servers are asked now.
type modelCache struct {
	*model
	key uint64 // of the model
	// hasObject: the EtcdCluster is of that time, too. Without it only pods and claims are.
	hasObject bool
}

// cachedPods is what the caches have of pods, claims and backups.
func (m *model) cachedPods() *model {
	if m.Cache == nil {
		return m
	}
	return m.Cache.model
}

// cachedObject is what the caches have of the EtcdCluster.
func (m *model) cachedObject() *model {
	if m.Cache == nil || !m.Cache.hasObject {
		return m
	}
	return m.Cache.model
}

// lagging returns a model in which the caches may fall behind up to that often.
func lagging(m *model, times int) *model {
	m.Lags = times
	return m
}

// cacheActions have the caches of an operator that has just started fall behind, and catch up.
func cacheActions() []action {
	return []action{
		{"the caches of pods and claims fall behind", fallBehind(false)},
		{"all caches fall behind", fallBehind(true)},
		{"the caches catch up", func(m *model) (bool, error) {
			happens := m.Cache != nil
			m.Cache = nil
			return happens, nil
		}},
	}
}

func fallBehind(hasObject bool) func(*model) (bool, error) {
	return func(m *model) (bool, error) {
		if m.Lags == 0 || m.Cache != nil {
			return false, nil
		}
		m.Lags--
		now := m.clone()
		now.Asleep = nil
		m.Cache = &modelCache{model: now, key: now.key(), hasObject: hasObject}
		return true, nil
	}
}
