// Package upgradeable asks OLM to hold an upgrade of the operator while a change of an object is under way that must not
// be cut short: change.go says which changes those are, hold.go for how long they count, controller.go tells OLM.
//
// OLM makes an OperatorCondition for each version that it installs, names it in an environment variable and grants
// get, update and patch on that one object, so no role of ours mentions it. Without list and watch, the operator reads
// it live, and only when there is something new to say.
package upgradeable
