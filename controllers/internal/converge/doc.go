// Package converge moves any kind's children towards what its spec asks for.
//
// It is a library: a kind calls it, and it calls back nothing but the story
// that Reconcile runs and the one release hook.
//
// # The contract
//
// Reconcile is the envelope of every pass. It reads the object; runs the story;
// notes the generation; folds the story's error into the conditions; saves the
// status once, only when it differs, also after an error; emits one event per
// condition that turned; and gives the error its fate:
//
//   - a conflict is quiet, the pass runs again soon;
//   - the user's mistake (Invalid) is a condition naming the field and is not retried,
//     unless the story asks for a later pass, since time may end it;
//   - waiting is no error but a ctrl.Result with RequeueAfter; a child that cannot be
//     made yet is a condition, and looked at again each second;
//   - everything else is wrapped, reported and backed off.
//
// A story that must write its intention down before it acts calls Save, which
// patches the status under the object's resourceVersion, then goes on with the
// same object.
//
// Converge applies children with server-side apply, one field manager, and only
// the fields that the kind set. A request is sent only when the child does not
// hold what is desired, so nothing is sent at rest and nothing after a restart.
// Objects that this very owner does not control are never touched, neither by
// apply nor by prune. A workload is made when what its pods mount stands, and when
// no pod of a former one has their names any more. A child of a type that the cluster
// lacks is a condition, and made once the type is there.
//
// The cache may lag behind our own writes. An object older than our last write
// of it is not acted on: the event of that write brings the pass back.
package converge
