// Package upgradeable asks OLM to wait with an upgrade of the operator while an
// object is in a step that must not be cut: step.go says which steps those are,
// hold.go for how long they count, controller.go tells OLM.
//
// OLM makes an OperatorCondition for each version that it installs, names it in an
// environment variable and grants get, update and patch on that one object, so no
// role of ours speaks of it. There is no list and no watch: it is read live, and
// only when there is something new to say.
package upgradeable
