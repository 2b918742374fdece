package queue

// PlantRequeueLast makes m, which is new, offer what was returned only after everything else: a fault planted
// on purpose, for tests that prove that a checker can fail. Nothing else calls it.
func (m *Messages) PlantRequeueLast() {
	for i := range m.lanes {
		m.lanes[i].requeueLast = true
	}
}
