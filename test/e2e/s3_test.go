package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

// s3Port is where the S3 server listens.
const s3Port = 7070

// bucket is a bucket of an S3 server that runs in a pod, with a client.
type bucket struct {
	*minio.Client
	endpoint string
	store    commonv1.BackupStore
	// address of the pod itself and transport to it; hostIP is the address of the Kubernetes node that runs it.
	address   *url.URL
	transport http.RoundTripper
	hostIP    string
}

// unfinished uploads in the bucket, by the names of their objects.
func (b bucket) unfinished(ctx context.Context) []string {
	GinkgoHelper()
	found, err := minio.Core{Client: b.Client}.ListMultipartUploads(ctx, s3.Bucket, "", "", "", "", 0)
	Expect(err).NotTo(HaveOccurred())
	var list []string
	for _, upload := range found.Uploads {
		list = append(list, upload.Key)
	}
	return list
}

// startS3 runs an S3 server that has one bucket. Secured, it speaks TLS by an authority of its own. The Secrets that the store names
// are made, too.
func startS3(ctx context.Context, secured bool) bucket {
	GinkgoHelper()
	image, err := cluster.Pack(ctx, "versitygw")
	Expect(err).NotTo(HaveOccurred())
	host := fmt.Sprintf("s3.%s.svc", namespace)
	create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s3-keys"}, StringData: map[string]string{
		"accessKeyID": s3.AccessKeyID, "secretAccessKey": s3.SecretAccessKey}})
	volume := func(name string, from corev1.VolumeSource) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: from}
	}
	mount := func(name string) corev1.VolumeMount { return corev1.VolumeMount{Name: name, MountPath: "/" + name} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "s3", Labels: map[string]string{"app": "s3"}}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken:  ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](1),
		Volumes: []corev1.Volume{
			volume("buckets", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
			volume("attributes", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		},
		Containers: []corev1.Container{{
			Name: "s3", Image: image, Stdin: true, // the server ends when stdin closes
			Args:         []string{fmt.Sprintf("--address=:%d", s3Port), "--folder=/buckets", "--attributes=/attributes"},
			Env:          []corev1.EnvVar{{Name: "ACCESS_KEY_ID", Value: s3.AccessKeyID}, {Name: "SECRET_ACCESS_KEY", Value: s3.SecretAccessKey}},
			VolumeMounts: []corev1.VolumeMount{mount("buckets"), mount("attributes")},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(s3Port)}}},
		}},
	}}
	b := bucket{store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: s3.Bucket, SecretName: "s3-keys"}}}
	transport := &http.Transport{DisableCompression: true}
	scheme := "http"
	if secured {
		scheme, b.store.S3.CASecretName = "https", "s3-tls"
		files := authority.New("s3").Issue(host)
		create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s3-tls"}, Data: files})
		container := &pod.Spec.Containers[0]
		container.Args = append(container.Args, "--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key")
		container.VolumeMounts = append(container.VolumeMounts, mount("tls"))
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume("tls", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s3-tls"}}))
		transport.TLSClientConfig = trusting(files["ca.crt"], "s3")
	}
	create(ctx, pod)
	create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s3"}, Spec: corev1.ServiceSpec{
		Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: s3Port}}}})
	b.endpoint = fmt.Sprintf("%s://%s:%d", scheme, host, s3Port)
	b.store.S3.Endpoint = b.endpoint
	Eventually(func(g Gomega) {
		refresh(ctx, pod)
		g.Expect(pod.Status.ContainerStatuses).To(ContainElement(HaveField("Ready", true)))
	}).WithContext(ctx).Should(Succeed())

	b.address = &url.URL{Scheme: scheme, Host: fmt.Sprintf("%s:%d", pod.Status.PodIP, s3Port)}
	b.transport, b.hostIP = transport, pod.Status.HostIP
	b.Client, err = minio.New(b.address.Host, &minio.Options{
		Creds: credentials.NewStaticV4(s3.AccessKeyID, s3.SecretAccessKey, ""), Secure: secured, Transport: transport, Region: "us-east-1"})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(ctx context.Context) error {
		return b.MakeBucket(ctx, s3.Bucket, minio.MakeBucketOptions{})
	}).WithContext(ctx).Should(Succeed())
	return b
}
