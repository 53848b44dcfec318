// Command etcd-launcher is started in place of etcd in each pod of an EtcdCluster, and becomes etcd when the operator allows it.
// It lies in the operator's image, from where an init container copies it into the pod.
package main

import (
	"os"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
)

func main() { os.Exit(launcher.Main(os.Args[1:], launcher.InPod)) }
