package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Local volumes are made in advance: kubelet has no provisioner for them.
// fsGroup works on them, which it does not on hostPath volumes.
const (
	smallVolumes = 48 // of 1Gi
	largeVolumes = 4  // of 10Gi
	volumesPath  = "/api/v1/persistentvolumes"
)

// volume is as much of a PersistentVolume as is read here.
type volume struct {
	Metadata struct {
		Name              string
		DeletionTimestamp *time.Time
	}
	Status struct{ Phase string }
}

type volumeList struct {
	Metadata struct{ ResourceVersion string }
	Items    []volume
}

// wantedVolumes maps names to sizes.
func wantedVolumes() map[string]string {
	wanted := map[string]string{}
	for i := range smallVolumes {
		wanted[fmt.Sprintf("local-%02d", i+1)] = "1Gi"
	}
	for i := range largeVolumes {
		wanted[fmt.Sprintf("local-large-%02d", i+1)] = "10Gi"
	}
	return wanted
}

// keepVolumes runs for ever: a volume that its claim has left is emptied and
// recreated, as the provisioner of a real cluster does.
func keepVolumes(ctx context.Context, l layout) error {
	a, err := newAPI(l, "volumes")
	if err != nil {
		return err
	}
	retry := time.NewTicker(time.Second)
	defer retry.Stop()
	for {
		if err := followVolumes(ctx, l, a); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "volumes:", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-retry.C:
		}
	}
}

// followVolumes reconciles all volumes once, and then those that change, until
// the server ends the watch.
func followVolumes(ctx context.Context, l layout, a *api) error {
	var list volumeList
	if err := a.call(ctx, http.MethodGet, volumesPath, nil, &list); err != nil {
		return err
	}
	have := map[string]volume{}
	for _, v := range list.Items {
		have[v.Metadata.Name] = v
	}
	for name := range wantedVolumes() {
		v, exists := have[name]
		if err := reconcileVolume(ctx, l, a, name, v, exists); err != nil {
			return err
		}
	}
	events, err := a.open(ctx, http.MethodGet, volumesPath+"?watch=1&resourceVersion="+list.Metadata.ResourceVersion, nil)
	if err != nil {
		return err
	}
	defer closeQuietly(events)
	for decoder := json.NewDecoder(events); ; {
		var event struct {
			Type   string
			Object volume
		}
		if err := decoder.Decode(&event); err != nil {
			return nil // the watch has ended, as each one does
		}
		if event.Type == "ERROR" {
			return errors.New("the watch has become too old")
		}
		if err := reconcileVolume(ctx, l, a, event.Object.Metadata.Name, event.Object, event.Type != "DELETED"); err != nil {
			return err
		}
	}
}

// reconcileVolume does the one thing that a volume needs next.
func reconcileVolume(ctx context.Context, l layout, a *api, name string, v volume, exists bool) error {
	size, ours := wantedVolumes()[name]
	switch {
	case !ours:
		return nil
	case !exists:
		return createVolume(ctx, l, a, name, size)
	case v.Status.Phase == "Released" && v.Metadata.DeletionTimestamp == nil:
		// No claim binds a released volume, so it is emptied before it goes.
		if err := os.RemoveAll(volumeDir(l, name)); err != nil {
			return err
		}
		err := a.call(ctx, http.MethodDelete, volumesPath+"/"+name, nil, nil)
		if isStatus(err, http.StatusNotFound) {
			return nil
		}
		fmt.Println("released:", name)
		return err
	}
	// A volume of a cluster that lost its disk exists without its folder.
	return os.MkdirAll(volumeDir(l, name), 0o755)
}

func createVolume(ctx context.Context, l layout, a *api, name, size string) error {
	if err := os.MkdirAll(volumeDir(l, name), 0o755); err != nil {
		return err
	}
	err := a.call(ctx, http.MethodPost, volumesPath, volumeObject(l, name, size), nil)
	if isStatus(err, http.StatusConflict) {
		return nil
	}
	return err
}

func volumeDir(l layout, name string) string { return l.state("volumes", name) }

type object = map[string]any

func volumeObject(l layout, name, size string) object {
	onThisNode := object{"key": "kubernetes.io/hostname", "operator": "In", "values": []string{nodeName}}
	return object{
		"apiVersion": "v1", "kind": "PersistentVolume",
		"metadata": object{"name": name},
		"spec": object{
			"capacity":                      object{"storage": size},
			"accessModes":                   []string{"ReadWriteOnce"},
			"persistentVolumeReclaimPolicy": "Retain",
			"storageClassName":              "local",
			"local":                         object{"path": volumeDir(l, name)},
			"nodeAffinity": object{"required": object{"nodeSelectorTerms": []object{
				{"matchExpressions": []object{onThisNode}},
			}}},
		},
	}
}

// volumesPart runs this very program, from a place that outlives go run.
func volumesPart(l layout, a *api) part {
	return part{
		name:    "volumes",
		argv:    []string{l.bin("cluster"), "volumes"},
		healthy: func(ctx context.Context) error { return volumesThere(ctx, a) },
	}
}

func volumesThere(ctx context.Context, a *api) error {
	var list volumeList
	if err := a.call(ctx, http.MethodGet, volumesPath, nil, &list); err != nil {
		return err
	}
	missing := wantedVolumes()
	for _, v := range list.Items {
		delete(missing, v.Metadata.Name)
	}
	// One that is being recreated is missing for a moment.
	if len(missing) > smallVolumes/2 {
		return fmt.Errorf("%d local volumes are missing", len(missing))
	}
	return nil
}
