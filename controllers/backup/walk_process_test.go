package backup

import "github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"

// process waits for its turn before each of its calls and after it. There it can be killed.
type process struct {
	resume chan bool     // true: continue; false: it was killed
	paused chan struct{} // it waits for its turn; closed: it has ended
	dead   bool
	ended  bool // seen from outside
}

func startProcess(main func(p *process)) *process {
	p := &process{resume: make(chan bool), paused: make(chan struct{})}
	go func() {
		defer close(p.paused) // also if the test fails within
		if p.turn() {
			main(p)
		}
	}()
	p.await()
	return p
}

// turn waits until the process may continue; false: it was killed.
func (p *process) turn() bool {
	if !p.dead {
		p.paused <- struct{}{}
		p.dead = !<-p.resume
	}
	return !p.dead
}

func (p *process) await() {
	_, waits := <-p.paused
	p.ended = !waits
}

func (p *process) step() {
	if !p.ended {
		p.resume <- true
		p.await()
	}
}

func (p *process) kill() {
	if !p.ended {
		p.resume <- false
		p.await()
	}
}

// call makes one call of the process, which can be killed before and after it.
func (p *process) call(do func() error) error {
	if !p.turn() {
		return oncetest.ErrKilled
	}
	err := do()
	if !p.turn() {
		return oncetest.ErrKilled
	}
	return err
}
