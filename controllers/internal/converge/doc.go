// Package converge moves any kind's children towards what its spec asks for.
//
// It is a library: a kind calls it, and it calls back only the reconcile function that is passed to Reconcile, and
// Finalize.
//
// # The contract
//
// Reconcile wraps every pass. It reads the object; runs the reconcile function; notes the generation; turns the
// function's error into conditions; saves the status once, only when it differs, also after an error; emits one event
// per condition that turned; and decides by the error what follows:
//
//   - a conflict is not reported, the pass runs again soon;
//   - the user's mistake (Invalid) is a condition naming the field and is not retried, unless the reconcile
//     function asks for a later pass, since time may end the mistake;
//   - waiting is no error but a ctrl.Result with RequeueAfter; a child that cannot be made yet is a condition, and
//     looked at again each second;
//   - everything else is wrapped, reported and backed off.
//
// A reconcile function that must record its intention before it acts calls save, which patches the status under the
// object's resourceVersion, then continues with the same object.
//
// Converge applies children with server-side apply, one field manager, and only the fields that the kind set. It sends
// a request only when the child does not hold what is desired, so it sends nothing at rest and nothing after a
// restart. It never touches objects that this very owner does not control, neither by apply nor by prune. It makes a
// workload once what its pods mount exists, and when no pod of a former workload has their names any more. A child of
// a type that the cluster lacks is a condition, and is made once the type is there.
//
// The cache may lag behind our own writes. Reconcile does not act on an object older than our last write of it: the
// event of that write brings the pass back. It may lag behind others' writes, too: what exists is changed or deleted only
// once the API server has confirmed, in the same pass, that the object is the newest. Call Confirm before a kind's own
// write that takes something away.
package converge
