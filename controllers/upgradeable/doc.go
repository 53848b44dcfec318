// Package upgradeable asks OLM to hold an upgrade of the operator while a change of an object is under way that must not
// be cut short: the files change_*.go say which changes those are, hold.go for how long each counts, stretch.go for how long all together
// do, controller.go reports to OLM.
//
// A change that holds is one in which only the operator can bring the object back to where it is safe without the operator. Each is
// resumed after a crash. The hold avoids the time in between, and that a release which does not start leaves the change undone.
// Redis and EtcdCluster have such changes. The workload controllers of Kubernetes finish what has started for Memcached and
// EasyService. An Activity records each step before it takes it, its command runs on without the operator, and it may take hours.
//
// OLM makes an OperatorCondition for each version that it installs, names it in an environment variable and grants
// get, update and patch on that one object, so no role of ours mentions it. Without list and watch, the operator reads
// it live, and only when there is something new to say.
package upgradeable
