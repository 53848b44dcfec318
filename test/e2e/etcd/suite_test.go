package etcd
import "sigs.k8s.io/controller-runtime/pkg/client"
var k8s client.Client
