package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// A password is sent only to an address that the API server, asked live, gives to a pod of ours: another tenant's
// pod may have the address by now. So each new connection is confirmed before the login. At rest no pass runs, so nothing is asked.

// confirmNode returns what confirms a connection to a node: its pod has the address, and is ours.
func (f *Fleet) confirmNode(m topology.Node) wire.Confirm {
	set, isRecorded := f.Set.UID, topology.IsRecorded(f.Redis.Status.Replication, m.PodUID)
	return f.confirmPod(m, func(owner types.UID) bool {
		return owner == set && set != "" || isRecorded // without an owner while a StatefulSet that was recreated takes its pods back
	})
}

// confirmSource is the same for the pod that serves a backup.
func (f *Fleet) confirmSource(m topology.Node) wire.Confirm {
	redis := f.Redis.UID
	return f.confirmPod(m, func(owner types.UID) bool { return owner == redis })
}

// confirmPod passes the UID of the pod's controller to isOurs, empty if it has none. A connection may be confirmed after its pass
// gave up waiting for it, so the returned function has copies of the pass's values and not its object, which later steps change.
func (f *Fleet) confirmPod(m topology.Node, isOurs func(owner types.UID) bool) wire.Confirm {
	reader, key := f.operator.APIReader, ctrlclient.ObjectKey{Namespace: f.Redis.Namespace, Name: m.Name}
	return func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := reader.Get(ctx, key, pod); err != nil {
			if !apierrors.IsNotFound(err) {
				err = errors.Join(wire.ErrNotFoundOut, err)
			}
			return fmt.Errorf("confirming the address of pod %q: %w", m.Name, err)
		}
		owner := ptr.Deref(metav1.GetControllerOfNoCopy(pod), metav1.OwnerReference{}).UID
		if pod.UID != m.PodUID || !HoldsAddress(pod, m.Address) || !isOurs(owner) {
			return fmt.Errorf("address %s is not, or no longer, that of pod %q", m.Address, m.Name)
		}
		return nil
	}
}

// HoldsAddress reports whether a pod has the address: one that has ended does not, though its status still names it.
func HoldsAddress(pod *corev1.Pod, address string) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !ended && (pod.Status.PodIP == address || slices.ContainsFunc(pod.Status.PodIPs,
		func(ip corev1.PodIP) bool { return ip.IP == address }))
}

// masterConnection is the connection to the recorded master, kept from the last pass: it leads to that process for as long as
// it lasts, even if another pod gets the address. So a master whose pod is deleted by force can still hand over.
type masterConnection struct {
	podUID types.UID
	server server
}

// takeMasterConnection takes the connection that was kept.
func (m *Memory) takeMasterConnection() masterConnection {
	kept := m.masterConnection
	m.masterConnection = masterConnection{}
	return kept
}

// openGhost returns the connection to the recorded master whose pod is gone, and notes whether it can be asked: by the
// connection that was kept, or by a new one if TLS proves whose server it is before the login.
func (f *Fleet) openGhost(kept masterConnection, open func() server) server {
	switch {
	case f.Spec.TLS:
		return open()
	case kept.server != nil && kept.podUID == f.Ghost.PodUID:
		f.ghostKept = true
		return kept.server
	}
	f.Ghost.Unasked = true
	return wire.Knock(f.Ghost.Address)
}

// Close closes all connections but that to the recorded master, which is kept if it answers.
func (f *Fleet) Close() {
	if rep := f.Redis.Status.Replication; rep != nil && !f.Spec.TLS {
		m, s := f.RecordedMaster(rep.Master), f.masterServer()
		if s != nil && m.PodUID == rep.Master.PodUID && m.IsProcess(rep.Master) && (f.Ghost == nil || f.ghostKept) {
			f.memory.masterConnection = masterConnection{m.PodUID, s}
			f.keeps = s
		}
	}
	f.closeConnections()
}

// closeConnections closes all connections but the one that the next pass may need.
func (f *Fleet) closeConnections() {
	for _, s := range append(slices.Collect(maps.Values(f.servers)), f.ghostServer, f.sourceServer) {
		if s != nil && s != f.keeps {
			s.Close()
		}
	}
}
